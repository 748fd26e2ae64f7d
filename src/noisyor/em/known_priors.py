"""KnownPriors: what is fixed, or believed, of P(disease) where diseases occur together.

P(disease) is no parameter there, but a function p(x) of those of the causes. A belief of w cases, a
share m of them true, adds w (m log p + (1 - m) log(1 - p)) to the log likelihood; where p is fixed,
steps stay on the surface p(x) = value: they go along it, and what is left is put right.
"""

from typing import NamedTuple

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.cause_models import CauseModel, LogisticModel, marginals_of
from noisyor.inference.flat import Floats
from noisyor.network.causes import Causes
from noisyor.parameters import MARGIN

STIFF = 1e4
"""How much more is known across the surface than the records say of any parameter."""


class Believed(NamedTuple):
    """What beliefs add to the log likelihood, and to its derivatives by the causes' parameters."""

    value: float
    derivatives: Floats
    information: Floats
    """The expected negative second derivatives."""


class KnownPriors:
    """Fixed and believed priors, for the parameters of a model of causes."""

    def __init__(self, model: CauseModel, beliefs: Beliefs) -> None:
        self._model = model
        is_fixed = beliefs.mask.priors
        inner = np.clip(np.nan_to_num(beliefs.values.priors, nan=0.5), MARGIN, 1.0 - MARGIN)
        self._values = np.where(is_fixed, inner, np.nan)
        self._cases, self._means = beliefs.cases.priors, beliefs.means.priors
        self.has_fixed, self.has_believed = bool(is_fixed.any()), bool(self._cases.any())

    def put_into(self, position: Floats) -> Floats:
        """Return the vector near this one in which the fixed priors are what they are."""
        if not self.has_fixed:
            return position
        return self._model.with_marginals(position, self._values)

    def believed(self, causes: Causes) -> Believed:
        """Return what beliefs add."""
        size = len(self._model.is_free)
        if not self.has_believed:
            return Believed(0.0, np.zeros(size), np.zeros((size, size)))
        p, slopes = self._model.marginals(causes)
        p, w, m = np.clip(p, 1e-12, 1.0 - 1e-12), self._cases, self._means
        value = float((w * (m * np.log(p) + (1.0 - m) * np.log1p(-p))).sum())
        spread = p * (1.0 - p)
        return Believed(
            value, (w * (m - p) / spread) @ slopes, (slopes * (w / spread)[:, None]).T @ slopes
        )

    def believe_each(
        self, causes: Causes, derivatives: Floats, curvatures: Floats
    ) -> tuple[Floats, Floats]:
        """Return derivatives and negative second ones of each disease with what is known of it.

        Of diseases whose P(disease) is a matter of their own parameters: diseases x width, and a
        matrix for each.
        """
        model = self._model
        if not (self.has_fixed or self.has_believed):
            return derivatives, curvatures
        assert isinstance(model, LogisticModel)
        p, slopes = marginals_of(causes, *model.people)
        p = np.clip(p, 1e-12, 1.0 - 1e-12)
        squares = slopes[:, :, None] * slopes[:, None]
        weights = self._cases / (p * (1.0 - p))
        derivatives = derivatives + (weights * (self._means - p))[:, None] * slopes
        curvatures = curvatures + weights[:, None, None] * squares
        is_fixed = ~np.isnan(self._values)
        stiff = STIFF * curvatures.max(axis=(1, 2)) / np.maximum((slopes**2).sum(axis=1), 1e-300)
        return derivatives, curvatures + np.where(is_fixed, stiff, 0.0)[:, None, None] * squares

    def along(self, causes: Causes, derivatives: Floats, information: Floats) -> None:
        """Leave of both, in place, what is along the surface of the fixed priors.

        The parameters of the causes come first in them. Across it, information is large: no step
        leads there, and nothing is uncertain.
        """
        if not self.has_fixed:
            return
        _, slopes = self._model.marginals(causes)
        slopes = slopes[~np.isnan(self._values)]
        across = np.zeros((len(derivatives), len(slopes)))
        across[: slopes.shape[1]] = (slopes / np.linalg.norm(slopes, axis=1, keepdims=True)).T
        across, _ = np.linalg.qr(across)
        derivatives -= across @ (across.T @ derivatives)
        information -= across @ (across.T @ information)
        information -= (information @ across) @ across.T
        information += STIFF * np.diag(information).max() * (across @ across.T)
