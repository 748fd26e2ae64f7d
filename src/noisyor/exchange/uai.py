"""UAI, the format of the UAI inference competitions: numbers only, every symptom a table.

The word BAYES, the number of variables, their numbers of states, the number of tables; then for
each table its variables (how many, parents, child), and for each table its numbers (how many, and
they themselves, the child's state changing fastest). State 1 is present. There is no room for
names: what is read is called disease_0, disease_1, ..., symptom_0, ...; a variable without edges is
read as a symptom. Diseases are written first. Lines that begin with the word c are comments.

This is the competitions' order. pyAgrum 3.3.1 lets the first parent change before the others, pgmpy
1.1.2 the child last; their files would be misread, so go to and from these by BIF.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from noisyor.errors import ExchangeError, FileError, quoted
from noisyor.exchange.nodes import Node, check_binary, check_layers
from noisyor.exchange.tables import (
    MOST_PARENTS,
    Floats,
    NodeTable,
    network_from_tables,
    node_tables,
)
from noisyor.exchange.text_files import Token, Tokens, write_lines
from noisyor.io.documents import read_text
from noisyor.io.paths import PathLike
from noisyor.network import NoisyOrNetwork


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


def read_uai(path: PathLike) -> NoisyOrNetwork:
    """Read a network whose tables are noisy-or; names are disease_0, ..., symptom_0, ..."""
    tokens = _tokens(path)
    kind = tokens.next("BAYES")
    if kind.text.upper() != "BAYES":
        raise tokens.error(kind, f"the file holds {quoted(kind.text)}, not a network (BAYES)")
    scopes, locations = _read_scopes(tokens)
    count = len(scopes)
    parents_of = {scope[-1]: tuple(map(str, scope[:-1])) for scope in scopes}
    if len(parents_of) < count:
        raise ExchangeError(f"{path}: two tables end in the same variable, so one has none.")
    location_of = {scope[-1]: location for scope, location in zip(scopes, locations, strict=True)}
    names = _names(parents_of)
    nodes = [Node(str(v), names[v], location_of[v], parents_of[v]) for v in range(count)]
    check_layers(nodes)
    tables = {str(scope[-1]): _read_table(tokens, len(scope), names[scope[-1]]) for scope in scopes}
    if not tokens.is_at_end:
        raise tokens.error(tokens.next(""), "more numbers than the tables have entries")
    return network_from_tables(nodes, tables.__getitem__, str(path))


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


def _names(parents_of: dict[int, tuple[str, ...]]) -> list[str]:
    has_children = {int(parent) for parents in parents_of.values() for parent in parents}
    numbers = {"disease": itertools.count(), "symptom": itertools.count()}
    kinds = ("disease" if each in has_children else "symptom" for each in range(len(parents_of)))
    return [f"{kind}_{next(numbers[kind])}" for kind in kinds]


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
