"""BIF, the Bayesian network interchange format, in which every symptom is a table.

A file has blocks `network`, `variable` and `probability`, comments as in C, commas or none between
numbers. Names may be words of any characters but the grammar's own, or stand in quotes. Tables
that are noisy-or give a network, others an error that names the node.

Identifiers that are written are letters, digits and underscores. A `property name` holds the name
where it differs, in JSON's notation with \\u003b for a semicolon, which would end the property;
`property kind` tells of a node without edges whether it is a disease or a symptom. Readers that do
not know these properties pass over them.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from noisyor.errors import FileError, quoted
from noisyor.exchange.nodes import (
    STATES,
    Node,
    check_parents,
    identifiers,
    names_or_identifiers,
    present_state,
)
from noisyor.exchange.tables import (
    MOST_PARENTS,
    MOST_PARENTS_READ,
    Floats,
    NodeTable,
    network_from_tables,
    node_tables,
    present_last,
)
from noisyor.exchange.text_files import Token, Tokens, write_lines
from noisyor.io.documents import read_text
from noisyor.io.paths import PathLike
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

TOKENS = re.compile(
    r"""(?P<skip>\s++|,|//[^\n]*+|/\*.*?\*/)
    |(?P<property>property\b(?:"(?:\\.|[^"\\])*+"|[^;"])*+;)
    |(?P<mark>[{}()\[\]|;])
    |(?P<quoted>"(?:\\.|[^"\\])*+")
    |(?P<unended>/\*|property\b|")
    |(?P<word>[^\s,{}()\[\]|;"]++)""",
    re.VERBOSE | re.DOTALL,
)
"""What has no end is looked for up to the end of the file, so only once: it is an error."""


@dataclass
class Variable:
    """A variable block: states and properties."""

    name: str
    location: str
    states: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)


@dataclass
class Probability:
    """A probability block: a table, rows, or a default."""

    child: str
    location: str
    parents: tuple[str, ...] = ()
    table: list[float] | None = None
    default: list[float] | None = None
    rows: list[tuple[tuple[str, ...], list[float], str]] = field(default_factory=list)
    """States of the parents, numbers, location."""

    def check_count(self, numbers: list[float], expected: int, location: str) -> None:
        """Raise an error unless there are as many numbers as expected."""
        if len(numbers) != expected:
            raise FileError(
                f"{location}: {len(numbers)} probabilities for {quoted(self.child)}, which needs "
                f"{expected}."
            )


class BifParser(Tokens):
    """Reads the blocks of a file."""

    def __init__(self, path: PathLike) -> None:
        super().__init__(path, _tokens(path))
        self.variables: list[Variable] = []
        self.probabilities: list[Probability] = []

    def parse(self) -> None:
        """Read all blocks."""
        blocks = {
            "network": self._network,
            "variable": self._variable,
            "probability": self._probability,
        }
        while not self.is_at_end:
            token = self.next("a block")
            if token.text not in blocks:
                raise self.error(token, f"found {quoted(token.text)} where a block should begin")
            blocks[token.text]()
        if not self.variables:
            raise FileError(f"{self.path} has no variables: it is not a BIF file.")

    def _network(self) -> None:
        while self.next("'{'").text != "{":
            pass
        self._until_closed(lambda token: None)

    def _variable(self) -> None:
        location = self.location
        variable = Variable(self._word("a variable's name"), location)
        self._expect("{")

        def statement(token: Token) -> None:
            if token.kind == "property":
                key, _, value = token.text[len("property") : -1].partition("=")
                variable.properties[key.strip().strip('"')] = value.strip()
            elif token.text == "type":
                variable.states = self._states(token)
            else:
                raise self.error(
                    token, f"found {quoted(token.text)} in variable {quoted(variable.name)}"
                )

        self._until_closed(statement)
        self.variables.append(variable)

    def _states(self, token: Token) -> tuple[str, ...]:
        kind = self._word("a type")
        if kind != "discrete":
            raise self.error(token, f"the type {quoted(kind)} is not discrete")
        self._expect("[")
        count = self._word("a number of states")
        self._expect("]")
        self._expect("{")
        states = tuple(self._words_until("}"))
        self._expect(";")
        if count != str(len(states)):
            raise self.error(
                token, f"{count[:20]} states are announced, but {len(states)} are named"
            )
        return states

    def _probability(self) -> None:
        location = self.location
        self._expect("(")
        block = Probability(self._word("a variable's name"), location)
        token = self.next("')'")
        if token.text == "|":
            block.parents = tuple(self._words_until(")"))
        elif token.text != ")":
            raise self.error(token, f"found {quoted(token.text)} where '|' or ')' should stand")
        self._expect("{")

        def statement(token: Token) -> None:
            if token.kind == "property":
                return
            if token.text == "(":
                location = self.location
                states = tuple(self._words_until(")"))
                block.rows.append((states, self._numbers(), location))
            elif token.text in ("table", "default"):
                setattr(block, token.text, self._numbers())
            else:
                raise self.error(
                    token, f"found {quoted(token.text)} in the table of {quoted(block.child)}"
                )

        self._until_closed(statement)
        self.probabilities.append(block)

    def _until_closed(self, statement: Callable[[Token], None]) -> None:
        while (token := self.next("'}'")).text != "}":
            statement(token)

    def _numbers(self) -> list[float]:
        numbers = []
        while (token := self.next("';'")).text != ";":
            numbers.append(self.as_number(token))
        return numbers

    def _words_until(self, mark: str) -> list[str]:
        words = []
        while (token := self.next(f"'{mark}'")).text != mark:
            words.append(self._as_word(token, "a name"))
        return words

    def _word(self, expected: str) -> str:
        return self._as_word(self.next(expected), expected)

    def _as_word(self, token: Token, expected: str) -> str:
        if token.kind == "quoted":
            return token.text[1:-1]
        if token.kind != "word":
            raise self.error(token, f"found {quoted(token.text)} where {expected} should stand")
        return token.text

    def _expect(self, mark: str) -> None:
        token = self.next(f"'{mark}'")
        if token.text != mark:
            raise self.error(token, f"found {quoted(token.text)} where '{mark}' should stand")


def name_property(variable: Variable) -> str:
    """Return the name that noisyor wrote beside the identifier, or nothing."""
    text = variable.properties.get("name", "")
    try:
        name = json.loads(text) if text.startswith('"') else ""
    except ValueError:
        return ""
    return name if isinstance(name, str) else ""


def _tokens(path: PathLike) -> list[Token]:
    tokens, line = [], 1
    for found in TOKENS.finditer(read_text(path)):
        kind = str(found.lastgroup)
        if kind == "unended":
            raise FileError(f"{path}, line {line}: a text, comment or property does not end.")
        if kind != "skip":
            tokens.append(Token(kind, found[0], line))
        line += found[0].count("\n")
    return tokens


def read_bif(path: PathLike) -> NoisyOrNetwork:
    """Read a network of tables that are noisy-or."""
    parser = BifParser(path)
    parser.parse()
    variables = {variable.name: variable for variable in parser.variables}
    blocks = _blocks(parser, variables)
    keys = list(variables)
    shown = [name_property(variable) for variable in parser.variables]
    kinds = [variable.properties.get("kind", "") for variable in parser.variables]
    are_symptoms = [
        bool(blocks[key].parents) or kind == "symptom"
        for key, kind in zip(keys, kinds, strict=True)
    ]
    names = names_or_identifiers(keys, shown, are_symptoms, str(path))
    nodes = []
    for key, name, kind in zip(keys, names, kinds, strict=True):
        is_disease = {"disease": True, "symptom": False}.get(kind)
        nodes.append(Node(key, name, blocks[key].location, blocks[key].parents, is_disease))
    check_parents(nodes)
    present = {
        key: present_state(variables[key].states, variables[key].location, name)
        for key, name in zip(keys, names, strict=True)
    }
    return network_from_tables(
        nodes, lambda key: _table(blocks[key], variables, present), str(path)
    )


def _blocks(parser: BifParser, variables: dict[str, Variable]) -> dict[str, Probability]:
    """Return the probability block of each variable: exactly one."""
    if len(variables) < len(parser.variables):
        twice, _ = Counter(variable.name for variable in parser.variables).most_common(1)[0]
        raise FileError(f"{parser.path}: the variable {quoted(twice)} appears twice.")
    blocks: dict[str, Probability] = {}
    for block in parser.probabilities:
        if block.child not in variables:
            raise FileError(f"{block.location}: there is no variable {quoted(block.child)}.")
        if block.child in blocks:
            raise FileError(f"{block.location}: a second table for {quoted(block.child)}.")
        blocks[block.child] = block
    for name, variable in variables.items():
        if name not in blocks:
            raise FileError(f"{variable.location}: {quoted(name)} has no table.")
    return blocks


def _table(block: Probability, variables: dict[str, Variable], present: dict[str, int]) -> Floats:
    """Return a block's numbers with an axis for each parent and the last one for the child."""
    count = len(block.parents)
    if count > MOST_PARENTS_READ:
        raise FileError(
            f"{block.location}: {quoted(block.child)} has {count:,} parents; tables are read for "
            f"up to {MOST_PARENTS_READ}."
        )
    shape = (2,) * (count + 1)
    if block.table is not None:
        block.check_count(block.table, 2 ** (count + 1), block.location)
        # In a table the child comes first, and the last parent changes fastest.
        table = np.moveaxis(np.array(block.table).reshape(shape), 0, -1)
    else:
        table = _table_of_rows(block, variables, shape)
    return present_last(table, [present[key] for key in (*block.parents, block.child)])


def _table_of_rows(
    block: Probability, variables: dict[str, Variable], shape: tuple[int, ...]
) -> Floats:
    table = np.full(shape, np.nan)
    if block.default is not None:
        block.check_count(block.default, 2, block.location)
        table[...] = block.default
    for states, numbers, here in block.rows:
        block.check_count(numbers, 2, here)
        if len(states) != len(block.parents):
            raise FileError(
                f"{here}: {len(states)} states for the {len(block.parents)} parents of "
                f"{quoted(block.child)}."
            )
        row = []
        for state, parent in zip(states, block.parents, strict=True):
            if state not in variables[parent].states:
                raise FileError(
                    f"{here}: the parent {quoted(parent)} has no state {quoted(state)}."
                )
            row.append(variables[parent].states.index(state))
        table[tuple(row)] = numbers
    if np.isnan(table).any():
        raise FileError(f"{block.location}: the table of {quoted(block.child)} lacks rows.")
    return table


def write_bif(network: NoisyOrNetwork, path: PathLike, most_parents: int = MOST_PARENTS) -> None:
    """Write a network whose symptoms have few parents as tables."""
    nodes = list(node_tables(network, "BIF", most_parents))
    write_lines(path, _lines(network.structure, nodes))


def _lines(structure: Structure, nodes: list[NodeTable]) -> Iterator[str]:
    yield "network noisyor {"
    yield "}"
    keys = identifiers(node.name for node in nodes)
    degrees = [*np.diff(structure.child_offsets), *np.diff(structure.parent_offsets)]
    kinds = ["disease"] * structure.n_diseases + ["symptom"] * structure.n_symptoms
    for key, node, degree, kind in zip(keys, nodes, degrees, kinds, strict=True):
        yield from _variable_lines(key, node.name, None if degree else kind)
    for key, node in zip(keys, nodes, strict=True):
        yield from _table_lines(key, [keys[i] for i in node.parents], node.table)


def _variable_lines(key: str, name: str, kind: str | None) -> Iterator[str]:
    yield f"variable {key} {{"
    yield f"  type discrete [ 2 ] {{ {', '.join(STATES)} }};"
    if name != key:
        yield f"  property name = {json.dumps(name).replace(';', chr(92) + 'u003b')} ;"
    if kind is not None:
        yield f"  property kind = {kind} ;"
    yield "}"


def _table_lines(key: str, parents: list[str], table: Floats) -> Iterator[str]:
    if not parents:
        yield f"probability ( {key} ) {{"
        yield f"  table {', '.join(map(repr, table.tolist()))};"
        yield "}"
        return
    yield f"probability ( {key} | {', '.join(parents)} ) {{"
    rows = table.reshape(-1, 2).tolist()
    for states, row in zip(itertools.product(STATES, repeat=len(parents)), rows, strict=True):
        yield f"  ({', '.join(states)}) {row[0]!r}, {row[1]!r};"
    yield "}"
