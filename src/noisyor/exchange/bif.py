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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from noisyor.errors import FileError
from noisyor.exchange.nodes import (
    STATES,
    Node,
    check_layers,
    identifiers,
    names_or_identifiers,
    present_state,
)
from noisyor.exchange.tables import (
    MOST_PARENTS,
    Floats,
    network_from_tables,
    present_last,
    symptom_tables,
)
from noisyor.exchange.text_files import read_text, write_lines
from noisyor.io.paths import PathLike
from noisyor.network import NoisyOrNetwork

MOST_PARENTS_READ = 24
TOKENS = re.compile(
    r"""(?P<skip>\s+|,|//[^\n]*|/\*.*?\*/)
    |(?P<property>property\b(?:"(?:\\.|[^"\\])*"|[^;"])*;)
    |(?P<mark>[{}()\[\]|;])
    |(?P<quoted>"(?:\\.|[^"\\])*")
    |(?P<word>[^\s,{}()\[\]|;"]+)
    |(?P<wrong>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A word, mark or property, and its line."""

    kind: str
    text: str
    line: int


@dataclass
class Variable:
    """A variable block: states and properties."""

    name: str
    line: int
    states: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)


@dataclass
class Probability:
    """A probability block: a table, rows, or a default."""

    child: str
    line: int
    parents: tuple[str, ...] = ()
    table: list[float] | None = None
    default: list[float] | None = None
    rows: list[tuple[tuple[str, ...], list[float], int]] = field(default_factory=list)
    """States of the parents, numbers, line."""


class BifParser:
    """Reads the blocks of a file, with errors that name the line."""

    def __init__(self, path: PathLike) -> None:
        self.path = path
        self.tokens = _tokens(path)
        self.position = 0
        self.variables: list[Variable] = []
        self.probabilities: list[Probability] = []

    def parse(self) -> None:
        """Read all blocks."""
        blocks: dict[str, Callable[[Token], None]] = {
            "network": self._network,
            "variable": self._variable,
            "probability": self._probability,
        }
        while self.position < len(self.tokens):
            token = self._next("a block")
            if token.text not in blocks:
                raise self._error(token, f"found {token.text!r} where a block should begin")
            blocks[token.text](token)
        if not self.variables:
            raise FileError(f"{self.path} has no variables: it is not a BIF file.")

    def _network(self, _: Token) -> None:
        while self._next("'{'").text != "{":
            pass
        self._until_closed(lambda token: None)

    def _variable(self, start: Token) -> None:
        variable = Variable(self._word("a variable's name"), start.line)
        self._expect("{")

        def statement(token: Token) -> None:
            if token.kind == "property":
                key, _, value = token.text[len("property") : -1].partition("=")
                variable.properties[key.strip().strip('"')] = value.strip()
            elif token.text == "type":
                variable.states = self._states(token)
            else:
                raise self._error(token, f"found {token.text!r} in variable {variable.name!r}")

        self._until_closed(statement)
        self.variables.append(variable)

    def _states(self, token: Token) -> tuple[str, ...]:
        kind = self._word("a type")
        if kind != "discrete":
            raise self._error(token, f"the type {kind!r} is not discrete")
        self._expect("[")
        count = self._word("a number of states")
        self._expect("]")
        self._expect("{")
        states = tuple(self._words_until("}"))
        self._expect(";")
        if count != str(len(states)):
            raise self._error(token, f"{count} states are announced, but {len(states)} are named")
        return states

    def _probability(self, start: Token) -> None:
        self._expect("(")
        block = Probability(self._word("a variable's name"), start.line)
        token = self._next("')'")
        if token.text == "|":
            block.parents = tuple(self._words_until(")"))
        elif token.text != ")":
            raise self._error(token, f"found {token.text!r} where '|' or ')' should stand")
        self._expect("{")

        def statement(token: Token) -> None:
            if token.kind == "property":
                return
            if token.text == "(":
                states = tuple(self._words_until(")"))
                block.rows.append((states, self._numbers(), token.line))
            elif token.text in ("table", "default"):
                setattr(block, token.text, self._numbers())
            else:
                raise self._error(token, f"found {token.text!r} in the table of {block.child!r}")

        self._until_closed(statement)
        self.probabilities.append(block)

    def _until_closed(self, statement: Callable[[Token], None]) -> None:
        while (token := self._next("'}'")).text != "}":
            statement(token)

    def _numbers(self) -> list[float]:
        numbers = []
        while (token := self._next("';'")).text != ";":
            try:
                numbers.append(float(token.text))
            except ValueError:
                raise self._error(token, f"{token.text!r} is not a number") from None
        return numbers

    def _words_until(self, mark: str) -> list[str]:
        words = []
        while (token := self._next(f"'{mark}'")).text != mark:
            words.append(self._as_word(token, "a name"))
        return words

    def _word(self, wanted: str) -> str:
        return self._as_word(self._next(wanted), wanted)

    def _as_word(self, token: Token, wanted: str) -> str:
        if token.kind == "quoted":
            return token.text[1:-1]
        if token.kind != "word":
            raise self._error(token, f"found {token.text!r} where {wanted} should stand")
        return token.text

    def _expect(self, mark: str) -> None:
        token = self._next(f"'{mark}'")
        if token.text != mark:
            raise self._error(token, f"found {token.text!r} where '{mark}' should stand")

    def _next(self, wanted: str) -> Token:
        if self.position == len(self.tokens):
            raise FileError(
                f"{self.path} ends where {wanted} should stand; the file may be truncated."
            )
        self.position += 1
        return self.tokens[self.position - 1]

    def _error(self, token: Token, problem: str) -> FileError:
        return FileError(f"{self.path}, line {token.line}: {problem}.")


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
        if kind == "wrong":
            raise FileError(f"{path}, line {line}: a quoted text or comment does not end.")
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
    names = names_or_identifiers(
        keys,
        [name_property(variable) for variable in parser.variables],
        [bool(blocks[key].parents) or _kind(variables[key]) == "symptom" for key in keys],
        str(path),
    )
    name_of = dict(zip(keys, names, strict=True))
    nodes = [
        Node(
            key,
            name_of[key],
            f"{path}, line {block.line}",
            block.parents,
            {"disease": True, "symptom": False}.get(_kind(variables[key])),
        )
        for key, block in ((key, blocks[key]) for key in keys)
    ]
    check_layers(nodes)
    present = {
        key: present_state(variables[key].states, f"{path}, line {variables[key].line}", name)
        for key, name in name_of.items()
    }
    return network_from_tables(
        nodes, lambda key: _table(blocks[key], variables, present, path), str(path)
    )


def _kind(variable: Variable) -> str:
    return variable.properties.get("kind", "")


def _blocks(parser: BifParser, variables: dict[str, Variable]) -> dict[str, Probability]:
    """Return the probability block of each variable: exactly one."""
    if len(variables) < len(parser.variables):
        names = [variable.name for variable in parser.variables]
        twice = next(each for each in parser.variables if names.count(each.name) > 1)
        raise FileError(f"{parser.path}: the variable {twice.name!r} appears twice.")
    blocks: dict[str, Probability] = {}
    for block in parser.probabilities:
        location = f"{parser.path}, line {block.line}"
        if block.child not in variables:
            raise FileError(f"{location}: there is no variable {block.child!r}.")
        if block.child in blocks:
            raise FileError(f"{location}: a second table for {block.child!r}.")
        blocks[block.child] = block
    for name, variable in variables.items():
        if name not in blocks:
            raise FileError(f"{parser.path}, line {variable.line}: {name!r} has no table.")
    return blocks


def _table(
    block: Probability, variables: dict[str, Variable], present: dict[str, int], path: PathLike
) -> Floats:
    """Return a block's numbers with an axis for each parent and the last one for the child."""
    location = f"{path}, line {block.line}"
    count = len(block.parents)
    if count > MOST_PARENTS_READ:
        raise FileError(
            f"{location}: {block.child!r} has {count} parents; tables are read for up to "
            f"{MOST_PARENTS_READ}."
        )
    shape = (2,) * (count + 1)
    if block.table is not None:
        _check_count(block.table, 2 ** (count + 1), block, location)
        # In a table the child comes first, and the last parent changes fastest.
        table = np.moveaxis(np.array(block.table).reshape(shape), 0, -1)
    else:
        table = _table_of_rows(block, variables, shape, path)
    return present_last(table, [present[key] for key in (*block.parents, block.child)])


def _table_of_rows(
    block: Probability, variables: dict[str, Variable], shape: tuple[int, ...], path: PathLike
) -> Floats:
    location = f"{path}, line {block.line}"
    table = np.full(shape, np.nan)
    if block.default is not None:
        _check_count(block.default, 2, block, location)
        table[...] = block.default
    for states, numbers, line in block.rows:
        here = f"{path}, line {line}"
        _check_count(numbers, 2, block, here)
        if len(states) != len(block.parents):
            raise FileError(
                f"{here}: {len(states)} states for the {len(block.parents)} parents of "
                f"{block.child!r}."
            )
        row = []
        for state, parent in zip(states, block.parents, strict=True):
            if state not in variables[parent].states:
                raise FileError(f"{here}: the parent {parent!r} has no state {state!r}.")
            row.append(variables[parent].states.index(state))
        table[tuple(row)] = numbers
    if np.isnan(table).any():
        raise FileError(f"{location}: the table of {block.child!r} lacks rows.")
    return table


def _check_count(numbers: list[float], wanted: int, block: Probability, location: str) -> None:
    if len(numbers) != wanted:
        raise FileError(
            f"{location}: {len(numbers)} probabilities for {block.child!r}, which needs {wanted}."
        )


def write_bif(network: NoisyOrNetwork, path: PathLike, most_parents: int = MOST_PARENTS) -> None:
    """Write a network whose symptoms have few parents as tables."""
    structure = network.structure
    keys = identifiers([*structure.diseases, *structure.symptoms])
    tables = symptom_tables(network, most_parents, "BIF")
    write_lines(path, _lines(network, keys, tables))


def _lines(network: NoisyOrNetwork, keys: list[str], tables: list[Floats]) -> Iterator[str]:
    structure = network.structure
    yield "network noisyor {"
    yield "}"
    children = structure.child_offsets[1:] - structure.child_offsets[:-1]
    parents = structure.parent_offsets[1:] - structure.parent_offsets[:-1]
    for number, name in enumerate(structure.diseases):
        yield from _variable_lines(keys[number], name, None if children[number] else "disease")
    symptom_keys = keys[structure.n_diseases :]
    for number, name in enumerate(structure.symptoms):
        kind = None if parents[number] else "symptom"
        yield from _variable_lines(symptom_keys[number], name, kind)
    for key, prior in zip(keys, network.priors.tolist(), strict=False):
        yield f"probability ( {key} ) {{"
        yield f"  table {1.0 - prior!r}, {prior!r};"
        yield "}"
    for number, key in enumerate(symptom_keys):
        yield from _table_lines(key, [keys[i] for i in structure.parents(number)], tables[number])


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
