"""UAI, the format of the UAI inference competitions: numbers only, every symptom a table.

The word BAYES, the number of variables, their numbers of states, the number of tables; then for
each table its variables (how many, parents, child), and for each table its numbers (how many, and
they themselves, the child's state changing fastest). State 1 is present. There is no room for
names: what is read is called disease_0, disease_1, ..., symptom_0, ...; a variable without edges is
read as a symptom. Diseases are written first. Lines that begin with the word c are comments.

This is the competitions' order. pyAgrum 3.3.1 lets the first parent change before the others, pgmpy
1.1.2 the child last; their files would be misread, so go to and from these by BIF.

A file of the type MARKOV holds factors. It is read where these are the tables of a network after
all, one for each variable: as its first one in all factors (as the PROMEDAS networks of 2014), or
as its last one in all. Variables are called by their own numbers then, so that evidence files and
published answers are easy to follow: disease_17, symptom_30. Chains of inner variables are taken
together where that is exact (divorced.py).

An evidence file has the number of variables that are seen, and each with its state.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from noisyor.errors import ExchangeError, FileError, quoted
from noisyor.exchange.nodes import Node, check_binary, check_parents
from noisyor.exchange.tables import (
    MOST_PARENTS,
    SIX_DIGITS,
    Floats,
    NodeTable,
    network_from_tables,
    node_tables,
)
from noisyor.exchange.text_files import Token, Tokens, write_lines
from noisyor.io.documents import read_text
from noisyor.io.paths import PathLike
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure


def write_uai(network: NoisyOrNetwork, path: PathLike, most_parents: int = MOST_PARENTS) -> None:
    """Write a network whose symptoms have few parents; its names are lost."""
    write_lines(path, _lines(list(node_tables(network, "UAI", most_parents))))


def _lines(nodes: list[NodeTable]) -> Iterator[str]:
    yield "BAYES"
    yield str(len(nodes))
    yield " ".join(["2"] * len(nodes))
    yield str(len(nodes))
    for number, node in enumerate(nodes):
        yield " ".join(map(str, [len(node.parents) + 1, *node.parents, number]))
    for node in nodes:
        yield ""
        yield str(node.table.size)
        for row in node.table.reshape(-1, 2).tolist():
            yield f" {row[0]!r} {row[1]!r}"


# --- reading ---


class UaiModel(NamedTuple):
    """A network, and what the variables of its file are called in it."""

    network: NoisyOrNetwork
    names: tuple[str, ...]
    """By the variables' numbers. Those of inner variables, which were taken out, are not in it."""


def read_uai(path: PathLike) -> NoisyOrNetwork:
    """Read a network whose tables are noisy-or; names are disease_0, ..., symptom_0, ..."""
    return read_uai_model(path).network


def read_uai_model(path: PathLike) -> UaiModel:
    """Read a network, and the names of its variables."""
    tokens = _tokens(path)
    kind = tokens.next("BAYES")
    if kind.text.upper() not in ("BAYES", "MARKOV"):
        raise tokens.error(
            kind, f"the file holds {quoted(kind.text)}, not a network (BAYES or MARKOV)"
        )
    scopes, locations = _read_scopes(tokens)
    if kind.text.upper() == "MARKOV":
        tables = [_read_table(tokens, len(scope), f"factor {k}") for k, scope in enumerate(scopes)]
        at = _child_axis(scopes, tables, path)
        nodes, names = _nodes(scopes, locations, at, path, by_number=True)
    else:
        at = -1
        nodes, names = _nodes(scopes, locations, at, path)
        tables = [_read_table(tokens, len(scope), names[scope[at]]) for scope in scopes]
    if not tokens.is_at_end:
        raise tokens.error(tokens.next(""), "more numbers than the tables have entries")
    found = {
        str(scope[at]): np.moveaxis(table, at, -1)
        for scope, table in zip(scopes, tables, strict=True)
    }
    return UaiModel(network_from_tables(nodes, found.__getitem__, str(path)), names)


def _nodes(
    scopes: list[list[int]], locations: list[str], at: int, path: PathLike, by_number: bool = False
) -> tuple[list[Node], tuple[str, ...]]:
    """Return a node for each variable, and their names; `at` is the child's axis of each table."""
    parents_of, location_of = {}, {}
    for scope, location in zip(scopes, locations, strict=True):
        child = scope[at]
        parents_of[child] = tuple(map(str, scope[1:] if at == 0 else scope[:-1]))
        location_of[child] = location
    if len(parents_of) < len(scopes):
        raise ExchangeError(f"{path}: two tables end in the same variable, so one has none.")
    names = _names(parents_of, by_number)
    nodes = [
        Node(str(each), names[each], location_of[each], parents_of[each])
        for each in range(len(scopes))
    ]
    check_parents(nodes)
    return nodes, names


def _child_axis(scopes: list[list[int]], tables: list[Floats], path: PathLike) -> int:
    """Return which variable of each factor it is the table of: the first one of all, or the last.

    Summed over its states, such a factor is 1 everywhere.
    """
    for at in (0, -1):
        is_each_once = len({scope[at] for scope in scopes}) == len(scopes)
        if is_each_once and all(
            (np.abs(table.sum(axis=at) - 1.0) <= SIX_DIGITS).all() for table in tables
        ):
            return at
    raise ExchangeError(
        f"{path} is of the type MARKOV, and its factors are not the tables of a Bayesian network: "
        "one for each variable, which stands first in all of them, or last."
    )


def _tokens(path: PathLike) -> Tokens:
    lines = enumerate(read_text(path).splitlines(), 1)
    words = [(number, line.split()) for number, line in lines]
    tokens = [
        Token("word", text, number) for number, line in words if line[:1] != ["c"] for text in line
    ]
    for token in tokens:
        if token.text.startswith("#"):
            raise FileError(
                f"{path}, line {token.line}: a comment with # is pyAgrum's, whose tables stand "
                "in another order than the format's; save the network as .bif there."
            )
    return Tokens(path, tokens)


def _whole(tokens: Tokens, expected: str, most: int) -> int:
    token = tokens.next(expected)
    # Its digits are counted first: Python does not read numbers of thousands of them.
    is_whole = token.text.isascii() and token.text.isdigit() and len(token.text) <= 20
    if not (is_whole and int(token.text) <= most):
        raise tokens.error(token, f"{quoted(token.text)} stands where {expected} should stand")
    return int(token.text)


def _read_scopes(tokens: Tokens) -> tuple[list[list[int]], list[str]]:
    limit = len(tokens.tokens)
    count = _whole(tokens, "the number of variables", limit)
    for variable in range(count):
        states = _whole(tokens, "a number of states", 2**31)
        check_binary([""] * min(states, 1000), tokens.location, f"variable {variable}")
    if _whole(tokens, "the number of tables", limit) != count:
        raise ExchangeError(
            f"{tokens.location}: a Bayesian network has one table for each variable."
        )
    scopes, locations = [], []
    for _ in range(count):
        size = _whole(tokens, "the number of variables of a table", count)
        if not size:
            raise ExchangeError(f"{tokens.location}: a table has no variables.")
        locations.append(tokens.location)
        scopes.append([_whole(tokens, "a variable's number", count - 1) for _ in range(size)])
    return scopes, locations


def _names(parents_of: dict[int, tuple[str, ...]], by_number: bool) -> tuple[str, ...]:
    """Return names that say what a variable is, with its number, or with numbers of each kind."""
    has_children = {int(parent) for parents in parents_of.values() for parent in parents}
    counts = {kind: itertools.count() for kind in ("disease", "symptom", "inner")}
    names = []
    for each in range(len(parents_of)):
        kind = "symptom" if each not in has_children else "inner" if parents_of[each] else "disease"
        names.append(f"{kind}_{each if by_number else next(counts[kind])}")
    return tuple(names)


def _read_table(tokens: Tokens, size: int, name: str) -> Floats:
    entries = _whole(tokens, "the size of a table", len(tokens.tokens))
    if entries != 2**size:
        raise FileError(
            f"{tokens.location}: the table of {quoted(name)} has {entries} entries; with "
            f"{size - 1} parents it needs 2^{size}."
        )
    expected = "a probability"
    numbers = [tokens.as_number(tokens.next(expected), expected) for _ in range(entries)]
    return np.array(numbers, dtype=np.float64).reshape((2,) * size)


# --- evidence ---


def read_uai_case(path: PathLike, evidence: PathLike) -> tuple[NoisyOrNetwork, dict[str, bool]]:
    """Read a network and an evidence file: which findings are present (True) or absent.

    A disease that is seen becomes a finding, which shows it without fail: `disease_3 (seen)`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from noisyor import datasets, posterior
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_uai(datasets.figure1(rng=0), f"{folder}/figure1.uai")
    ...     _ = Path(f"{folder}/figure1.evid").write_text("2  2 1  6 0")
    ...     network, seen = read_uai_case(f"{folder}/figure1.uai", f"{folder}/figure1.evid")
    >>> seen
    {'symptom_0': True, 'symptom_4': False}
    >>> posterior(network, seen).structure.n_diseases
    2
    """
    model = read_uai_model(path)
    states = _read_states(evidence, len(model.names))
    diseases = [model.names[each] for each in states if model.names[each].startswith("disease")]
    network = _with_seen(model.network, diseases)
    seen = {}
    for variable, state in states.items():
        name = model.names[variable]
        if name.startswith("inner"):
            raise ExchangeError(
                f"{evidence}: variable {variable} of {path} lies between diseases and symptoms, "
                "and was taken out: a network of two layers cannot be told of it."
            )
        seen[f"{name} (seen)" if name in diseases else name] = state
    return network, seen


def _read_states(path: PathLike, n_variables: int) -> dict[int, bool]:
    """Return the state of each variable that is seen."""
    tokens = _tokens(path)
    size = len(tokens.tokens)
    count = _whole(tokens, "the number of variables that are seen", size)
    if size > 2 * count + 1 and count == 1:  # some files tell first that there is one case
        count = _whole(tokens, "the number of variables that are seen", size)
    states: dict[int, bool] = {}
    for _ in range(count):
        variable = _whole(tokens, "a variable's number", n_variables - 1)
        if variable in states:
            raise FileError(f"{tokens.location}: variable {variable} is given twice.")
        states[variable] = bool(_whole(tokens, "a state, 0 or 1,", 1))
    if not tokens.is_at_end:
        raise tokens.error(tokens.next(""), f"more than the {count} variables that are announced")
    return states


def _with_seen(network: NoisyOrNetwork, diseases: list[str]) -> NoisyOrNetwork:
    """Return a network with a symptom for each of some diseases, present if and only if it is."""
    if not diseases:
        return network
    old = network.structure
    first = old.n_symptoms
    more = [(old.disease_index(name), first + number) for number, name in enumerate(diseases)]
    edges = np.concatenate([old.edges, np.array(more)])
    names = [*old.symptoms, *(f"{name} (seen)" for name in diseases)]
    structure = Structure(old.diseases, names, edges)
    failures = np.concatenate([network.failures, np.zeros(len(more))])
    failures = failures[np.lexsort((edges[:, 1], edges[:, 0]))]
    leaks = np.concatenate([network.leaks, np.zeros(len(more))])
    return NoisyOrNetwork(structure, network.priors, failures, leaks)
