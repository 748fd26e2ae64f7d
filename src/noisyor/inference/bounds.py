"""Bounds on the posteriors of one record that cannot be wrong, as tight as the budget allows.

Jaakkola and Jordan (1999) replace present findings by factors of the single diseases, which makes
the evidence larger or smaller (bound_kernels.py). Three things make their bounds tight:

- findings whose bound is loosest are not replaced but solved exactly;
- xi and shares are improved with the posteriors that the exact findings lead to;
- the states of the diseases are divided into leaves by one disease after the other, present or
  absent, where the bounds are furthest apart. In a leaf where the main diseases are decided, most
  findings are explained, and their bounds are nearly equalities. The bounds of leaves add up.

A bound holds for every state of the diseases, so it holds for those with a disease and for those
without it: that bounds each posterior.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from noisyor.inference import bound_kernels, record_kernels
from noisyor.inference.bound_kernels import SMALLEST_LOG, Entries
from noisyor.inference.flat import Booleans, Evidence, FlatNetwork, Floats

ROUNDING = 1e-10
"""Bounds are widened by what rounding can have moved them: xi theta is up to 4e5."""


class BoundSettings(NamedTuple):
    """How much work a record is worth."""

    n_leaves: int
    """At most."""
    leaf_operations: float
    """On findings that are solved exactly, in each leaf."""
    tolerance: float
    """The error that is good enough."""
    n_turns: int = 4
    """Of posteriors with xi, and with shares."""
    small_gain: float = 1e-3
    """In the log of a bound: less is not worth another turn."""


class Bounded(NamedTuple):
    """What was found of a record."""

    probabilities: Floats
    """Of the lower bound's model, which are the better ones."""
    lower: Floats
    upper: Floats
    log_lower: float
    log_upper: float

    @property
    def error(self) -> float:
        """How far a posterior can be off."""
        over, under = self.upper - self.probabilities, self.probabilities - self.lower
        return float(max(over.max(initial=0.0), under.max(initial=0.0)))


@dataclass(eq=False)
class Leaf:
    """A part of the states of the diseases, in which some of them are decided."""

    priors: Floats
    """0 or 1 where a disease is decided."""
    is_decided: Booleans
    log_weight: float
    """The log of the priors of what is decided."""
    xi: Floats
    log_lower: float = -np.inf
    log_upper: float = -np.inf
    low: Floats | None = None
    """The posteriors of the lower bound's model..."""
    high: Floats | None = None
    """... and those of the upper bound's."""

    @classmethod
    def whole(cls, net: FlatNetwork, n_present: int) -> "Leaf":
        """Return the leaf in which nothing is decided."""
        return cls(net.priors, np.zeros(len(net.priors), dtype=np.bool_), 0.0, np.ones(n_present))

    def divided(self, disease: int, prior: float) -> tuple["Leaf", "Leaf"]:
        """Return the part without a disease, and the one with it."""
        parts = []
        for value, log_prior in ((0.0, np.log1p(-prior)), (1.0, np.log(prior))):
            priors, is_decided = self.priors.copy(), self.is_decided.copy()
            priors[disease], is_decided[disease] = value, True
            parts.append(Leaf(priors, is_decided, self.log_weight + log_prior, self.xi.copy()))
        return parts[0], parts[1]

    def most_uncertain(self) -> int | None:
        """Return the disease whose posterior is least certain, if any is not."""
        if self.low is None or self.high is None:
            return None
        spread = self.low * (1.0 - self.low) + self.high * (1.0 - self.high)
        spread[self.is_decided] = 0.0
        disease = int(np.argmax(spread))
        return disease if spread[disease] > 1e-6 else None


def bound_record(net: FlatNetwork, evidence: Evidence, settings: BoundSettings) -> Bounded:
    """Bound the posteriors and the log evidence of one record."""
    solver = LeafSolver(net, evidence, settings)
    leaves = [Leaf.whole(net, len(solver.present))]
    solver.solve(leaves[0])
    while True:
        found = add_up(leaves, len(net.priors))
        widest = max(leaves, key=lambda leaf: _gap(leaf, found.log_upper))
        disease = widest.most_uncertain()
        if found.error <= settings.tolerance or len(leaves) >= settings.n_leaves or disease is None:
            return found
        leaves.remove(widest)
        for part in widest.divided(disease, net.priors[disease]):
            solver.solve(part)
            leaves.append(part)


def _gap(leaf: Leaf, log_scale: float) -> float:
    if leaf.log_upper == -np.inf:
        return 0.0
    return float(np.exp(leaf.log_upper - log_scale) - np.exp(leaf.log_lower - log_scale))


def add_up(leaves: list[Leaf], n_diseases: int) -> Bounded:
    """Add the bounds of all leaves: of the evidence with each disease, and without it."""
    log_lower = float(np.logaddexp.reduce([leaf.log_lower for leaf in leaves]))
    log_upper = float(np.logaddexp.reduce([leaf.log_upper for leaf in leaves]))
    low, high = np.zeros(n_diseases), np.zeros(n_diseases)
    for leaf in leaves:
        if leaf.high is not None and leaf.low is not None:
            high += np.exp(leaf.log_upper - log_upper) * leaf.high
            low += np.exp(leaf.log_lower - log_lower) * leaf.low
    low, high = np.minimum(low, 1.0), np.minimum(high, 1.0)
    if log_lower < SMALLEST_LOG / 2.0:  # it stands for nothing at all
        log_lower = -np.inf
    ratio = np.exp(log_lower - log_upper) if log_lower > -np.inf else 0.0
    # The lower bound with a disease against the upper one without it, and the other way round.
    least, most = ratio * low, ratio * (1.0 - low)
    lower = np.maximum(least / (least + (1.0 - high) + ROUNDING) - ROUNDING, 0.0)
    upper = np.minimum((high + ROUNDING) / (high + ROUNDING + most) + ROUNDING, 1.0)
    upper = np.maximum(upper, lower)
    margin = ROUNDING * (1.0 + abs(log_upper)) if log_upper > -np.inf else 0.0
    return Bounded(np.clip(low, lower, upper), lower, upper, log_lower - margin, log_upper + margin)


class LeafSolver:
    """Bounds the evidence of one record in one leaf after the other."""

    def __init__(self, net: FlatNetwork, evidence: Evidence, settings: BoundSettings) -> None:
        self._net, self._evidence, self._settings = net, evidence, settings
        self.present = record_kernels.present_of(evidence)
        self._workspace = record_kernels.new_workspace(net)

    def solve(self, leaf: Leaf) -> None:
        """Fill in the bounds of a leaf and the posteriors of both models."""
        net, workspace = self._net._replace(priors=leaf.priors), self._workspace
        absent = record_kernels.weigh_absent(net, self._evidence, workspace)
        if absent == -np.inf:
            return
        alone = record_kernels.weigh_all(net, workspace.log_absent, workspace.on)
        base = leaf.log_weight + absent - alone
        entries = bound_kernels.list_entries(net, self.present, leaf.xi, workspace)
        bound_kernels.tighten(net, entries, workspace)
        is_replaced = self._choose(net, entries)
        log_upper, high = self._best_upper(net, entries, is_replaced)
        if log_upper == -np.inf:
            return
        leaf.log_upper, leaf.high = base + log_upper, high
        log_lower, leaf.low = self._best_lower(net, entries, is_replaced, high)
        leaf.log_lower = base + log_lower

    def _choose(self, net: FlatNetwork, entries: Entries) -> Booleans:
        """Return which findings are replaced: not those with the loosest bounds."""
        looseness = bound_kernels.looseness(net, entries, self._workspace)
        worst_first = np.argsort(-looseness, kind="stable")
        fits, fails = 0, len(worst_first) + 1
        while fails - fits > 1:
            n = (fits + fails) // 2
            chosen = self.present[worst_first[:n]]
            cost = record_kernels.cost_of_present(net, chosen, self._workspace)
            does_fit = cost <= self._settings.leaf_operations
            fits, fails = (n, fails) if does_fit else (fits, n)
        is_replaced = np.ones(len(worst_first), dtype=np.bool_)
        is_replaced[worst_first[:fits]] = False
        return is_replaced

    def _best_upper(
        self, net: FlatNetwork, entries: Entries, is_replaced: Booleans
    ) -> tuple[float, Floats]:
        """Lower the upper bound by turns in posteriors and xi."""

        def solve() -> tuple[float, Floats]:
            factors = bound_kernels.tilted(entries, is_replaced, self._workspace)
            return self._solve_with(net, *factors, is_replaced)

        best, on = solve()
        kept, pace = entries.xi.copy(), 1.0
        for _ in range(self._settings.n_turns if is_replaced.any() and best > -np.inf else 0):
            bound_kernels.better_xi(entries, is_replaced, on, pace)
            bound, new = solve()
            if bound < best:
                gain, best, on, kept = best - bound, bound, new, entries.xi.copy()
                if gain < self._settings.small_gain:
                    break
            else:
                entries.xi[:] = kept
                pace /= 2.0
        entries.xi[:] = kept
        return best, on

    def _best_lower(
        self, net: FlatNetwork, entries: Entries, is_replaced: Booleans, on: Floats
    ) -> tuple[float, Floats]:
        """Raise the lower bound by turns in posteriors and shares."""
        best, best_on = -np.inf, on
        bound_kernels.start_shares(entries, on)
        for _ in range(self._settings.n_turns):
            bound_kernels.share_all(entries, is_replaced, on)
            factors = bound_kernels.shared_factors(entries, is_replaced, self._workspace)
            bound, on = self._solve_with(net, *factors, is_replaced)
            if not bound > best + self._settings.small_gain and best > -np.inf:
                break
            best, best_on = max(bound, best), on
        return best, best_on

    def _solve_with(
        self, net: FlatNetwork, log_factors: Floats, log_sum: float, is_replaced: Booleans
    ) -> tuple[float, Floats]:
        """Solve the findings that are not replaced; return the log of the sum, and posteriors."""
        workspace = self._workspace
        log_sum += record_kernels.weigh_all(net, log_factors, workspace.on)
        log_sum += record_kernels.solve_present(net, self.present[~is_replaced], workspace)
        return float(log_sum), workspace.on.copy()
