"""learn_observed: what could be learned if the diseases were seen; the limit of learning without.

Either in closed form, f = P(absent | disease) / P(absent | no disease), or by noisy-or regression
of the findings on the diseases: maximum likelihood, found by EM from the closed form.
"""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from noisyor.baselines.kernels import expect_causes
from noisyor.baselines.runs import (
    SMALLEST_LEAK,
    Progress,
    check_input,
    inside,
    to_estimate,
)
from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.learning.estimate import Estimate, Flag, Trace
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, Parameters, as_fixed
from noisyor.structure import Structure

Floats = NDArray[np.float64]
How = Literal["ratio", "likelihood"]


def learn_observed(
    findings: Findings,
    structure: Structure,
    diseases: Any,
    *,
    how: How = "ratio",
    fixed: Fixed | None = None,
    progress: Progress | None = None,
    tolerance: float = 1e-7,
    max_steps: int = 200,
) -> Estimate:
    """Learn from records in which the diseases were seen.

    Standard errors are those of the closed form; the regression's are a little smaller.

    Parameters
    ----------
    findings
        The records.
    structure
        The diseases, symptoms and edges.
    diseases
        Records x diseases, true where a record has a disease (0 and 1, or booleans).
    how
        "ratio": in closed form. "likelihood": noisy-or regression, a little more accurate.
    fixed
        Parameters held at given values.
    progress
        Called with the number of records looked at since the last call.
    tolerance
        The regression ends when the likelihood rises by less than this part of it.
    max_steps
        The regression ends after so many steps.

    Examples
    --------
    >>> from noisyor import datasets, learn_observed
    >>> network = datasets.figure1(seed=0)
    >>> findings, diseases = network.sample(500, seed=1, return_diseases=True)
    >>> learn_observed(findings, network.structure, diseases)
    Estimate(observed: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    check_input(findings, structure, tolerance=tolerance, max_steps=max_steps)
    if how not in get_args(How):
        raise ParameterError(f"how must be 'ratio' or 'likelihood', not {how!r}.")
    seen = _checked(diseases, findings.n_records, structure)
    held = as_fixed(fixed, structure)
    records = _Records(findings.with_structure(structure), seen, progress)
    network, errors = _ratios(records, structure, held)
    trace = None
    if how == "likelihood":
        network, trace = _regress(records, network, held, tolerance, max_steps)
    method = "observed" if how == "ratio" else "observed_likelihood"
    flags = (
        np.zeros(structure.n_diseases, dtype=np.uint16),
        np.where(np.isnan(errors.failures), Flag.WEAK, 0).astype(np.uint16),
        np.zeros(structure.n_symptoms, dtype=np.uint16),
    )
    return to_estimate(method, network, errors, findings.n_records, held, trace, flags=flags)


def _checked(diseases: Any, n_records: int, structure: Structure) -> NDArray[np.bool_]:
    """Return the diseases as booleans, or say what is wrong with them."""
    if diseases is None:
        raise ParameterError(
            "this method learns from records in which the diseases were seen: give them, records "
            "x diseases, as the second argument of fit."
        )
    array = np.asarray(diseases)
    wanted = n_records, structure.n_diseases
    if array.shape != wanted:
        raise ParameterError(f"diseases must be of shape {wanted}, not {array.shape}.")
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise ParameterError("diseases must be 0 or 1: absent or present.")
    return array.astype(np.bool_)


class _Causes(NamedTuple):
    """How many findings each edge, and each leak, is expected to have caused."""

    caused: Floats
    unknown: Floats
    """Cases in which the finding of each edge is unknown."""
    leaked: Floats
    log_present: float
    """The log probability of the present findings."""


class _Records:
    """Findings and diseases, listed record by record."""

    def __init__(
        self, findings: Findings, diseases: NDArray[np.bool_], progress: Progress | None
    ) -> None:
        structure = findings.structure
        self._progress = progress or (lambda _: None)
        self.n_records = findings.n_records
        self.cases = diseases.sum(axis=0).astype(np.float64)
        self.present = findings.count_present().astype(np.float64)
        self.known = (findings.n_records - findings.count_unknown()).astype(np.float64)
        self._sizes = structure.n_edges, structure.n_edges, structure.n_symptoms
        self._edge_of = np.full((structure.n_diseases, structure.n_symptoms), -1, dtype=np.int32)
        self._edge_of[structure.edges[:, 0], structure.edges[:, 1]] = np.arange(structure.n_edges)
        self._listed = [block.listed() for block in findings.blocks]
        rows, self._columns = np.nonzero(diseases)
        self._offsets = np.searchsorted(rows, np.arange(len(diseases) + 1))
        # With failures and leaks of 0 all diseases that are seen have caused their findings.
        certain = self.expect(np.zeros(structure.n_edges), np.zeros(structure.n_symptoms))
        self.with_finding = certain.caused
        """Cases with the finding of each edge."""
        self.at_risk = self.cases[structure.edges[:, 0]] - certain.unknown
        """Cases in which the finding of each edge is known."""

    def expect(self, failures: Floats, leaks: Floats) -> _Causes:
        """Return what is expected to have caused the present findings."""
        caused, unknown, leaked = (np.zeros(size) for size in self._sizes)
        first, total = 0, 0.0
        for starts, symptoms, is_unknown in self._listed:
            last = first + len(starts) - 1
            of_records = self._offsets[first : last + 1]
            total += expect_causes(
                starts, symptoms, is_unknown, of_records, self._columns, self._edge_of, failures,
                leaks, caused, unknown, leaked,
            )  # fmt: skip
            first = last
        self._progress(self.n_records)
        return _Causes(caused, unknown, leaked, total)


def _ratios(
    records: _Records, structure: Structure, fixed: Fixed
) -> tuple[NoisyOrNetwork, Parameters]:
    """Return the network in closed form, and standard errors by the delta method."""
    j, cases, both = structure.edges[:, 1], records.at_risk, records.with_finding
    controls = records.known[j] - cases
    with np.errstate(divide="ignore", invalid="ignore"):
        within = 1.0 - both / cases
        without = 1.0 - (records.present[j] - both) / controls
        raw = within / without
        spread = (1.0 - within) / (within * cases) + (1.0 - without) / (without * controls)
        absent = 1.0 - records.present / records.known
        of_failures = np.minimum(raw, 1.0) * np.sqrt(spread)
    failures = np.where(np.isfinite(raw), np.minimum(raw, 1.0), 0.5)
    priors = records.cases / records.n_records
    errors = Parameters(
        np.sqrt(priors * (1.0 - priors) / records.n_records),
        np.where(np.isfinite(of_failures), of_failures, np.nan),
        np.full(structure.n_symptoms, np.nan),
    )
    # Of each symptom, what its parents leave: as frequent as they are where it is known.
    failures = fixed.apply("failures", failures)
    share = cases / np.maximum(records.known[j], 1.0)
    explained = np.ones(structure.n_symptoms)
    np.multiply.at(explained, j, 1.0 - share * (1.0 - failures))
    leaks = 1.0 - np.nan_to_num(absent, nan=1.0) / np.maximum(explained, 1e-12)
    network = NoisyOrNetwork(structure, priors, failures, np.clip(leaks, SMALLEST_LEAK, 1.0))
    return network.with_fixed(fixed), errors


def _regress(
    records: _Records, network: NoisyOrNetwork, fixed: Fixed, tolerance: float, max_steps: int
) -> tuple[NoisyOrNetwork, Trace]:
    """Maximise the likelihood of the findings given the diseases, by EM."""
    structure = network.structure
    at_risk, absent = records.at_risk, records.known - records.present
    network = (
        inside(structure, network.priors, np.clip(network.failures, 0.01, 0.99),
               np.clip(network.leaks, 1e-4, 0.99))
    ).with_fixed(fixed)  # fmt: skip
    values: list[float] = []
    is_settled = False
    for _ in range(max_steps):
        causes = records.expect(network.failures, network.leaks)
        log_absent = (at_risk - records.with_finding) @ np.log(network.failures)
        log_absent += absent @ np.log1p(-network.leaks)
        values.append(causes.log_present + float(log_absent))
        if len(values) > 1 and values[-1] - values[-2] <= tolerance * abs(values[-1]):
            is_settled = True
            break
        failures = np.where(at_risk > 0.0, 1.0 - causes.caused / np.maximum(at_risk, 1.0), 0.5)
        leaks = causes.leaked / np.maximum(records.known, 1.0)
        network = inside(structure, network.priors, failures, leaks).with_fixed(fixed)
    trace = Trace(
        "log likelihood given the diseases", np.array(values), np.array(values[-1:]), is_settled
    )
    return network, trace
