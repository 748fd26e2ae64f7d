"""JointModel: the shares of a joint distribution of diseases, as one vector."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from noisyor.cause_beliefs import CauseBelief
from noisyor.em.cause_models import MOST_TURNS, CauseModel
from noisyor.em.known_entries import LEAST_SHARE, KnownEntries, known_shares
from noisyor.em.maximum import MOST_LOG_ODDS
from noisyor.em.mixed_kernels import FlatCauses, MixedScores
from noisyor.em.states import StateShares, all_states
from noisyor.errors import ParameterError
from noisyor.inference.flat import Booleans, Floats
from noisyor.network import Joint
from noisyor.network.causes import Causes
from noisyor.parameters import from_log_odds, log_odds
from noisyor.structure import Structure

SHARE_SIZE = 1.0
"""Cases that the weak prior of shares counts for, in each block."""
CONTRADICTED = 1e-5
"""By more than this, shares cannot be what they and P(disease) are fixed at."""


@dataclass
class JointModel(CauseModel):
    """The shares of blocks, as logarithms, and the log odds of the other diseases."""

    blocks: tuple[tuple[int, ...], ...]
    n_diseases: int

    def __post_init__(self) -> None:
        self._rest = np.setdiff1d(np.arange(self.n_diseases), [i for b in self.blocks for i in b])
        self._sizes = [2 ** len(block) for block in self.blocks]
        self.known = KnownEntries.nothing(sum(self._sizes) + len(self._rest))

    def knowing(self, structure: Structure, beliefs: Sequence[CauseBelief]) -> "JointModel":
        """Return the model of which something is known beforehand."""
        found = replace(self)
        found.known = known_shares(self.names(structure), self._sizes, beliefs)
        return found

    def with_fixed(self, position: Floats) -> Floats:
        """Return the vector with the shares that are fixed."""
        if not self.known.is_fixed.any():
            return position
        return self.with_marginals(position, np.full(self.n_diseases, np.nan))

    def check_possible(self, marginals: Floats) -> None:
        """Refuse fixed shares and P(disease), where it is not NaN, that contradict each other."""
        if not self.known.is_fixed.any() or np.isnan(marginals).all():
            return
        start = np.zeros(len(self.known.fixed))
        causes = self.causes_at(self.with_marginals(start, marginals))
        off = np.abs(causes.marginals() - marginals)
        values, _ = self.reported(causes)
        off_shares = np.abs(values - self.known.fixed)
        if max(np.nanmax(off), np.nanmax(off_shares)) > CONTRADICTED:
            raise ParameterError(
                "fixed shares and fixed priors contradict each other: P(disease) is the sum of the "
                "shares in which the disease is present."
            )

    def as_given(self, causes: Causes) -> Causes:
        """Return causes in which shares that are fixed at 0 are 0."""
        if not self.known.is_fixed.any():
            return causes
        assert isinstance(causes, Joint)
        fixed = np.split(self.known.fixed, np.cumsum(self._sizes))
        shares = [
            np.where(known <= LEAST_SHARE, 0.0, share)
            for share, known in zip(causes.shares, fixed[:-1], strict=True)
        ]
        return Joint([share / share.sum() for share in shares], causes.blocks, causes.priors)

    @property
    def is_free(self) -> Booleans:
        """All; that logarithms of shares have no origin does not matter to the steps."""
        return np.ones(sum(self._sizes) + len(self._rest), dtype=np.bool_)

    def position_of(self, causes: Causes) -> Floats:
        """Return the logarithms of shares, block by block, then the log odds of the others."""
        if isinstance(causes, Joint) and causes.blocks == self.blocks:
            shares = list(causes.shares)
        else:
            shares = [causes.joint(block).ravel() for block in self.blocks]
        logs = [np.log(np.maximum(each, 1e-9)) for each in shares]
        rest = np.clip(causes.log_odds()[self._rest], -MOST_LOG_ODDS, MOST_LOG_ODDS)
        return np.concatenate([*logs, rest])

    def _split(self, position: Floats) -> tuple[list[Floats], Floats]:
        parts = np.split(position, np.cumsum(self._sizes))
        shares = [np.exp(part - part.max()) for part in parts[:-1]]
        return [share / share.sum() for share in shares], parts[-1]

    def causes_at(self, position: Floats) -> Causes:
        """Return the causes with these shares."""
        shares, rest = self._split(position)
        priors = np.zeros(self.n_diseases)
        priors[self._rest] = from_log_odds(rest)
        return Joint(shares, self.blocks, priors)

    def flat(self, causes: Causes, design: Floats) -> FlatCauses:
        """Return causes as arrays, of people in these cells."""
        weights, priors = causes.components
        shifts = np.where(priors > 0.5, np.inf, -np.inf)
        shifts[:, self._rest] = 0.0
        offsets = np.zeros((1, self.n_diseases))
        offsets[:, self._rest] = log_odds(priors[0, self._rest], 1e-12)
        return FlatCauses(
            offsets, shifts, np.maximum(weights, 1e-300), np.zeros((len(weights), 0)),
            np.zeros((len(design), 0)),
        )  # fmt: skip

    def scores(self, causes: Causes, scored: MixedScores) -> Floats:
        """Return derivatives by the vector, a row for each record."""
        assert isinstance(causes, Joint)
        parts = []
        for shares, states in zip(causes.shares, causes.states(), strict=True):
            is_state = (states[:, np.newaxis] == np.arange(len(shares))).astype(np.float64)
            parts.append(scored.components @ is_state - shares)
        return np.concatenate([*parts, scored.diseases[:, self._rest, 0]], axis=1)

    def states(self, causes: Causes, design: Floats) -> StateShares:
        """Return the probabilities of all states of the diseases; covariates there are none."""
        assert isinstance(causes, Joint)
        bits, parts = all_states(self.n_diseases), []
        logs = np.zeros(len(bits))
        for block, shares in zip(causes.blocks, causes.shares, strict=True):
            numbers = bits[:, list(block)] @ (1 << np.arange(len(block))[::-1])
            logs += np.log(np.maximum(shares, 1e-300))[numbers]
            parts.append((numbers[:, np.newaxis] == np.arange(len(shares))) - shares)
        rest, p = bits[:, self._rest], causes.priors[self._rest]
        logs += np.where(rest, np.log(np.maximum(p, 1e-300)), np.log1p(-p)).sum(axis=1)
        by_log = np.concatenate([*parts, rest - p], axis=1)
        return StateShares(logs[np.newaxis], by_log[np.newaxis])

    def penalty(self, position: Floats, share: float) -> tuple[float, Floats, Floats]:
        """Return the log density of the weak priors, with derivatives."""
        shares, rest = self._split(position)
        value, first, second = 0.0, [], []
        for each in shares:
            size = share * SHARE_SIZE
            value += size * float(np.log(np.maximum(each, 1e-300)).mean())
            first.append(size * (1.0 / len(each) - each))
            second.append(size * each * (1.0 - each))
        p = from_log_odds(rest)
        value += share * 0.5 * float((np.log(p) + np.log1p(-p)).sum())
        first.append(share * (0.5 - p))
        second.append(share * p * (1.0 - p))
        return value, np.concatenate(first), np.concatenate(second)

    def if_seen(self, causes: Causes, flat: FlatCauses, weights: Floats) -> Floats:
        """Return the diagonal of the information if all diseases were seen."""
        assert isinstance(causes, Joint)
        parts = [*causes.shares, causes.priors[self._rest]]
        return np.concatenate([weights.sum() * each * (1.0 - each) for each in parts])

    def reported(self, causes: Causes) -> tuple[Floats, Floats]:
        """Return shares and log odds, with their derivatives by the vector."""
        assert isinstance(causes, Joint)
        values, jacobian = self.position_of(causes), np.eye(len(self.is_free))
        at = 0
        for shares in causes.shares:
            here = slice(at, at + len(shares))
            values[here] = shares
            jacobian[here, here] = np.diag(shares) - np.outer(shares, shares)
            at += len(shares)
        return values, jacobian

    def marginals(self, causes: Causes) -> tuple[Floats, Floats]:
        """Return P(disease) of each, and its derivatives by the vector, as rows."""
        assert isinstance(causes, Joint)
        found, rows, at = causes.priors.copy(), np.zeros((self.n_diseases, len(self.is_free))), 0
        for block, shares in zip(self.blocks, causes.shares, strict=True):
            bits = all_states(len(block)).T
            found[list(block)] = bits @ shares
            rows[list(block), at : at + len(shares)] = shares * (bits - (bits @ shares)[:, None])
            at += len(shares)
        p = found[self._rest]
        rows[self._rest, at + np.arange(len(p))] = p * (1.0 - p)
        return found, rows

    def with_marginals(self, position: Floats, marginals: Floats) -> Floats:
        """Return the vector for which P(disease) is given where it is, by scaling shares.

        Iterative proportional fitting: odds ratios of the diseases stay as they are.
        """
        shares, rest = self._split(position)
        fixed = np.split(self.known.fixed, np.cumsum(self._sizes))
        shares = [
            _scaled_shares(share, marginals[list(block)], values)
            for block, share, values in zip(self.blocks, shares, fixed[:-1], strict=True)
        ]
        known = marginals[self._rest]
        rest = np.where(np.isnan(known), rest, log_odds(np.nan_to_num(known, nan=0.5), 1e-9))
        return np.concatenate([*(np.log(np.maximum(each, 1e-300)) for each in shares), rest])

    def gauges(self) -> Floats:
        """Return directions in which nothing changes: all logarithms of a block by as much."""
        found = np.zeros((len(self.is_free), len(self._sizes)))
        for number, size in enumerate(self._sizes):
            at = sum(self._sizes[:number])
            found[at : at + size, number] = 1.0
        return found

    def names(self, structure: Structure) -> list[tuple[str, str | None, str]]:
        """Return kind, disease and name of each entry."""
        found: list[tuple[str, str | None, str]] = []
        for block in self.blocks:
            everyone = ", ".join(structure.diseases[i] for i in sorted(block))
            none = "none" if len(self.blocks) == 1 else f"none of {everyone}"
            for state in all_states(len(block)):
                on = sorted(i for i, is_on in zip(block, state.tolist(), strict=True) if is_on)
                name = " + ".join(structure.diseases[i] for i in on)
                found.append(("share", None, name or none))
        return found + [("intercept", structure.diseases[i], "") for i in self._rest.tolist()]


def _scaled_shares(shares: Floats, marginals: Floats, fixed: Floats) -> Floats:
    """Return shares of states with these marginals, and some fixed shares, but where it is NaN."""
    bits, is_fixed = all_states(len(marginals)).T, ~np.isnan(fixed)
    left = 1.0 - fixed[is_fixed].sum()
    for _ in range(MOST_TURNS):
        before = shares
        if is_fixed.any():
            others = max(shares[~is_fixed].sum(), 1e-300)
            shares = np.where(is_fixed, fixed, shares * max(left, 0.0) / others)
        for is_on, p in zip(bits, marginals, strict=True):
            if not np.isnan(p):
                now = shares[is_on].sum()
                shares = shares * np.where(is_on, p / now, (1.0 - p) / (1.0 - now))
        if np.abs(shares - before).max() < 1e-14:
            break
    return shares
