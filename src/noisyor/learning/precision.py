"""predict_precision: how well a network could be learned, before any record is at hand.

From a guess at the parameters some records are sampled, and the information in them about every
parameter is found with their diseases hidden, as "refined" finds it in real records. Information
grows with the number of records; so the standard errors follow for any number.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from noisyor.beliefs import Beliefs
from noisyor.em.expected import BetaPriors, RecordTotals
from noisyor.em.information import disease_errors, information_errors, scale_of
from noisyor.em.sampled import RecordSampler
from noisyor.em.stochastic import StochasticSettings, is_small
from noisyor.errors import ParameterError, quoted
from noisyor.immutable import EqualByValue
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.learning.refined import UNSHRUNK
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import Rng, as_seed
from noisyor.parameters import KINDS, MARGIN, Parameters
from noisyor.schedule import Schedule, find_schedule


@dataclass(frozen=True, eq=False)
class Precision(ShownAsTable, EqualByValue):
    """Predicted standard errors of every parameter of a network.

    >>> from noisyor import datasets
    >>> from noisyor.learning import predict_precision
    >>> print(predict_precision(datasets.figure1(rng=0), 1000).table()[:3])
    parameter  disease  symptom   value  standard_error  records_needed  certified
    prior      A                 0.5607         0.04674        26,512.0  True
    prior      B                 0.7465         0.04736        48,101.0  True
    failure    A        a        0.3697         0.04463        24,787.0  True
    """

    network: NoisyOrNetwork
    n_records: int
    standard_errors: Parameters
    """Predicted; NaN for diseases too rare to be seen in the sample."""
    without_weak_priors: Parameters
    """From the records alone, which is what more records make smaller."""
    schedule: Schedule

    def records_needed(self, standard_error: float) -> Parameters:
        """Return how many records would give each parameter a standard error."""
        if not isinstance(standard_error, float | int) or not standard_error > 0.0:
            raise ParameterError(f"a standard error is positive, not {quoted(standard_error)}.")
        n = self.n_records
        return self.without_weak_priors.map(lambda error: n * (error / standard_error) ** 2)

    def summary(self, wanted: float = 0.01) -> ResultTable:
        """Return one row per parameter.

        The columns: parameter, disease, symptom, value (as guessed), standard_error (predicted),
        records_needed (for the wanted standard error) and certified (True if a schedule shows
        that the parameter can be learned at all).
        """
        needed = self.records_needed(wanted).vector
        return ResultTable(
            {
                **self.network.structure.parameter_names(),
                "value": self.network.parameters.vector,
                "standard_error": pa.array(self.standard_errors.vector, from_pandas=True),
                "records_needed": pa.array(np.ceil(needed), from_pandas=True),
                "certified": self.schedule.certified.vector,
            },
            ("parameter", "disease", "symptom"),
        )

    def table(self) -> ResultTable:
        """Return the summary, for a standard error of 0.01."""
        return self.summary()

    def __repr__(self) -> str:
        medians = (np.nanmedian(part) if len(part) else np.nan for part in self.standard_errors)
        parts = (f"{median:.2g} of {kind}" for kind, median in zip(KINDS, medians, strict=True))
        return f"Precision({self.n_records:,} records: median standard errors {', '.join(parts)})"


def predict_precision(network: NoisyOrNetwork, n_records: int, *, rng: Rng = 0) -> Precision:
    """Predict the standard errors of learning a network from records without diseases.

    Parameters
    ----------
    network
        A guess at the parameters: from the literature, from experts, from a smaller study.
    n_records
        How many records there will be.
    rng
        For the records that are sampled from the guess.

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.learning import predict_precision
    >>> precision = predict_precision(datasets.clinic(), 100_000)
    >>> precision  # doctest: +ELLIPSIS
    Precision(100,000 records: median standard errors 0.000... of priors, 0.00... of failures, ...)
    >>> needed = precision.records_needed(0.01)  # for a standard error of 0.01
    >>> bool((needed.failures > 1000).all())
    True
    """
    if not isinstance(network, NoisyOrNetwork):
        raise ParameterError(f"expected a NoisyOrNetwork, not {type(network).__name__}.")
    if not isinstance(n_records, int | np.integer) or n_records < 1:
        raise ParameterError(
            f"n_records must be a whole number, at least 1, not {quoted(n_records)}."
        )
    structure, seed = network.structure, as_seed(rng)
    # Derivatives exist a little inside of 0 and 1.
    inside = network.with_parameters(
        network.parameters.map(lambda values: np.clip(values, MARGIN, 1.0 - MARGIN))
    )
    rarest = max(float(inside.priors.min(initial=1.0)), 1e-9)
    n_sampled = int(np.clip(200 / rarest, 20_000, 100_000))  # 200 of the rarest disease, if it can
    blocks = inside.sample(n_sampled, rng=seed).blocks
    small, rounds = is_small(structure), StochasticSettings.of(structure)
    sampler = RecordSampler(structure, blocks, rounds.least_odds)
    for seed_ in (seed, seed + 1):  # to warm up
        n_blocks = len(sampler.blocks)
        sampler.expect(inside, n_blocks, must_screen=True, n_sweeps=rounds.sweeps, seed=seed_)
    grown, nothing = n_records / n_sampled, Beliefs(structure)
    is_rare = inside.priors * n_sampled < 20.0  # of fewer the sample says nothing to rely on
    too_rare = Parameters.of_diseases(structure, is_rare, leaks=False)
    if small:
        scale = scale_of(inside)
        scores = sampler.score(inside, rounds.information_sweeps, seed)
        scored = scores.information * np.outer(scale, scale) * grown
    else:
        information = sampler.inform(inside, rounds.information_sweeps, seed)
        information.matrices[:] *= grown
        information.leaks[:] *= grown

    def errors(share: float) -> Parameters:
        if small:
            found = information_errors(inside, scored, nothing, BetaPriors.weak(inside, share))
        else:
            totals = RecordTotals(n_records, np.full(structure.n_symptoms, float(n_records)))
            alone = disease_errors(inside, information, totals, nothing, share)
            sweeps = rounds.information_sweeps
            shared = grown * sampler.share(inside, alone.following, sweeps, seed)
            found = alone.together(shared, nothing, structure.edges[:, 0])
        return too_rare.map(lambda here, error: np.where(here, np.nan, error), found)

    schedule = find_schedule(structure)
    return Precision(network, int(n_records), errors(1.0), errors(UNSHRUNK), schedule)
