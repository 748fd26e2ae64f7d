"""plan_labels: how many records to label, and with which diseases, so that nothing is in doubt.

What is flagged after learning from a sample of a guess shows which diseases records do not tell
enough of. These are labelled in more and more of the records, and learned again, until no flag of
theirs is left: each number is verified by learning.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisyor.em.runs import EMSettings
from noisyor.errors import ParameterError, count_of, some_of
from noisyor.learning.estimate import Estimate, Flag
from noisyor.learning.methods import fit
from noisyor.names import Name
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import Rng, as_seed
from noisyor.parameters import Booleans

NUMBERS = (25, 50, 100, 200, 400, 800, 1600, 3200)
"""Labelled records that are tried."""
MOST_RECORDS = 20_000
"""More are not sampled: labels are for what records do not tell, however many there are."""


@dataclass(frozen=True)
class LabelPlan:
    """Which diseases to label, in how many records, and what is flagged with so many labels."""

    n_records: int
    diseases: tuple[Name, ...]
    flagged: dict[int, int]
    """By the number of labelled records: flagged parameters of these diseases; without any at 0."""

    @property
    def n_needed(self) -> int | None:
        """The smallest number that was tried after which no flag was left; None if none was."""
        return next((n for n, flagged in self.flagged.items() if flagged == 0), None)

    def facts(self) -> dict[str, Any]:
        """Return it for programs."""
        flagged = {str(n): count for n, count in self.flagged.items()}
        return {
            "diseases": list(self.diseases), "flagged": flagged, "needed": self.n_needed,
            "records": self.n_records,
        }  # fmt: skip

    def __str__(self) -> str:
        if not self.diseases:
            return f"Of {self.n_records:,} records nothing is flagged: no labels are needed."
        steps = ", ".join(f"{flagged} with {n:,}" for n, flagged in self.flagged.items() if n)
        told = (
            f"{count_of(self.n_needed, 'labelled record')} would do"
            if self.n_needed is not None
            else "no number of labels that was tried mends all"
        )
        return (
            f"Of {self.n_records:,} records without labels {self.flagged[0]:,} parameters are "
            f"flagged. Labels of {some_of(self.diseases)}: {told} (flagged: {steps})."
        )


def plan_labels(network: NoisyOrNetwork, n_records: int, *, rng: Rng = 0) -> LabelPlan:
    """Find out how many records to label so that what is flagged can be known.

    Parameters
    ----------
    network
        A guess at the parameters.
    n_records
        How many records there will be.
    rng
        For the records that are sampled, and which of them are labelled.

    Examples
    --------
    >>> import numpy as np
    >>> from noisyor import NoisyOrNetwork, Structure
    >>> from noisyor.learning import plan_labels
    >>> equal = Structure.from_matrix(np.ones((2, 4)), diseases=["A", "B"])
    >>> guess = NoisyOrNetwork(equal, [0.2, 0.3], [0.2, 0.3, 0.6, 0.7] * 2, [0.02] * 4)
    >>> plan_labels(guess, 2000).diseases
    ('A', 'B')
    """
    if not isinstance(network, NoisyOrNetwork):
        raise ParameterError(f"expected a NoisyOrNetwork, not {type(network).__name__}.")
    seed, structure = as_seed(rng), network.structure
    n = min(int(n_records), MOST_RECORDS)
    findings, diseases = network.sample(n, rng=seed, return_diseases=True)
    order = np.random.default_rng(seed).permutation(n)
    settings = EMSettings(rng=seed)
    doubtful = in_doubt(fit(findings, structure, settings=settings))
    flagged = {0: int(doubtful.sum())}
    which = _diseases_of(doubtful, structure.edges[:, 0], structure.n_diseases)
    for number in NUMBERS if which.any() else ():
        if number > n:
            break
        labels = np.full(diseases.shape, np.nan)
        rows = order[:number]
        labels[np.ix_(rows, which)] = diseases[np.ix_(rows, which)]
        left = in_doubt(fit(findings, structure, settings=settings, labels=labels))
        flagged[number] = int((left & doubtful).sum())
        if not flagged[number]:
            break
    names = tuple(structure.diseases[i] for i in np.flatnonzero(which).tolist())
    return LabelPlan(n, names, flagged)


def in_doubt(estimate: Estimate) -> Booleans:
    """Return which priors and failures are flagged."""
    both = np.concatenate([estimate.flags.priors, estimate.flags.failures])
    return np.asarray((both & Flag.DOUBTFUL) != 0)


def _diseases_of(doubtful: Booleans, owners: Any, n_diseases: int) -> Booleans:
    """Return the diseases that have a flagged parameter."""
    found = doubtful[:n_diseases].copy()
    found[owners[doubtful[n_diseases:]]] = True
    return np.asarray(found)
