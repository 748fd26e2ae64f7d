"""What was measured, kept in a CSV file, so that a long run can go on where it stopped."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import FileError
from noisyor.experiments.settings import NETWORKS

Floats = NDArray[np.float64]

COLUMNS = ("network", "records", "seed", "method", "quantity", "value")


class Cell(NamedTuple):
    """One measurement: a method, or another piece of work, on a sample of a network."""

    network: str
    n_records: int
    seed: int
    method: str


class Results:
    """Quantities by cell; each cell is added to the file, if there is one, once it is measured."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._values: dict[Cell, dict[str, float]] = {}
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        if not path.read_bytes().endswith(b"\n"):
            raise FileError(f"{path}: the last line is cut off; delete it.")
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise FileError(
                    f"{path} was not written by noisyor reproduce: its columns are not "
                    f"{', '.join(COLUMNS)}. Choose another --out."
                )
            for row in reader:
                try:
                    cell = Cell(
                        row["network"], int(row["records"]), int(row["seed"]), row["method"]
                    )
                    value = float(row["value"])
                except (TypeError, ValueError):
                    raise FileError(
                        f"{path}, line {reader.line_num}: this is not a result; delete the line "
                        "or the file."
                    ) from None
                self._values.setdefault(cell, {})[row["quantity"]] = value

    def __contains__(self, cell: Cell) -> bool:
        return cell in self._values

    def add(self, cell: Cell, found: dict[str, float]) -> None:
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

    @property
    def cells(self) -> Iterable[Cell]:
        """All that was measured."""
        return self._values.keys()

    def networks(self) -> list[str]:
        """Return the networks that were measured, the known ones first and in their order."""
        found = dict.fromkeys(cell.network for cell in self._values)
        return [name for name in NETWORKS if name in found] + [
            name for name in found if name not in NETWORKS
        ]

    def sizes(self, network: str | None = None) -> list[int]:
        """Return the numbers of records that were measured."""
        of = {cell.n_records for cell in self._values if network in (None, cell.network)}
        return sorted(of - {0})

    def numbers(self, network: str, quantity: str) -> list[int]:
        """Return all numbers that end the name of a quantity: the depths of `failures of depth`."""
        names = {
            name.removeprefix(f"{quantity} ")
            for cell, found in self._values.items()
            if cell.network == network
            for name in found
            if name.startswith(f"{quantity} ")
        }
        return sorted(map(int, names))

    def all(self, network: str, n_records: int, method: str, quantity: str) -> Floats:
        """Return a quantity over all seeds."""
        return np.array(
            [
                found[quantity]
                for cell, found in self._values.items()
                if (cell.network, cell.n_records, cell.method) == (network, n_records, method)
                and quantity in found
            ]
        )

    def mean(self, network: str, n_records: int, method: str, quantity: str) -> float:
        """Return the mean of a quantity over all seeds; NaN where it was not measured."""
        values = self.all(network, n_records, method, quantity)
        values = values[np.isfinite(values)]
        return float(values.mean()) if values.size else float("nan")

    def median(self, network: str, n_records: int, method: str, quantity: str) -> float:
        """Return the median of a quantity over all seeds: of times, which other work disturbs."""
        values = self.all(network, n_records, method, quantity)
        return float(np.median(values)) if values.size else float("nan")

    def spread(self, network: str, n_records: int, method: str, quantity: str) -> float:
        """Return the standard deviation of a quantity over the seeds."""
        values = self.all(network, n_records, method, quantity)
        return float(values.std(ddof=1)) if len(values) > 1 else float("nan")
