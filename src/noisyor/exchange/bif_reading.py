"""Reading BIF: tables that are noisy-or give a network, others an error that names the node."""

import numpy as np

from noisyor.errors import FileError
from noisyor.exchange.bif_parsing import BifParser, Probability, Variable, name_property
from noisyor.exchange.names import names_or_identifiers
from noisyor.exchange.nodes import Node, check_layers, network_from_nodes
from noisyor.exchange.states import present_state
from noisyor.exchange.tables import Floats, table_parameters
from noisyor.io.paths import PathLike
from noisyor.network import NoisyOrNetwork

MOST_PARENTS_READ = 24


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
    place_of = {key: f"{path}, line {blocks[key].line}" for key in keys}
    check_layers([(key, name_of[key], place_of[key], blocks[key].parents) for key in keys])
    present = {
        key: present_state(variables[key].states, f"{path}, line {variables[key].line}", name)
        for key, name in name_of.items()
    }
    nodes = []
    for key, name in name_of.items():
        table = _table(blocks[key], variables, present, place_of[key])
        probability, failures = table_parameters(table, place_of[key], name)
        is_disease = {"disease": True, "symptom": False}.get(_kind(variables[key]))
        parents = blocks[key].parents
        nodes.append(Node(key, name, place_of[key], probability, parents, failures, is_disease))
    return network_from_nodes(nodes, str(path))


def _kind(variable: Variable) -> str:
    return variable.properties.get("kind", "")


def _blocks(parser: BifParser, variables: dict[str, Variable]) -> dict[str, Probability]:
    """Return the probability block of each variable: exactly one."""
    if len(variables) < len(parser.variables):
        names = [variable.name for variable in parser.variables]
        twice = next(each for each in parser.variables if names.count(each.name) > 1)
        raise FileError(f"{parser.path}: the variable {twice.name!r} stands twice.")
    blocks: dict[str, Probability] = {}
    for block in parser.probabilities:
        place = f"{parser.path}, line {block.line}"
        if block.child not in variables:
            raise FileError(f"{place}: there is no variable {block.child!r}.")
        if block.child in blocks:
            raise FileError(f"{place}: a second table for {block.child!r}.")
        blocks[block.child] = block
    for name, variable in variables.items():
        if name not in blocks:
            raise FileError(f"{parser.path}, line {variable.line}: {name!r} has no table.")
    return blocks


def _table(
    block: Probability, variables: dict[str, Variable], present: dict[str, int], place: str
) -> Floats:
    """Return a block's numbers with an axis for each parent and the last one for the child."""
    count = len(block.parents)
    if count > MOST_PARENTS_READ:
        raise FileError(
            f"{place}: {block.child!r} has {count} parents; tables are read for up to "
            f"{MOST_PARENTS_READ}."
        )
    shape = (2,) * (count + 1)
    if block.table is not None:
        _check_count(block.table, 2 ** (count + 1), block, place)
        # In a table the child comes first, and the last parent changes fastest.
        table = np.moveaxis(np.array(block.table).reshape(shape), 0, -1)
    else:
        table = _table_of_rows(block, variables, shape, place)
    for axis, key in enumerate((*block.parents, block.child)):
        if present[key] == 0:
            table = np.flip(table, axis)
    return table


def _table_of_rows(
    block: Probability, variables: dict[str, Variable], shape: tuple[int, ...], place: str
) -> Floats:
    table = np.full(shape, np.nan)
    if block.default is not None:
        _check_count(block.default, 2, block, place)
        table[...] = block.default
    file = place.rpartition(", line ")[0]
    for states, numbers, line in block.rows:
        here = f"{file}, line {line}"
        _check_count(numbers, 2, block, here)
        if len(states) != len(block.parents):
            raise FileError(
                f"{here}: {len(states)} states for the {len(block.parents)} parents of "
                f"{block.child!r}."
            )
        for state, parent in zip(states, block.parents, strict=True):
            if state not in variables[parent].states:
                raise FileError(f"{here}: the parent {parent!r} has no state {state!r}.")
        at = [
            variables[parent].states.index(s)
            for s, parent in zip(states, block.parents, strict=True)
        ]
        table[tuple(at)] = numbers
    if np.isnan(table).any():
        raise FileError(f"{place}: the table of {block.child!r} lacks rows.")
    return table


def _check_count(numbers: list[float], wanted: int, block: Probability, place: str) -> None:
    if len(numbers) != wanted:
        raise FileError(
            f"{place}: {len(numbers)} probabilities for {block.child!r}, which needs {wanted}."
        )
