"""The way from a structure to a better one, step by step: what `repair` returns."""

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from noisyor.discovery.changes import ADD, ADD_DISEASE, DROP, SPLIT, Suggestion
from noisyor.immutable import EqualByValue
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Floats
from noisyor.structure import Structure

KINDS = {ADD: "edges added", DROP: "dropped", ADD_DISEASE: "diseases added", SPLIT: "split"}


class RepairStep(NamedTuple):
    """What one step has changed, and how well the structure describes the records since."""

    changes: tuple[Suggestion, ...]
    network: NoisyOrNetwork
    log_likelihood: float
    bic: float
    held_out: float | None
    """The mean log likelihood of a record that was not learned from."""
    errors: Floats
    """Standard errors of the network's failures."""

    @property
    def structure(self) -> Structure:
        """The structure since this step."""
        return self.network.structure


@dataclass(frozen=True, eq=False)
class RepairPath(EqualByValue):
    """The way from a structure to a better one; the first step is the structure that was given."""

    steps: tuple[RepairStep, ...]
    best: int
    """The number of the step that the criterion wants."""
    is_complete: bool
    """False if it was interrupted, or stopped by `max_changes`."""

    @property
    def structure(self) -> Structure:
        """The structure that the criterion wants."""
        return self.steps[self.best].structure

    @property
    def network(self) -> NoisyOrNetwork:
        """The network that was fitted with it, to the records that were not held out."""
        return self.steps[self.best].network

    @property
    def changes(self) -> tuple[Suggestion, ...]:
        """All changes up to the structure that the criterion wants."""
        made = [change for step in self.steps[: self.best + 1] for change in step.changes]
        return tuple(made)

    def table(self) -> pa.Table:
        """Return a row per change, as an Arrow table: its step, and how well that fits."""
        rows = [
            {
                "step": number, "kind": change.kind, "disease": change.disease,
                "symptoms": ", ".join(change.symptoms), "shared": ", ".join(change.shared),
                "gain": change.gain,
                "strength": change.strength, "log_likelihood": step.log_likelihood,
                "bic": step.bic, "held_out": step.held_out, "sentence": change.sentence,
            }
            for number, step in enumerate(self.steps)
            for change in step.changes
        ]  # fmt: skip
        schema = pa.schema([
            ("step", pa.int64()), ("kind", pa.string()), ("disease", pa.string()),
            ("symptoms", pa.string()), ("shared", pa.string()), ("gain", pa.float64()),
            ("strength", pa.float64()), ("log_likelihood", pa.float64()), ("bic", pa.float64()),
            ("held_out", pa.float64()), ("sentence", pa.string()),
        ])  # fmt: skip
        return pa.Table.from_pylist(rows, schema=schema)

    def __repr__(self) -> str:
        counts = {kind: sum(each.kind == kind for each in self.changes) for kind in KINDS}
        words = ", ".join(f"{counts[kind]} {KINDS[kind]}" for kind in KINDS)
        first, last = self.steps[0].bic, self.steps[self.best].bic
        more = "" if self.is_complete else "; not complete"
        return f"RepairPath({words}; BIC {first:,.1f} -> {last:,.1f}{more})"
