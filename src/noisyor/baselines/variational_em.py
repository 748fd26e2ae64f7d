"""learn_variational_em: variational EM (Singliar and Hauskrecht 2006), the paper's baseline.

With theta = -log f, theta0 = -log(1 - leak), and shares q that sum to 1 over the parents of a
present finding, Jensen's inequality gives

    log P(present | D) >= sum_i q_i [ d_i log(1 - exp(-theta0 - theta_i / q_i))
                                      + (1 - d_i) log(1 - exp(-theta0)) ]

and absent findings are linear in d. The E-step raises the bound by turns in P(d_i = 1), in closed
form, and in q; the M-step solves one monotone equation for each edge and each leak. No step lowers
the bound. It converges, but not to the truth: it prunes edges (Section 4.1).
"""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.baselines.kernels import (
    Entries,
    ListedFindings,
    Model,
    bound_records,
    raise_edges,
    raise_leaks,
)
from noisyor.baselines.runs import (
    SMALLEST,
    SMALLEST_LEAK,
    Progress,
    Run,
    best_run,
    check_input,
    no_errors,
    starts,
    to_estimate,
)
from noisyor.findings import Findings
from noisyor.inference.records import CHUNK, distinct_records, in_threads
from noisyor.learning.estimate import Estimate
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, as_fixed
from noisyor.structure import Structure

Floats = NDArray[np.float64]

ROUNDS = 2
"""Turns of posteriors and shares in one E-step."""
WORTH_A_THREAD = 100_000
"""With fewer findings and parents, starting threads takes longer than the work."""
SMALLEST_THETA, LARGEST_THETA = SMALLEST, -np.log(SMALLEST)


def learn_variational_em(
    findings: Findings,
    structure: Structure,
    *,
    restarts: int = 4,
    seed: int = 0,
    fixed: Fixed | None = None,
    progress: Progress | None = None,
    tolerance: float = 1e-6,
    max_steps: int = 500,
    threads: int | None = None,
) -> Estimate:
    """Learn by variational EM from random starts; the run with the highest bound is kept.

    Parameters
    ----------
    findings
        The records; those that are the same are looked at once.
    structure
        The diseases, symptoms and edges.
    restarts
        Runs from different random starts (the paper makes 64).
    seed
        The same seed gives the same estimate.
    fixed
        Parameters held at given values.
    progress
        Called with the number of records looked at since the last call.
    tolerance
        A run ends when the bound rises by less than this part of it.
    max_steps
        A run ends after so many steps.
    threads
        None: as many as there are cores.

    Examples
    --------
    >>> from noisyor import datasets, learn_variational_em
    >>> network = datasets.figure1(seed=0)
    >>> learn_variational_em(network.sample(500, seed=1), network.structure, restarts=2)
    Estimate(variational_em: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    check_input(
        findings, structure, restarts=restarts, seed=seed, tolerance=tolerance, max_steps=max_steps
    )
    held = as_fixed(fixed, structure)
    climber = _Climber(findings.with_structure(structure), held, progress, threads)
    first = starts(findings, structure, held, restarts, seed)
    runs = [climber.run(start, tolerance, max_steps) for start in first]
    network, trace = best_run(runs, "lower bound of the log likelihood")
    errors = no_errors(structure)
    return to_estimate("variational_em", network, errors, findings.n_records, held, trace)


class _Climber:
    """Runs of variational EM on some findings."""

    def __init__(
        self,
        findings: Findings,
        fixed: Fixed,
        progress: Progress | None,
        threads: int | None = None,
    ) -> None:
        self._structure = findings.structure
        self._fixed = fixed
        self._progress = progress or (lambda _: None)
        self._n_records = findings.n_records
        self._known = (findings.n_records - findings.count_unknown()).astype(np.float64)
        self._present = findings.count_present().astype(np.float64)
        self._flat, self._entries = self._lay_out(findings)
        self._threads = threads or os.cpu_count() or 1
        if len(self._entries.edges) < WORTH_A_THREAD:
            self._threads = 1

    def _lay_out(self, findings: Findings) -> tuple[ListedFindings, Entries]:
        """List each present finding with each of its parents."""
        records = distinct_records(findings)
        n_parents = np.diff(self._structure.parent_offsets)[records.symptoms]
        n_entries = np.where(records.is_present, n_parents, 0)
        entry_offsets = np.concatenate([[0], np.cumsum(n_entries)])
        of_finding = np.repeat(np.arange(len(n_entries)), n_entries)
        rank = np.arange(entry_offsets[-1]) - entry_offsets[of_finding]
        places = self._structure.parent_offsets[records.symptoms[of_finding]] + rank
        owners = np.repeat(np.arange(len(records.weights)), np.diff(records.offsets))[of_finding]
        by_place = np.argsort(places, kind="stable")
        order = np.empty(len(places), dtype=np.int64)
        order[by_place] = np.arange(len(places))
        n_places = self._structure.n_edges
        entries = Entries(
            self._structure.parent_edges[places[by_place]],
            owners[by_place],
            np.searchsorted(places[by_place], np.arange(n_places + 1)),
            np.empty(len(places)),
            np.zeros(len(places)),
        )
        flat = ListedFindings(
            records.offsets, records.symptoms, ~records.is_present, entry_offsets, order,
            records.weights,
        )  # fmt: skip
        return flat, entries

    def run(self, start: NoisyOrNetwork, tolerance: float, max_steps: int) -> Run:
        """Climb from a start until the bound hardly rises."""
        n_entries = np.diff(self._flat.entry_offsets)
        of_finding = np.repeat(np.arange(len(n_entries)), n_entries)
        self._entries.shares[self._flat.order] = 1.0 / n_entries[of_finding]
        network, values = start, list[float]()
        for number in range(max_steps):
            better, bound = self._step(network)
            values.append(bound)
            is_settled = len(values) > 1 and bound - values[-2] <= tolerance * abs(bound)
            if is_settled or number + 1 == max_steps:
                break
            network = better
        return Run(network, values, is_settled)  # the network that has the last bound

    def _step(self, network: NoisyOrNetwork) -> tuple[NoisyOrNetwork, float]:
        """Do an E-step, with the bound after it, and an M-step."""
        structure, model = self._structure, self._model(network)
        n = len(self._flat.weights)

        def raise_bounds(first: int) -> tuple[float, Floats, Floats]:
            cases, unknown = np.zeros(structure.n_diseases), np.zeros(structure.n_edges)
            last = min(first + CHUNK, n)
            bound = bound_records(
                model, self._flat, self._entries, first, last, ROUNDS, cases, unknown
            )
            return bound, cases, unknown

        bounds, cases, unknown = zip(
            *in_threads(raise_bounds, range(0, n, CHUNK), self._threads), strict=True
        )
        bound = float(sum(bounds))
        self._progress(self._n_records)
        return self._maximise(network, model, np.sum(cases, axis=0), np.sum(unknown, axis=0)), bound

    def _model(self, network: NoisyOrNetwork) -> Model:
        structure = self._structure
        p, theta = network.priors, -np.log(network.failures)
        all_fail = np.bincount(structure.edges[:, 0], theta, minlength=structure.n_diseases)
        return Model(
            np.log(p) - np.log1p(-p) - all_fail, np.log1p(-p), theta, -np.log1p(-network.leaks),
            structure.parent_offsets, structure.parent_diseases, structure.parent_edges,
        )  # fmt: skip

    def _maximise(
        self, network: NoisyOrNetwork, model: Model, cases: Floats, unknown: Floats
    ) -> NoisyOrNetwork:
        structure, entries = self._structure, self._entries
        weights = self._flat.weights
        taken = np.bincount(
            entries.edges, weights[entries.records] * entries.posteriors,
            minlength=structure.n_edges,
        )  # fmt: skip
        survived = np.maximum(cases[structure.edges[:, 0]] - unknown - taken, 0.0)
        absent = self._known - self._present
        edge_bounds = SMALLEST_THETA, LARGEST_THETA
        self._in_parts(raise_edges, structure.n_edges, model, survived, edge_bounds)
        held = self._fixed.mask.failures
        model.theta[held] = -np.log(network.failures[held])
        leak_bounds = SMALLEST_LEAK, LARGEST_THETA
        self._in_parts(raise_leaks, structure.n_symptoms, model, absent, leak_bounds)
        leaks = -np.expm1(-model.theta0)
        alone = np.diff(structure.parent_offsets) == 0
        frequencies = self._present / np.maximum(self._known, 1.0)
        leaks[alone] = np.clip(frequencies, SMALLEST_LEAK, 1.0 - SMALLEST)[alone]
        priors = np.clip(cases / self._n_records, SMALLEST, 1.0 - SMALLEST)
        return NoisyOrNetwork(structure, priors, np.exp(-model.theta), leaks).with_fixed(
            self._fixed
        )

    def _in_parts(
        self, kernel: Any, n: int, model: Model, absent: Floats, bounds: tuple[float, float]
    ) -> None:
        """Let each thread find its part of n parameters, given what was absent in spite of them."""
        parts = self._threads
        in_threads(
            lambda part: kernel(
                model, self._entries, self._flat.weights, absent, *bounds,
                part * n // parts, (part + 1) * n // parts,
            ),
            range(parts),
            parts,
        )  # fmt: skip
