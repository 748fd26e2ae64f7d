"""Beliefs beside what the records say: each of them, both together, and where they contradict.

On the scale of log odds an estimate x with standard error s knows 1 / s^2. A belief of w cases, a
share m of them true, adds w x (1 - x) to that, and pulls by w (m - x). Without it

    1 / s_data^2 = 1 / s^2 - w x (1 - x)        x_data = x - w (m - x) s_data^2

is left: what the records say, and all other beliefs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from noisyor.beliefs import Beliefs
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


def contradiction(names: list[str], beliefs: Beliefs, found: WithoutBeliefs) -> str:
    """Return a sentence on the beliefs that the records contradict, or nothing."""
    wrong = np.flatnonzero(found.is_contradicted)
    if not len(wrong):
        return ""
    worst = wrong[np.argsort(-np.abs(found.distances[wrong]))].tolist()
    means, values, names = beliefs.means.vector.copy(), found.values.copy(), list(names)
    structure, cases = beliefs.structure, beliefs.cases.vector
    for edge in beliefs.rates.edges.tolist():  # what was said of it was a sensitivity
        disease, code = structure.edges[edge].tolist()
        j = structure.n_diseases + edge
        names[j] = f"the sensitivity of {structure.symptoms[code]} to {structure.diseases[disease]}"
        means[j], values[j] = 1.0 - means[j], 1.0 - values[j]
    texts = [
        f"{names[j]}: believed {means[j]:.3g} (weight {cases[j]:g}), by the records "
        f"{values[j]:.3g} +- {found.errors[j]:.2g}"
        for j in worst
    ]
    more = f"; and {len(texts) - 3:,} more" if len(texts) > 3 else ""
    beliefs_are = "1 belief is" if len(wrong) == 1 else f"{len(wrong):,} beliefs are"
    return (
        f"{beliefs_are} contradicted by the records, by more than {TOO_FAR:g} standard "
        f"deviations: {'; '.join(texts[:3])}{more}. Look whether the belief is about these "
        "records; otherwise leave it out, or give it less weight."
    )
