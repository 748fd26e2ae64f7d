"""What was measured, kept in a CSV file, so that a long benchmark can go on where it stopped."""

import csv
from collections import defaultdict

import numpy as np

COLUMNS = ("network", "records", "seed", "method", "quantity", "value")


class Figures:
    """What was measured, kept in a CSV file."""

    def __init__(self, path):
        self.path = path
        self.values = defaultdict(dict)
        if path is not None and path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    key = row["network"], int(row["records"]), int(row["seed"]), row["method"]
                    self.values[key][row["quantity"]] = float(row["value"])

    def has(self, *key):
        """Say whether something was measured before."""
        return key in self.values

    def add(self, key, found):
        """Keep what was measured."""
        self.values[key] = found
        if self.path is not None:
            is_new = not self.path.exists()
            with self.path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                if is_new:
                    writer.writerow(COLUMNS)
                writer.writerows([*key, name, f"{value:.6g}"] for name, value in found.items())

    def all(self, network, n_records, method, quantity):
        """Return a quantity of all seeds."""
        return np.array(
            [
                found[quantity]
                for (name, n, _, by), found in self.values.items()
                if (name, n, by) == (network, n_records, method) and quantity in found
            ]
        )

    def mean(self, *where):
        """Return the mean of a quantity over all seeds; NaN where it was not measured."""
        values = self.all(*where)
        return values.mean() if len(values) else np.nan
