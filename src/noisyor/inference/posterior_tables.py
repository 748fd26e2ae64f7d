"""Posteriors of many records as tables: a row per record, or per record and top disease."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from noisyor.errors import FileError
from noisyor.findings.blocks import Block
from noisyor.inference.posterior import Posteriors, iter_posteriors
from noisyor.network import NoisyOrNetwork

DETAILS = ("method", "error", "log_evidence")
"""Beside the probabilities."""


class MethodCounts:
    """How many records were solved in which way."""

    def __init__(self, counts: dict[str, int] | None = None) -> None:
        self.counts = dict(counts or {})

    def add(self, found: Posteriors) -> None:
        """Count the records of a block."""
        for name in found.method_names:
            self.counts[name] = self.counts.get(name, 0) + 1

    def __add__(self, other: "MethodCounts") -> "MethodCounts":
        names = [*self.counts, *(name for name in other.counts if name not in self.counts)]
        return MethodCounts(
            {name: self.counts.get(name, 0) + other.counts.get(name, 0) for name in names}
        )

    @property
    def n_records(self) -> int:
        """All records."""
        return sum(self.counts.values())

    @property
    def n_impossible(self) -> int:
        """Records that the network holds for impossible."""
        return self.counts.get("impossible", 0)

    @property
    def n_refused(self) -> int:
        """Records that took too long."""
        return self.counts.get("refused", 0)

    def __str__(self) -> str:
        parts = sorted(self.counts.items(), key=lambda item: -item[1])
        return ", ".join(f"{count:,} {name}" for name, count in parts) or "none"


class PosteriorWriter:
    """Turns posteriors into Arrow batches: a row per record, or per record and top disease."""

    def __init__(self, network: NoisyOrNetwork, id_type: Any, top: int | None) -> None:
        self._network, self._top = network, top
        diseases = network.structure.diseases
        self._has_ids = id_type is not None
        taken = {"record", *DETAILS} & set(diseases)
        if taken and top is None:
            raise FileError(
                f"the disease {sorted(taken)[0]!r} is named like a column of the table; write the "
                f"most probable diseases as rows instead: --top {min(10, len(diseases))}."
            )
        details = {"method": pa.string(), "error": pa.float64(), "log_evidence": pa.float64()}
        middle = dict.fromkeys(diseases, pa.float64())
        if top is not None:
            middle = {"rank": pa.int32(), "disease": pa.string(), "probability": pa.float64()}
        self.schema = pa.schema({"record": id_type or pa.int64()} | middle | details)

    def batches(
        self, blocks: Iterator[Block], counts: MethodCounts, first: int = 0, **request: Any
    ) -> Iterator[Any]:
        """Diagnose block after block; the first record has the number `first`."""
        seen: list[Block] = []

        def noted() -> Iterator[Block]:
            for block in blocks:
                seen.append(block)
                yield block

        for found in iter_posteriors(self._network, noted(), first=first, **request):
            block = seen.pop()
            counts.add(found)
            ids = block.record_ids
            if not self._has_ids:
                ids = pa.array(np.arange(first, first + block.n_records))
            first += block.n_records
            yield self._wide(ids, found) if self._top is None else self._long(ids, found)

    def _details(self, found: Posteriors) -> list[Any]:
        errors = pa.array(found.errors, from_pandas=True)
        evidences = pa.array(found.log_evidences, from_pandas=True)
        return [pa.array(found.method_names), errors, evidences]

    def _wide(self, ids: Any, found: Posteriors) -> Any:
        columns = [pa.array(column, from_pandas=True) for column in found.probabilities.T]
        arrays = [ids, *columns, *self._details(found)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _long(self, ids: Any, found: Posteriors) -> Any:
        k = min(self._top or 1, self._network.structure.n_diseases)
        order = np.argsort(-found.probabilities, axis=1, kind="stable")[:, :k]
        rows = pa.array(np.repeat(np.arange(len(found)), k))
        names = pa.array(self._network.structure.diseases)
        no_answer = np.repeat(np.isnan(found.probabilities).any(axis=1), k)
        arrays = [
            ids.take(rows),
            pa.array(np.tile(np.arange(1, k + 1, dtype=np.int32), len(found))),
            names.take(pa.array(order.ravel(), mask=no_answer)),
            pa.array(np.take_along_axis(found.probabilities, order, 1).ravel(), from_pandas=True),
            *(column.take(rows) for column in self._details(found)),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
