"""UAI, the format of the UAI inference competitions: numbers only, every symptom a table.

The word BAYES, the number of variables, their numbers of states, the number of tables; then for
each table its variables (how many, parents, child), and for each table its numbers (how many, and
they themselves, the child's state changing fastest). State 1 is present. There is no room for
names: what is read is called disease_0, disease_1, ..., symptom_0, ...; a variable without edges is
read as a symptom. Diseases are written first. Lines that begin with the word c are comments.

This is the competitions' order. pyAgrum 3.3.1 lets the first parent change before the others, pgmpy
1.1.2 the child last; their files would be misread, so go to and from these by BIF.
"""

from collections.abc import Iterator

import numpy as np

from noisyor.errors import ExchangeError, FileError
from noisyor.exchange.nodes import Node, check_binary, check_layers
from noisyor.exchange.tables import MOST_PARENTS, Floats, network_from_tables, symptom_tables
from noisyor.exchange.text_files import read_text, write_lines
from noisyor.io.paths import PathLike
from noisyor.network import NoisyOrNetwork


def write_uai(network: NoisyOrNetwork, path: PathLike, most_parents: int = MOST_PARENTS) -> None:
    """Write a network whose symptoms have few parents; its names are lost."""
    structure = network.structure
    tables = [np.array([1.0 - prior, prior]) for prior in network.priors]
    tables += symptom_tables(network, most_parents, "UAI")
    scopes: list[list[int]] = [[number] for number in range(structure.n_diseases)]
    for symptom in range(structure.n_symptoms):
        scopes.append([*structure.parents(symptom).tolist(), structure.n_diseases + symptom])
    write_lines(path, _lines(scopes, tables))


def _lines(scopes: list[list[int]], tables: list[Floats]) -> Iterator[str]:
    yield "BAYES"
    yield str(len(scopes))
    yield " ".join(["2"] * len(scopes))
    yield str(len(scopes))
    for scope in scopes:
        yield " ".join(map(str, [len(scope), *scope]))
    for table in tables:
        yield ""
        yield str(table.size)
        for row in table.reshape(-1, 2).tolist():
            yield f" {row[0]!r} {row[1]!r}"


class _Words:
    """The words of a file, one after the other, with errors that name the line."""

    def __init__(self, path: PathLike) -> None:
        lines = read_text(path).splitlines()
        self.path = path
        self.words = [
            (word, number)
            for number, line in enumerate(lines, 1)
            if line.split()[:1] != ["c"]
            for word in line.split()
        ]
        self._refuse_pyagrum()
        self.position = 0

    def _refuse_pyagrum(self) -> None:
        for word, line in self.words:
            if word.startswith("#"):
                raise FileError(
                    f"{self.path}, line {line}: a comment with # is pyAgrum's, whose tables stand "
                    "in another order than the format's; save the network as .bif there."
                )

    @property
    def location(self) -> str:
        """The location of the word that was read last."""
        line = self.words[max(self.position - 1, 0)][1] if self.words else 1
        return f"{self.path}, line {line}"

    def text(self, wanted: str) -> str:
        if self.position >= len(self.words):
            raise FileError(f"{self.path} ends where {wanted} should stand; was it truncated?")
        self.position += 1
        return self.words[self.position - 1][0]

    def whole(self, wanted: str, most: int) -> int:
        text = self.text(wanted)
        if not (text.isascii() and text.isdigit() and int(text) <= most):
            raise FileError(f"{self.location}: {text!r} stands where {wanted} should stand.")
        return int(text)

    def number(self) -> float:
        text = self.text("a probability")
        try:
            return float(text)
        except ValueError:
            raise FileError(f"{self.location}: {text!r} is not a probability.") from None


def read_uai(path: PathLike) -> NoisyOrNetwork:
    """Read a network whose tables are noisy-or; names are disease_0, ..., symptom_0, ..."""
    words = _Words(path)
    kind = words.text("BAYES")
    if kind.upper() != "BAYES":
        raise FileError(f"{words.location}: the file holds {kind!r}, not a network (BAYES).")
    scopes, locations = _read_scopes(words)
    count = len(scopes)
    parents_of = {scope[-1]: tuple(map(str, scope[:-1])) for scope in scopes}
    if len(parents_of) < count:
        raise ExchangeError(f"{path}: two tables end in the same variable, so one has none.")
    location_of = {scope[-1]: location for scope, location in zip(scopes, locations, strict=True)}
    names = _names(parents_of)
    nodes = [Node(str(v), names[v], location_of[v], parents_of[v]) for v in range(count)]
    check_layers(nodes)
    tables = {str(scope[-1]): _read_table(words, len(scope), names[scope[-1]]) for scope in scopes}
    if words.position < len(words.words):
        words.position += 1
        raise FileError(f"{words.location}: more numbers than the tables have entries.")
    return network_from_tables(nodes, tables.__getitem__, str(path))


def _read_scopes(words: _Words) -> tuple[list[list[int]], list[str]]:
    limit = len(words.words)
    count = words.whole("the number of variables", limit)
    for variable in range(count):
        states = words.whole("a number of states", 2**31)
        check_binary([""] * min(states, 1000), words.location, f"variable {variable}")
    if words.whole("the number of tables", limit) != count:
        raise ExchangeError(
            f"{words.location}: a Bayesian network has one table for each variable."
        )
    scopes, locations = [], []
    for _ in range(count):
        size = words.whole("the number of variables of a table", count)
        if not size:
            raise ExchangeError(f"{words.location}: a table has no variables.")
        locations.append(words.location)
        scopes.append([words.whole("a variable's number", count - 1) for _ in range(size)])
    return scopes, locations


def _names(parents_of: dict[int, tuple[str, ...]]) -> dict[int, str]:
    has_children = {int(parent) for parents in parents_of.values() for parent in parents}
    names: dict[int, str] = {}
    counts = {"disease": 0, "symptom": 0}
    for variable in range(len(parents_of)):
        kind = "disease" if variable in has_children else "symptom"
        names[variable] = f"{kind}_{counts[kind]}"
        counts[kind] += 1
    return names


def _read_table(words: _Words, size: int, name: str) -> Floats:
    entries = words.whole("the size of a table", len(words.words))
    if entries != 2**size:
        raise FileError(
            f"{words.location}: the table of {name!r} has {entries} entries; with {size - 1} "
            f"parents it needs 2^{size}."
        )
    numbers = [words.number() for _ in range(entries)]
    return np.array(numbers, dtype=np.float64).reshape((2,) * size)
