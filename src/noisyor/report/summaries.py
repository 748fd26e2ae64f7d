"""Summary: errors, depths and flags of all parameters, from the table that `fit` wrote."""

from typing import NamedTuple

import numpy as np

from noisyor.errors import FileError
from noisyor.io.columns import ColumnKind
from noisyor.io.paths import PathLike
from noisyor.io.tables import Place
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import KINDS, Parameters, parameter_rows, read_standard_errors

FlagSets = tuple[tuple[str, ...], ...]
COLUMNS = {
    "value": ColumnKind.NUMBER,
    "depth": ColumnKind.NUMBER,
    "flags": ColumnKind.TEXT,
}
TOLERANCE = 1e-6
"""Values in the summary and in the network may differ by so much: files can be rounded."""


class Summary(NamedTuple):
    """What is known of the parameters besides their values; priors, failures, leaks."""

    standard_errors: Parameters
    depths: tuple[Indices, ...]
    marks: tuple[Indices, ...]
    """For each parameter the number of its set of flags."""
    flag_sets: FlagSets

    @classmethod
    def load(cls, path: PathLike, network: NoisyOrNetwork) -> "Summary":
        """Read what `Estimate.save_summary` wrote of this network; refuse another's."""
        structure = network.structure
        errors = read_standard_errors(path, structure)
        depths = {kind: np.full(len(getattr(network, kind)), -1) for kind in KINDS}
        marks = {kind: np.full(len(getattr(network, kind)), -1) for kind in KINDS}
        sets: dict[str, int] = {"": 0}
        rows = parameter_rows(path, structure, COLUMNS)
        for row in rows:
            value, depth, flags = row.values
            _check_value(row.location, value, float(getattr(network, row.kind)[row.index]))
            depths[row.kind][row.index] = _as_depth(row.location, depth)
            marks[row.kind][row.index] = sets.setdefault(flags or "", len(sets))
        missing = sum(int((mark < 0).sum()) for mark in marks.values())
        if missing:
            raise FileError(
                f"{path} lacks {missing:,} of the network's {structure.n_parameters:,} parameters: "
                "give the summary that was written with it (noisyor fit --summary)."
            )
        flag_sets = tuple(tuple(filter(None, each.split("; "))) for each in sets)
        return cls(errors, tuple(depths.values()), tuple(marks.values()), flag_sets)


def _check_value(place: Place, stated: float | None, value: float) -> None:
    if stated is None or abs(stated - value) > TOLERANCE:
        raise FileError(
            f"{place}, column 'value': {stated} in the summary, {value} in the network. Give the "
            "summary that was written with this network."
        )


def _as_depth(place: Place, depth: float | None) -> int:
    if depth is None:
        return -1
    if depth != int(depth) or not 0 <= depth < 1_000_000:
        raise FileError(f"{place}, column 'depth': {depth!r} is no whole number from 0.")
    return int(depth)
