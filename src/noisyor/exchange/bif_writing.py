"""Writing BIF, the Bayesian network interchange format, in which every symptom is a table.

Identifiers are letters, digits and underscores. A `property name` holds the name where it differs,
in JSON's notation with \\u003b for a semicolon, which would end the property; `property kind` tells
of a node without edges whether it is a disease or a symptom. Readers that do not know these
properties pass over them.
"""

import itertools
import json
from collections.abc import Iterator

from noisyor.exchange.identifiers import identifiers
from noisyor.exchange.tables import MOST_PARENTS, Floats, symptom_table
from noisyor.io.paths import PathLike, replaced_when_done
from noisyor.network import NoisyOrNetwork

STATES = ("absent", "present")


def write_bif(network: NoisyOrNetwork, path: PathLike, most_parents: int = MOST_PARENTS) -> None:
    """Write a network whose symptoms have few parents as tables."""
    structure = network.structure
    keys = identifiers([*structure.diseases, *structure.symptoms])
    tables = [
        symptom_table(network, symptom, most_parents, "BIF")
        for symptom in range(structure.n_symptoms)
    ]
    with (
        replaced_when_done(path) as part,
        part.open("w", encoding="utf-8", newline="\n") as stream,
    ):
        for line in _lines(network, keys, tables):
            stream.write(line + "\n")


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
