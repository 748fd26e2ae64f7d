"""What was measured, kept in a CSV file, so that a long run can go on where it stopped."""

import csv
import io
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import FileError
from noisyor.experiments.settings import NETWORKS

Floats = NDArray[np.float64]
Quantities = dict[str, float]
Run = tuple[str, int, str]
"""A network, a number of records and a method: cells that differ in their seed only."""

COLUMNS = ("network", "records", "seed", "method", "quantity", "value")


class Cell(NamedTuple):
    """One measurement: a method, or another piece of work, on a sample of a network."""

    network: str
    n_records: int
    seed: int
    method: str

    @property
    def run(self) -> Run:
        """The cell but for its seed."""
        return self.network, self.n_records, self.method

    @property
    def path(self) -> str:
        """What patterns are compared with: network/records/seed/method."""
        return "/".join(map(str, self))


def cells_of(
    networks: Iterable[str], sizes: Iterable[int], seeds: Iterable[int], methods: Iterable[str]
) -> list[Cell]:
    """List the cells of all methods on all samples."""
    return [Cell(*each) for each in itertools.product(networks, sizes, seeds, methods)]


class Results:
    """Quantities by cell; each cell is added to the file, if there is one, once it is measured."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._values: dict[Cell, Quantities] = {}
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        if not path.read_bytes().endswith(b"\n"):
            raise FileError(f"{path}: the last line is cut off; delete it.")
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            if tuple(next(reader, ())) != COLUMNS:
                raise FileError(
                    f"{path} was not written by noisyor reproduce: its columns are not "
                    f"{', '.join(COLUMNS)}. Choose another --out."
                )
            for row in filter(None, reader):
                try:
                    network, n_records, seed, method, quantity, value = row
                    cell = Cell(network, int(n_records), int(seed), method)
                    self._values.setdefault(cell, {})[quantity] = float(value)
                except ValueError:
                    raise FileError(
                        f"{path}, line {reader.line_num}: this is not a result; delete the line "
                        "or the file."
                    ) from None

    def __contains__(self, cell: Cell) -> bool:
        return cell in self._values

    def add(self, cell: Cell, found: Quantities) -> None:
        """Keep what was measured, also on disk."""
        # As it is read again, so that a run that was interrupted says the same as one that was not.
        self._values[cell] = {name: float(f"{value:.6g}") for name, value in found.items()}
        if self.path is None:
            return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self.path.exists():
            writer.writerow(COLUMNS)
        writer.writerows([*cell, name, f"{value:.6g}"] for name, value in found.items())
        # In one piece: a cell is in the file with all its rows, or not at all.
        with self.path.open("ab", buffering=0) as file:
            file.write(text.getvalue().encode())

    def networks(self) -> list[str]:
        """Return the networks that were measured, the known ones first and in their order."""
        found = dict.fromkeys(cell.network for cell in self._values)
        return [name for name in dict.fromkeys((*NETWORKS, *found)) if name in found]

    def sizes(self, network: str | None = None) -> list[int]:
        """Return the numbers of records that were measured."""
        of = {cell.n_records for cell in self._values if network in (None, cell.network)}
        return sorted(of - {0})

    def methods(self, kind: str) -> list[str]:
        """Return the methods of a kind that were measured: `merge, 20 parts` of `merge`."""
        found = dict.fromkeys(cell.method for cell in self._values)
        return [method for method in found if method.startswith(kind)]

    def runs(self, *methods: str, network: str | None = None) -> list[Run]:
        """Return what was measured of methods: the small networks first, few records first."""
        order = self.networks()
        found = {cell.run for cell in self._values if network in (None, cell.network)}
        return sorted(
            (run for run in found if run[2] in methods),
            key=lambda run: (order.index(run[0]), run[1], methods.index(run[2])),
        )

    def numbers(self, network: str, quantity: str) -> list[int]:
        """Return all numbers that end the name of a quantity: the depths of `failures of depth`."""
        names = {name for cell in self._values if cell.network == network
                 for name in self._values[cell]}  # fmt: skip
        prefix = f"{quantity} "
        return sorted(int(name.removeprefix(prefix)) for name in names if name.startswith(prefix))

    def all(self, network: str, n_records: int, method: str, quantity: str) -> Floats:
        """Return a quantity over all seeds."""
        run = network, n_records, method
        cells = [found for cell, found in self._values.items() if cell.run == run]
        return np.array([found[quantity] for found in cells if quantity in found])

    def by_seed(self, network: str, n_records: int, method: str, quantity: str) -> dict[int, float]:
        """Return a quantity of each sample, to be compared with that of another method."""
        run = network, n_records, method
        found = {cell.seed: found for cell, found in self._values.items() if cell.run == run}
        return {seed: found[seed][quantity] for seed in sorted(found) if quantity in found[seed]}

    def mean(self, network: str, n_records: int, method: str, quantity: str) -> float:
        """Return the mean of a quantity over all seeds; NaN where it was not measured.

        A quantity may be a ratio of two others, `a / b`: that of their means.
        """
        over, _, under = quantity.partition(" / ")
        values = self.all(network, n_records, method, over)
        mean = _finite(np.mean, values[np.isfinite(values)])
        if not under:
            return mean
        return mean / (self.mean(network, n_records, method, under) or float("nan"))

    def median(self, network: str, n_records: int, method: str, quantity: str) -> float:
        """Return the median of a quantity over all seeds: of times, which other work disturbs."""
        return _finite(np.median, self.all(network, n_records, method, quantity))

    def spread(self, network: str, n_records: int, method: str, quantity: str) -> float:
        """Return the standard deviation of a quantity over the seeds."""
        values = self.all(network, n_records, method, quantity)
        return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def _finite(statistic: Callable[[Floats], np.floating], values: Floats) -> float:
    return float(statistic(values)) if values.size else float("nan")
