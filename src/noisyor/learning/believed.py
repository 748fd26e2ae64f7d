"""Beliefs beside what the records say: each of them, both together, and where they contradict.

On the scale of log odds an estimate x with standard error s knows 1 / s^2. A belief of w cases, a
share m of them true, adds w x (1 - x) to that, and pulls by w (m - x). Without it

    1 / s_data^2 = 1 / s^2 - w x (1 - x)        x_data = x - w (m - x) s_data^2

is left: what the records say, and all other beliefs.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from noisyor.beliefs import Beliefs
from noisyor.cause_beliefs import CauseBelief
from noisyor.parameters import Booleans, Floats, Parameters, from_log_odds, log_odds

TOO_FAR = 3.0
"""Standard deviations by which a belief and the records contradict each other."""
LEAST_SHARE = 1e-5
"""Of the precision, that must be the records': with less they say nothing."""


class WithoutBeliefs(NamedTuple):
    """What records say of parameters without what is believed of each; NaN where they do not."""

    values: Floats
    errors: Floats
    distances: Floats
    """From the belief, in standard deviations of their difference, by log odds."""

    @property
    def is_contradicted(self) -> Booleans:
        """Which beliefs the records contradict."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(self.distances) > TOO_FAR)


def without_beliefs(
    values: Parameters, errors: Parameters, beliefs: Beliefs, miss_errors: Floats | None = None
) -> WithoutBeliefs:
    """Take from each estimate what is believed of it.

    Where that is a sensitivity, it is the miss rate, of which `miss_errors` are needed.

    >>> from noisyor import Beliefs, Structure
    >>> structure = Structure.from_edges([("flu", "fever")])
    >>> beliefs = Beliefs(structure, priors={"flu": (0.5, 100)})
    >>> both, error = 0.3, (0.3 * 0.7 / 200) ** 0.5  # as of 200 cases
    >>> each = Parameters([both], [0.5], [0.1]), Parameters([error], [0.1], [0.1])
    >>> found = without_beliefs(*each, beliefs)
    >>> round(float(found.values[0]), 2), bool(found.is_contradicted[0])
    (0.14, True)
    """
    if miss_errors is not None:
        failures = np.where(beliefs.is_rate, miss_errors, errors.failures)
        values = beliefs.rates.put_in(values)
        errors = Parameters(errors.priors, failures, errors.leaks)
    x, w, m = values.vector, beliefs.cases.vector, beliefs.means.vector
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = (x * (1.0 - x) / errors.vector) ** 2
        left = whole - w * x * (1.0 - x)
        left = np.where((w > 0.0) & (left > LEAST_SHARE * whole), left, np.nan)
        at = log_odds(x, 1e-12) - w * (m - x) / left
        spread = np.sqrt(1.0 / left + 1.0 / (w * m * (1.0 - m)))
        distances = (log_odds(m, 1e-12) - at) / spread
        found = np.where(np.isnan(at), np.nan, from_log_odds(at))
        return WithoutBeliefs(found, found * (1.0 - found) / np.sqrt(left), distances)


def with_beliefs(
    values: Floats, errors: Floats, beliefs: Beliefs
) -> tuple[Floats, Floats, Booleans]:
    """Put beliefs to estimates that were made without; return values, errors and where it was done.

    Parameter by parameter: the one that maximises the density of both. What has no error was not
    learned: it is what is believed.
    """
    w, m = beliefs.cases.vector, beliefs.means.vector
    x, error = put_together(
        values, errors, m, lambda x: ScoreOfMore(w * (m - x), w * x * (1.0 - x))
    )
    here = w > 0.0
    return np.where(here, x, values), np.where(here, error, errors), here


class ScoreOfMore(NamedTuple):
    """What else is known of parameters: derivatives by log odds, and the information."""

    score: Floats
    information: Floats


def put_together(
    values: Floats, errors: Floats, start: Floats, more: Callable[[Floats], ScoreOfMore]
) -> tuple[Floats, Floats]:
    """Return the maximum of what estimates and more say together, by log odds, and its errors.

    `start` is for estimates without an error, which say nothing.
    """
    scale = values * (1.0 - values)
    with np.errstate(divide="ignore", invalid="ignore"):
        known = np.nan_to_num((scale / errors) ** 2, nan=0.0, posinf=0.0)
    before = log_odds(values, 1e-9)
    at = np.where(known > 0.0, before, log_odds(start, 1e-9))
    for _ in range(50):  # of Newton
        score, information = more(from_log_odds(at))
        step = (known * (before - at) + score) / (known + information + 1e-300)
        at = at + np.clip(step, -1.0, 1.0)
    x = from_log_odds(at)
    with np.errstate(divide="ignore", invalid="ignore"):
        return x, x * (1.0 - x) / np.sqrt(known + more(x).information)


class CauseWithoutBelief(NamedTuple):
    """What records say of a loading, an effect or a share without what is believed of it."""

    belief: CauseBelief
    value: float
    error: float
    distance: float
    """From the belief, in standard deviations; NaN where the records say nothing."""

    @property
    def is_contradicted(self) -> bool:
        """True if the records contradict the belief."""
        return bool(abs(self.distance) > TOO_FAR)


def causes_without_beliefs(
    rows: list[dict[str, Any]], beliefs: Sequence[CauseBelief]
) -> list[CauseWithoutBelief]:
    """Take from each loading, effect and share what is believed of it; rows are those of a table.

    Loadings and effects are normal; shares as all probabilities.
    """
    known = {(row["parameter"], row["disease"], row["name"]): row for row in rows}
    return [
        _without_belief(known[each.key], each)
        for each in beliefs
        if not each.is_fixed and each.key in known
    ]


def _without_belief(row: dict[str, Any], belief: CauseBelief) -> CauseWithoutBelief:
    x, m, w = row["value"], belief.value, belief.weight
    error = np.nan if row["standard_error"] is None else row["standard_error"]
    is_share = belief.parameter == "share"
    scale = x * (1.0 - x) if is_share else 1.0
    at = float(log_odds(np.array(x), 1e-12)) if is_share else x
    goal = float(log_odds(np.array(m), 1e-12)) if is_share else m
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = np.float64(scale / error) ** 2 if error else np.float64(np.nan)
        left = whole - w * scale
        left = left if left > LEAST_SHARE * whole else np.float64(np.nan)
        at = at - w * (m - x) / left
        of_belief = w * m * (1.0 - m) if is_share else w
        distance = (goal - at) / np.sqrt(1.0 / left + 1.0 / of_belief)
    value = float(from_log_odds(np.array(at))) if is_share and not np.isnan(at) else float(at)
    spread = value * (1.0 - value) if is_share else 1.0
    return CauseWithoutBelief(belief, value, float(spread / np.sqrt(left)), float(distance))


def with_cause_beliefs(rows: pa.Table, beliefs: Sequence[CauseBelief]) -> pa.Table:
    """Return the rows of a summary on causes with what is believed, and records say without it."""
    found = {each.belief.key: each for each in causes_without_beliefs(rows.to_pylist(), beliefs)}
    keys = zip(*(rows[name].to_pylist() for name in ("parameter", "disease", "name")), strict=True)
    each = [found.get(key) for key in keys]
    columns: dict[str, list[Any]] = {
        "belief": [x and x.belief.value for x in each],
        "weight": [x and (x.belief.weight if x.belief.error is None else None) for x in each],
        "belief_error": [x and x.belief.error for x in each],
        "records_alone": [x and _or_none(x.value) for x in each],
        "records_alone_error": [x and _or_none(x.error) for x in each],
    }
    for name, values in columns.items():
        rows = rows.append_column(name, pa.array(values, pa.float64()))
    contradicted = pa.array([x and x.is_contradicted for x in each], pa.bool_())
    return rows.append_column("is_contradicted", contradicted)


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value


def contradiction(
    names: list[str],
    beliefs: Beliefs,
    found: WithoutBeliefs,
    of_causes: Sequence[CauseWithoutBelief] = (),
) -> str:
    """Return a sentence on the beliefs that the records contradict, or nothing."""
    means, values, names = beliefs.means.vector.copy(), found.values.copy(), list(names)
    structure, cases = beliefs.structure, beliefs.cases.vector
    for edge in beliefs.rates.edges.tolist():  # what was said of it was a sensitivity
        disease, code = structure.edges[edge].tolist()
        j = structure.n_diseases + edge
        names[j] = f"the sensitivity of {structure.symptoms[code]} to {structure.diseases[disease]}"
        means[j], values[j] = 1.0 - means[j], 1.0 - values[j]
    wrong = {
        f"{names[j]}: believed {means[j]:.3g} (weight {cases[j]:g}), by the records "
        f"{values[j]:.3g} +- {found.errors[j]:.2g}": found.distances[j]
        for j in np.flatnonzero(found.is_contradicted).tolist()
    }
    for each in of_causes:
        if each.is_contradicted:
            belief = each.belief
            size = f"weight {belief.weight:g}"
            if belief.error is not None:
                size = f"error {belief.error:.3g}"
            text = f"{belief}: believed {belief.value:.3g} ({size}), by the records "
            wrong[f"{text}{each.value:.3g} +- {each.error:.2g}"] = each.distance
    if not wrong:
        return ""
    texts = sorted(wrong, key=lambda text: -abs(wrong[text]))
    more = f"; and {len(texts) - 3:,} more" if len(texts) > 3 else ""
    beliefs_are = "1 belief is" if len(wrong) == 1 else f"{len(wrong):,} beliefs are"
    return (
        f"{beliefs_are} contradicted by the records, by more than {TOO_FAR:g} standard "
        f"deviations: {'; '.join(texts[:3])}{more}. Look whether the belief is about these "
        "records; otherwise leave it out, or give it less weight."
    )
