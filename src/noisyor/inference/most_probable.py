"""most_probable: the sets of diseases that explain the findings best.

The log probability of a set and the findings is bounded from above by a sum over the diseases (see
bound_kernels.py), whose best set is known at once, and by how much any other falls behind.
So the sets are divided by one disease after the other, present or absent, where the bound is
highest, until no bound exceeds the best sets that were met on the way.
"""

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from noisyor.errors import ParameterError, quoted
from noisyor.immutable import EqualByValue
from noisyor.inference import bound_kernels
from noisyor.inference.answers import ENTRIES_PER_SECOND, make_request
from noisyor.inference.bound_kernels import SMALLEST_LOG, Entries
from noisyor.inference.bounds import Leaf
from noisyor.inference.flat import (
    Booleans,
    Evidence,
    FlatNetwork,
    Floats,
    flat_network,
    indices_of,
    list_records,
)
from noisyor.inference.intervals import LearnedNetwork, network_of
from noisyor.inference.posterior import answer_one
from noisyor.inference.record_kernels import listed, new_workspace, present_of, weigh_absent
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.names import Name
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import Components
from noisyor.structure import Structure

Heap = list[tuple[float, int, Leaf, int]]
"""Leaves, those first whose other sets have the highest bound: minus that, a number that tells
equal ones apart, the leaf, and the disease that is decided next."""

MOST_KEPT = 16
"""Times as many sets as were asked for are kept of a component, where diseases occur together."""
CLOSE = 1e-9
"""Logs of probabilities that differ by less are taken for equal."""


@dataclass(frozen=True, eq=False)
class MostProbable(ShownAsTable, EqualByValue):
    """The best explanations of some findings: sets of diseases, the most probable first.

    Examples
    --------
    >>> from noisyor import datasets, most_probable
    >>> found = most_probable(datasets.clinic(), present=["fever", "cough"], k=2)
    >>> len(found.sets), found.is_proven
    (2, True)

    >>> from noisyor import datasets, most_probable
    >>> print(most_probable(datasets.clinic(), ["fever", "cough"], k=3))
    MostProbable(3 sets; influenza: 0.203)
    diseases                probability  log_joint
    influenza                    0.2033     -4.227
    pneumonia                   0.06479     -5.371
    influenza, common cold      0.03106     -6.106
    """

    structure: Structure
    sets: tuple[tuple[str, ...], ...]
    """The diseases of each; all others are absent. An empty one: nothing but leaks."""
    probabilities: Floats
    """P(exactly these diseases | findings)."""
    log_joints: Floats
    """log P(exactly these diseases, findings)."""
    log_bound: float
    """No other set has a larger log P(diseases, findings)."""

    @property
    def is_proven(self) -> bool:
        """Whether these are the best ones for certain: the budget sufficed to exclude others."""
        return bool(self.log_bound <= self.log_joints[-1] + CLOSE)

    def __repr__(self) -> str:
        best = ", ".join(self.sets[0]) or "none" if self.sets else "nothing"
        proven = "" if self.is_proven else ", not proven"
        return f"MostProbable({len(self.sets)} sets; {best}: {self.probabilities[0]:.3g}{proven})"

    def table(self) -> ResultTable:
        """Return one row per set, the most probable first."""
        sets = pa.array([list(names) for names in self.sets], pa.list_(pa.string()))
        columns = {"probability": self.probabilities, "log_joint": self.log_joints}
        return ResultTable({"diseases": sets} | columns, "diseases")


def most_probable(
    network: NoisyOrNetwork | LearnedNetwork,
    present: Sequence[Name] | Mapping[Name, Any] = (),
    absent: Sequence[Name] = (),
    k: int = 5,
    *,
    covariates: Mapping[str, Any] | None = None,
    budget: float = 1.0,
) -> MostProbable:
    """Return the k most probable sets of diseases, given findings.

    >>> from noisyor import datasets, most_probable
    >>> found = most_probable(datasets.clinic(), present=["fever", "cough", "wheezing"], k=3)
    >>> found.sets[0], found.is_proven
    (('influenza', 'asthma'), True)

    Parameters
    ----------
    network, present, absent
        As in `posterior`: findings not mentioned are unknown.
    k
        How many sets.
    covariates
        As in `posterior`.
    budget
        About how many seconds the search may take; `is_proven` says whether it came to its end.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"k must be a whole number from 1, not {quoted(k)}.")
    known = network_of(network).given(covariates)
    structure = known.structure
    parts = indices_of(structure, present, absent)
    answers = answer_one(known, parts, make_request("auto", budget, 0))
    net, evidence = flat_network(known.as_independent()), listed(list_records([parts]), 0)
    n_edges = sum(len(structure.parents(j)) for j in parts[0].tolist())
    n_nodes = int(budget / (2e-3 + n_edges / ENTRIES_PER_SECOND))  # s a node
    if known.is_independent:
        only = known.components.priors[0]
        search = Search(net._replace(priors=only.copy()), evidence, int(k))
        log_bound = search.run(n_nodes)
        best = search.best()
    else:
        best, log_bound = search_mixture(net, known.components, evidence, int(k), n_nodes)
    logs = np.array([log for log, _ in best])
    evidence = (answers.log_evidences[0] + answers.log_uppers[0]) / 2.0
    names = tuple(tuple(structure.diseases[i] for i in chosen) for _, chosen in best)
    return MostProbable(structure, names, np.minimum(np.exp(logs - evidence), 1.0), logs, log_bound)


class Search:
    """Looks for the k best sets of diseases."""

    def __init__(self, net: FlatNetwork, evidence: Evidence, k: int) -> None:
        self._net, self._evidence, self._k = net, evidence, k
        self._workspace = new_workspace(net)
        self._found: dict[tuple[int, ...], float] = {}
        self._root = Leaf.whole(net, int(evidence.is_present.sum()))
        self._entries = self._weighed(net, self._root)
        self._finding_of = np.repeat(np.arange(len(self._root.xi)), np.diff(self._entries.offsets))
        with np.errstate(divide="ignore"):
            self._log_off = np.maximum(np.log1p(-net.priors), SMALLEST_LOG)
            log_on = np.log(net.priors) + self._workspace.log_absent
        self._log_on = np.maximum(log_on, SMALLEST_LOG)
        self._log_absent = self._workspace.log_absent.copy()
        # What is common to all sets: the leaks of absent findings do not fire.
        self._constant = float(net.log_silent[evidence.symptoms[~evidence.is_present]].sum())

    def _weighed(self, net: FlatNetwork, leaf: Leaf) -> Entries:
        """Return the present findings with their causes, the absent ones weighed."""
        weigh_absent(net, self._evidence, self._workspace)
        present = present_of(self._evidence)
        return bound_kernels.list_entries(net, present, leaf.xi, self._workspace)

    def best(self) -> list[tuple[float, tuple[int, ...]]]:
        """Return the best sets so far with the logs of their probabilities; forget the others."""
        ordered = sorted(((log, chosen) for chosen, log in self._found.items()), reverse=True)
        self._found = {chosen: log for log, chosen in ordered[: self._k]}
        return ordered[: self._k]

    def log_likelihood(self, chosen: tuple[int, ...]) -> float:
        """Return the log probability of the findings of patients with exactly these diseases."""
        is_on = np.zeros(len(self._log_absent), dtype=np.bool_)
        is_on[list(chosen)] = True
        thetas = np.where(is_on[self._entries.diseases], self._entries.theta, 0.0)
        log = self._constant + float(self._log_absent[is_on].sum())
        return log + float(_log_present(self._totals(thetas)).sum())

    def run(self, n_nodes: int) -> float:
        """Search until nothing better can be left; return what others can have at most."""
        numbers = itertools.count()
        heap: Heap = []
        self._push(self._root, heap, next(numbers))
        for _ in range(n_nodes):
            worst = self._worst_kept()
            if not heap or -heap[0][0] <= worst + CLOSE:
                return worst
            _, _, leaf, disease = heapq.heappop(heap)
            for part in leaf.divided(disease, self._net.priors[disease]):
                self._push(part, heap, next(numbers))
        return -heap[0][0] if heap else self._worst_kept()

    def _worst_kept(self) -> float:
        best = self.best()
        return best[-1][0] if len(best) == self._k else -np.inf

    def _push(self, leaf: Leaf, heap: Heap, number: int) -> None:
        """Bound a leaf, keep its best set, and put the others of it on the heap."""
        net, workspace = self._net._replace(priors=leaf.priors), self._workspace
        entries = self._weighed(net, leaf)
        bound_kernels.tighten(net, entries, workspace)
        everything = np.ones(len(entries.xi), dtype=np.bool_)
        log_factors, log_sum = bound_kernels.tilted(entries, everything, workspace)
        with np.errstate(divide="ignore"):
            on, off = np.log(leaf.priors) + log_factors, np.log1p(-leaf.priors)
        chosen = on > off
        bound = self._constant + leaf.log_weight + log_sum + float(np.maximum(on, off).sum())
        if bound == -np.inf:
            return
        self._climb(chosen)
        if leaf.is_decided.all():
            return
        with np.errstate(invalid="ignore"):
            margins = np.where(leaf.is_decided, np.inf, np.abs(on - off))
        disease = int(np.argmin(margins))
        if margins[disease] < np.inf:
            others = bound - float(margins[disease])
            heapq.heappush(heap, (-others, number, leaf, disease))

    def _climb(self, chosen: Booleans) -> None:
        """Keep a set and those that differ in one disease; go on from the best, while it rises."""
        before = -np.inf
        while True:
            log, changes = self._neighbours(chosen)
            self._keep(chosen, log)
            if not log > before:  # what rises by rounding only could go in circles
                return
            before = log
            for disease in np.argsort(-changes)[: self._k]:
                chosen[disease] ^= True
                self._keep(chosen, log + changes[disease])
                chosen[disease] ^= True
            best = int(np.argmax(changes)) if changes.size else -1  # there may be no diseases
            if best < 0 or not changes[best] > CLOSE:
                return
            chosen[best] ^= True

    def _keep(self, chosen: Booleans, log: float) -> None:
        if log > SMALLEST_LOG / 2.0:
            self._found[tuple(np.flatnonzero(chosen).tolist())] = float(log)

    def _neighbours(self, chosen: Booleans) -> tuple[float, Floats]:
        """Return the log probability of a set, and how it changes with each disease turned."""
        entries, n = self._entries, len(chosen)
        is_on = chosen[entries.diseases]
        thetas = np.where(is_on, entries.theta, 0.0)
        totals = self._totals(thetas)
        logs = _log_present(totals)
        log = self._constant + float(np.where(chosen, self._log_on, self._log_off).sum())
        log += float(logs.sum())
        turned = totals[self._finding_of] + np.where(is_on, -entries.theta, entries.theta)
        # Without the strongest cause the others are added up anew: a difference would lose them.
        is_strongest = self._is_strongest(thetas)
        others = self._totals(np.where(is_strongest, 0.0, thetas))
        turned[is_strongest] = others[self._finding_of[is_strongest]]
        changed = _log_present(turned) - logs[self._finding_of]
        changes = np.bincount(entries.diseases, changed, n).astype(np.float64)
        changes += np.where(chosen, -1.0, 1.0) * (self._log_on - self._log_off)
        return log, changes

    def _totals(self, thetas: Floats) -> Floats:
        """Return for each present finding the sum of its causes and its leak."""
        theta0 = self._entries.theta0
        return np.asarray(theta0 + np.bincount(self._finding_of, thetas, len(theta0)))

    def _is_strongest(self, thetas: Floats) -> Booleans:
        """Return True for entries that are stronger than each other one of their finding."""
        strongest = np.zeros(len(self._entries.theta0))
        np.maximum.at(strongest, self._finding_of, thetas)
        is_strongest = (thetas > 0.0) & (thetas == strongest[self._finding_of])
        n_equal = np.bincount(self._finding_of, is_strongest, len(strongest))
        return np.asarray(is_strongest & (n_equal[self._finding_of] == 1.0))


def search_mixture(
    net: FlatNetwork, components: Components, evidence: Evidence, k: int, n_nodes: int
) -> tuple[list[tuple[float, tuple[int, ...]]], float]:
    """Look for the k best sets where diseases occur together; return also a bound of all others.

    The best sets of each component are candidates. Another set is not among them in any component,
    so that its probability is at most the mean of the worst that each has kept.
    """
    weights, rows = components
    with np.errstate(divide="ignore"):
        log_weights, log_on, log_off = np.log(weights), np.log(rows), np.log1p(-rows)
    any_net = net._replace(priors=np.full(len(net.priors), 0.5))
    likelihood_of = Search(any_net, evidence, 1).log_likelihood
    is_decided = ((rows == 0.0) | (rows == 1.0)).all(axis=1)
    n_kept, n_each = k, max(n_nodes // max(int((~is_decided).sum()), 1), 1)
    while True:
        candidates = {tuple(np.flatnonzero(row).tolist()) for row in rows[is_decided]}
        bounds = np.full(len(weights), -np.inf)
        for number in np.flatnonzero(~is_decided & (weights > 0.0)).tolist():
            search = Search(net._replace(priors=rows[number].copy()), evidence, n_kept)
            bounds[number] = search.run(n_each)
            candidates.update(chosen for _, chosen in search.best())
        found = []
        for chosen in candidates:
            is_on = np.zeros(rows.shape[1], dtype=np.bool_)
            is_on[list(chosen)] = True
            logs = log_weights + np.where(is_on, log_on, log_off).sum(axis=1)
            log = likelihood_of(chosen) + float(np.logaddexp.reduce(logs))
            if log > SMALLEST_LOG / 2.0:
                found.append((log, chosen))
        best = sorted(found, reverse=True)[:k]
        log_bound = float(np.logaddexp.reduce(log_weights + bounds))
        worst = best[-1][0] if len(best) == k else -np.inf
        if log_bound <= worst + CLOSE or n_kept >= MOST_KEPT * k or log_bound == -np.inf:
            return best, max(log_bound, worst) if len(best) == k else log_bound
        n_kept *= 4


def _log_present(totals: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(-np.expm1(-totals)), SMALLEST_LOG)
