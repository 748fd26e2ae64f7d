"""Posteriors of many records as tables: a row per record, or per record and top disease."""

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.errors import FileError, quoted
from noisyor.findings.blocks import Block
from noisyor.flags import Flag
from noisyor.inference.answers import Request
from noisyor.inference.doubts import PROBABLE
from noisyor.inference.posterior import Posterior, Posteriors, iter_posteriors
from noisyor.network import NoisyOrNetwork


class MethodCounts:
    """How many records were solved in which way."""

    def __init__(self) -> None:
        self.counts = Counter[str]()

    def add(self, found: Mapping[str, int] | Iterable[str]) -> None:
        """Add counts, or the methods of some records."""
        self.counts.update(found)

    @property
    def n_records(self) -> int:
        """All records."""
        return sum(self.counts.values())

    @property
    def n_impossible(self) -> int:
        """Records that are impossible under the network."""
        return self.counts["impossible"]

    @property
    def n_refused(self) -> int:
        """Records that took too long."""
        return self.counts["refused"]

    def __str__(self) -> str:
        return ", ".join(f"{n:,} {name}" for name, n in self.counts.most_common()) or "none"


def facts_of(found: Posterior, top: int) -> dict[str, Any]:
    """Return what a posterior says for machines, with rows of the most probable diseases."""
    return {
        "present": list(found.present),
        "absent": list(found.absent),
        "method": found.method,
        "error": found.error,
        "effective_sample_size": found.effective_sample_size,
        "parameters_without_error": found.n_without_error,
        "log_evidence": found.log_evidence,
        "log_evidence_upper": found.log_evidence_upper,
        "diseases": found.table().slice(0, top).to_pylist(),
    }


def flagged_diseases(network: NoisyOrNetwork) -> dict[str, str]:
    """Return the diseases that rest on flagged parameters, with the codes of the flags."""
    flags = network.disease_flags()
    if flags is None:
        return {}
    pairs = zip(network.structure.diseases, flags.tolist(), strict=True)
    return {name: Flag(flag).codes for name, flag in pairs if flag}


class PosteriorWriter:
    """Turns posteriors into Arrow batches: a row per record, or per record and top disease.

    Where the network has flags, rows of one disease each have a column `flags`, with the codes of
    what this disease rests on in this record; rows of all diseases have `flagged`, the names of
    those that are marked and not below 1%. The schema's metadata says which diseases may rest on
    flagged parameters of their own at all.
    """

    def __init__(self, network: NoisyOrNetwork, id_type: Any, top: int | None) -> None:
        self._network, self._top = network, top
        diseases = network.structure.diseases
        self._has_ids = id_type is not None
        details = {"method": pa.string(), "error": pa.float64(), "log_evidence": pa.float64()}
        self._has_flags = network.flags is not None
        if self._has_flags and top is None:
            details["flagged"] = pa.string()
        taken = {"record", *details} & set(diseases)
        if taken and top is None:
            raise FileError(
                f"the disease {quoted(sorted(taken)[0])} is named like a column of the table; "
                f"write the most probable diseases as rows instead: --top {min(10, len(diseases))}."
            )
        middle = dict.fromkeys(diseases, pa.float64())
        if top is not None:
            middle = {"rank": pa.int32(), "disease": pa.string(), "probability": pa.float64()}
            if self._has_flags:
                middle["flags"] = pa.string()
        flagged = flagged_diseases(network)
        metadata = {"flagged_diseases": json.dumps(flagged)} if self._has_flags else None
        self.schema = pa.schema({"record": id_type or pa.int64()} | middle | details, metadata)

    def batches(
        self, blocks: Iterator[Block], counts: MethodCounts, request: Request, **options: Any
    ) -> Iterator[Any]:
        """Diagnose block after block, as asked for; options as those of `iter_posteriors`."""
        kept, asked = itertools.tee(blocks)
        first = request.first
        answers = iter_posteriors(self._network, asked, request, **options)
        for found, block in zip(answers, kept, strict=True):
            counts.add(found.method_names)
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
        if self._has_flags:
            arrays.append(_flagged_names(found))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _long(self, ids: Any, found: Posteriors) -> Any:
        k = min(self._top or 1, self._network.structure.n_diseases)
        order = np.argsort(-found.probabilities, axis=1, kind="stable")[:, :k]
        rows = pa.array(np.repeat(np.arange(len(found)), k))
        names = pa.array(self._network.structure.diseases)
        no_answer = np.repeat(np.isnan(found.probabilities).any(axis=1), k)
        chosen, flags = pa.array(order.ravel(), mask=no_answer), found.flags
        arrays = [
            ids.take(rows),
            pa.array(np.tile(np.arange(1, k + 1, dtype=np.int32), len(found))),
            names.take(chosen),
            pa.array(np.take_along_axis(found.probabilities, order, 1).ravel(), from_pandas=True),
            *([] if flags is None else [_codes(np.take_along_axis(flags, order, 1), no_answer)]),
            *(column.take(rows) for column in self._details(found)),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _codes(flags: NDArray[np.uint16], no_answer: NDArray[np.bool_]) -> Any:
    """Return the codes of flags, null where there is no answer."""
    kinds, numbers = np.unique(flags, return_inverse=True)
    codes = pa.array([Flag(each).codes for each in kinds.tolist()], pa.string())
    return codes.take(pa.array(numbers.ravel(), mask=no_answer))


def _flagged_names(found: Posteriors) -> Any:
    """Return for each record the names of diseases that are marked, and probable at all."""
    with np.errstate(invalid="ignore"):
        is_shown = found.is_flagged & (found.probabilities >= PROBABLE)
    names = np.array(found.structure.diseases, dtype=object)
    return pa.array(["; ".join(names[row]) for row in is_shown], pa.string())
