"""KnownEntries: what is fixed, or believed, of the entries of a vector of causes' parameters.

A loading or an effect that is fixed is an entry that does not move; what is believed of one, a
value m with a standard error s, adds -(x - m)^2 / (2 s^2) to the log likelihood. The effect of a
level of a category is the difference to the mean of all levels, a linear function of the entries.
Shares of a block that are believed by w cases add w (sum of m_c log s_c), all others put together:
the Dirichlet distribution that these cases would have led to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from noisyor.cause_beliefs import CauseBelief
from noisyor.errors import ParameterError, nearest_name, quoted, some_of
from noisyor.inference.flat import Booleans, Floats
from noisyor.names import Indices
from noisyor.network import Effects
from noisyor.network.covariates import Covariate

LEAST_SHARE = 1e-9
"""Learning keeps a share that is fixed at 0 this far from it, so that no logarithm is infinite."""
SAME = 1e-6
"""By how much sums of shares, and means of levels, may be off."""
Naming = list[tuple[str, str | None, str]]
"""Kind, disease and name of each entry."""


class LinearBeliefs(NamedTuple):
    """What is believed of linear functions of the entries, which have normal distributions."""

    rows: Floats
    """The functions, a row each."""
    means: Floats
    precisions: Floats


class BelievedShares(NamedTuple):
    """What is believed of the shares of a block, a Dirichlet distribution."""

    groups: Floats
    """Which entries each group has, groups x entries: one, or all of which nothing is believed."""
    means: Floats
    n_cases: float

    def terms(self, shares: Floats) -> tuple[float, Floats, Floats]:
        """Return the log density, its derivatives by the logarithms of shares, and information.

        `shares` are those of all entries, 0 of entries that are not of the block.
        """
        sums = np.maximum(self.groups @ shares, 1e-300)
        slopes = self.groups * shares / sums[:, np.newaxis] - shares
        value = self.n_cases * float(self.means @ np.log(sums))
        information = self.n_cases * (slopes * sums[:, np.newaxis]).T @ slopes
        return value, self.n_cases * self.means @ slopes, information


@dataclass(frozen=True)
class KnownEntries:
    """What is known of the entries of a vector."""

    fixed: Floats
    """Values, of shares these and not their logarithms; NaN where they are to be learned."""
    has_own_prior: Booleans
    """Entries with a belief in the place of the weak prior."""
    linear: LinearBeliefs
    shares: tuple[BelievedShares, ...] = ()
    has_scale: bool = False
    """True if the scale of a trait follows from what is known of loadings."""
    has_effects: bool = False
    """True if something is known of effects of covariates."""

    @classmethod
    def nothing(cls, size: int) -> "KnownEntries":
        """Return that nothing is known."""
        none = LinearBeliefs(np.zeros((0, size)), np.zeros(0), np.zeros(0))
        return cls(np.full(size, np.nan), np.zeros(size, dtype=np.bool_), none)

    @property
    def is_fixed(self) -> Booleans:
        """Which entries are fixed."""
        return ~np.isnan(self.fixed)

    @property
    def is_believed(self) -> bool:
        """True if something is believed and not fixed."""
        return len(self.linear.means) > 0 or len(self.shares) > 0


# --- loadings and effects ---


def known_numbers(
    names: Naming, effects: Effects | None, beliefs: Sequence[CauseBelief], is_zero: Booleans
) -> KnownEntries:
    """Return what is known of loadings and effects; entries that `is_zero` are 0 in any case."""
    size = len(names)
    if not beliefs:
        return KnownEntries.nothing(size)
    index = {name: number for number, name in enumerate(names)}
    covariates = () if effects is None else effects.covariates
    scales = {each.name: each.scale for each in covariates if not each.levels}
    fixed, own = np.full(size, np.nan), np.zeros(size, dtype=np.bool_)
    rows, means, precisions = [], [], []
    for each in _by_levels(beliefs, covariates):
        _check_number(each, index, covariates, is_zero)
        at, category = index[each.key], _category_of(each, covariates)
        unit = 1.0 if category is not None else scales.get(each.name, 1.0)
        if each.is_fixed:
            fixed[at] = each.value * unit
            continue
        row = np.zeros(size)
        row[at] = 1.0 / unit
        if category is None:
            own[at] = True
        else:
            levels = [index["effect", each.disease, name] for name in category.column_names]
            row[levels] -= 1.0 / len(levels)
        rows.append(row)
        means.append(each.value)
        precisions.append(each.weight)
    _check_categories(fixed, index, covariates, {each.disease for each in beliefs})
    linear = LinearBeliefs(
        np.array(rows).reshape(len(rows), size), np.array(means), np.array(precisions)
    )
    scaling = any(
        each.parameter == "loading" and (each.value != 0.0 or not each.is_fixed) for each in beliefs
    )
    has_effects = any(each.parameter == "effect" for each in beliefs)
    return KnownEntries(fixed, own, linear, (), scaling, has_effects)


def _by_levels(
    beliefs: Sequence[CauseBelief], covariates: Sequence[Covariate]
) -> list[CauseBelief]:
    """Return beliefs in which a category that has no effect at all has none at each level."""
    levels = {each.name: each.column_names for each in covariates if each.levels}
    found: list[CauseBelief] = []
    for each in beliefs:
        if each.parameter != "effect" or each.name not in levels:
            found.append(each)
        elif each.is_fixed and each.value == 0.0:
            found += [each._replace(name=name) for name in levels[each.name]]
        else:
            raise ParameterError(
                f"{each}, a category, can be fixed at 0 as a whole; otherwise say it of its "
                f"levels: {some_of(levels[each.name], most=10)}."
            )
    return found


def _category_of(belief: CauseBelief, covariates: Sequence[Covariate]) -> Covariate | None:
    for each in covariates:
        if each.levels and belief.parameter == "effect" and belief.name in each.column_names:
            return each
    return None


def _check_number(
    belief: CauseBelief,
    index: dict[tuple[str, str | None, str], int],
    covariates: Sequence[Covariate],
    is_zero: Booleans,
) -> None:
    """Refuse what is known of a loading or an effect that the model has not."""
    known = sorted({name for kind, _, name in index if kind == belief.parameter})
    if belief.parameter == "share":
        raise ParameterError(f"{belief} is one of a joint distribution: take causes='joint'.")
    if not known:
        needs = "a trait: take causes='trait'"
        if belief.parameter == "effect":
            needs = f"the covariate: learn with covariates=[{belief.name.split('=')[0]!r}]"
        raise ParameterError(f"{belief} needs {needs}.")
    if belief.key not in index:
        raise ParameterError(
            f"there is no {belief.parameter} on {quoted(belief.name)}; known are "
            f"{some_of(known, most=10)}{nearest_name(belief.name, known) or '.'}"
        )
    if is_zero[index[belief.key]]:
        raise ParameterError(
            f"{belief} is 0 in any case, so that traits do not rotate into each other: leave it "
            "out."
        )


def _check_categories(
    fixed: Floats,
    index: dict[tuple[str, str | None, str], int],
    covariates: Sequence[Covariate],
    diseases: set[str | None],
) -> None:
    """Refuse categories of which some levels are fixed, or all at values whose mean is not 0."""
    for each in covariates:
        for disease in sorted(filter(None, diseases)) if each.levels else ():
            values = fixed[[index["effect", disease, name] for name in each.column_names]]
            n_fixed = int((~np.isnan(values)).sum())
            if n_fixed and (n_fixed < len(values) or abs(values.mean()) > SAME):
                raise ParameterError(
                    f"the effects of {quoted(each.name)} on {quoted(disease)} are fixed for all "
                    f"levels or for none, and their mean is 0: give all of "
                    f"{some_of(each.column_names, most=10)}, or a standard error for what is only "
                    "believed."
                )


# --- shares ---


def known_shares(
    names: Naming, sizes: Sequence[int], beliefs: Sequence[CauseBelief]
) -> KnownEntries:
    """Return what is known of the shares of blocks of these sizes, which come first."""
    size = len(names)
    if not beliefs:
        return KnownEntries.nothing(size)
    index = {name: number for number, (kind, _, name) in enumerate(names) if kind == "share"}
    fixed, means, weights = np.full(size, np.nan), np.full(size, np.nan), np.zeros(size)
    for each in beliefs:
        if each.parameter != "share":
            needs = "causes='trait'" if each.parameter == "loading" else "covariates, and no blocks"
            raise ParameterError(f"{each} needs {needs}; a joint distribution has shares.")
        if each.name not in index:
            raise ParameterError(
                f"there is no share {quoted(each.name)}; known are "
                f"{some_of(list(index), most=10)}{nearest_name(each.name, list(index)) or '.'}"
            )
        at = index[each.name]
        if each.is_fixed:
            fixed[at] = each.value
        else:
            means[at], weights[at] = each.value, each.weight
    found, at = [], 0
    for n_states in sizes:
        here = np.arange(size)[at : at + n_states]
        _check_block(fixed[here], means[here], weights[here])
        if (weights[here] > 0.0).any():
            found.append(_believed_shares(here, means, weights))
        at += n_states
    fixed = np.where(np.isnan(fixed), np.nan, np.maximum(fixed, LEAST_SHARE))
    return replace(KnownEntries.nothing(size), fixed=fixed, shares=tuple(found))


def _check_block(fixed: Floats, means: Floats, weights: Floats) -> None:
    """Refuse shares of a block that cannot be."""
    cases, is_given = np.unique(weights[weights > 0.0]), ~np.isnan(fixed) | ~np.isnan(means)
    if len(cases) > 1:
        raise ParameterError(
            f"shares of one block are believed by the same cases, not by {cases[0]:g} and "
            f"{cases[-1]:g}: give them one weight."
        )
    for what, values in (("fixed", fixed), ("fixed and believed", np.fmax(fixed, means))):
        total, is_all = float(np.nansum(values)), not np.isnan(values).any()
        is_off = abs(total - 1.0) > SAME if is_all else total > 1.0 - SAME
        if is_given.any() and is_off:
            must = "1" if is_all else "less than 1, as others are to be learned"
            raise ParameterError(
                f"the shares of a block that are {what} add up to {total:g}; they must to {must}."
            )


def _believed_shares(here: Indices, means: Floats, weights: Floats) -> BelievedShares:
    own = [at for at in here.tolist() if weights[at] > 0.0]
    others = [at for at in here.tolist() if not weights[at] > 0.0]
    groups = np.zeros((len(own) + bool(others), len(means)))
    groups[np.arange(len(own)), own] = 1.0
    groups[len(own) :, others] = 1.0
    values = means[own]
    if others:
        values = np.append(values, 1.0 - values.sum())
    return BelievedShares(groups, values, float(weights[own[0]]))
