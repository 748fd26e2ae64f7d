"""KnownCauses: what is fixed, or believed, where diseases occur together.

P(disease) is no parameter there, but a function p(x) of those of the causes. A belief of w cases, a
share m of them true, adds w (m log p + (1 - m) log(1 - p)) to the log likelihood; where p is fixed,
steps stay on the surface p(x) = value: they go along it, and what is left is put right. So do fixed
shares of a joint distribution. What else is known of single parameters: `KnownEntries`.
"""

from typing import NamedTuple

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.cause_models import CauseModel, LogisticModel, marginals_of
from noisyor.em.joint_model import JointModel
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


class KnownCauses:
    """Fixed and believed priors, loadings, effects and shares, for a model of causes."""

    def __init__(self, model: CauseModel, beliefs: Beliefs) -> None:
        self._model, self._entries = model, model.known
        is_fixed = beliefs.mask.priors
        inner = np.clip(np.nan_to_num(beliefs.values.priors, nan=0.5), MARGIN, 1.0 - MARGIN)
        self._values = np.where(is_fixed, inner, np.nan)
        self._cases, self._means = beliefs.cases.priors, beliefs.means.priors
        self.has_fixed, self.has_believed = bool(is_fixed.any()), bool(self._cases.any())

    @property
    def fixed_priors(self) -> Floats:
        """P(disease) where it is fixed, NaN elsewhere."""
        return self._values

    def put_into(self, position: Floats) -> Floats:
        """Return the vector near this one in which what is fixed is what it is."""
        position = self._model.with_fixed(position)
        if not self.has_fixed:
            return position
        return self._model.with_marginals(position, self._values)

    def believed(self, causes: Causes) -> Believed:
        """Return what beliefs add."""
        size = len(self._model.is_free)
        value, derivatives, information = 0.0, np.zeros(size), np.zeros((size, size))
        if self.has_believed:
            p, slopes = self._model.marginals(causes)
            p, w, m = np.clip(p, 1e-12, 1.0 - 1e-12), self._cases, self._means
            spread = p * (1.0 - p)
            value += float((w * (m * np.log(p) + (1.0 - m) * np.log1p(-p))).sum())
            derivatives += (w * (m - p) / spread) @ slopes
            information += (slopes * (w / spread)[:, None]).T @ slopes
        if self._entries.is_believed:
            found = self._believed_entries(causes)
            value, derivatives = value + found.value, derivatives + found.derivatives
            information += found.information
        return Believed(value, derivatives, information)

    def _believed_entries(self, causes: Causes) -> Believed:
        """Return what beliefs in loadings, effects and shares add."""
        rows, means, precisions = self._entries.linear
        away = means - rows @ self._model.position_of(causes)
        value = -0.5 * float(precisions @ away**2)
        derivatives = (precisions * away) @ rows
        information = (rows * precisions[:, None]).T @ rows
        for each in self._entries.shares:
            is_own = each.groups.any(axis=0)
            shares, _ = self._model.reported(causes)
            more = each.terms(np.where(is_own, shares, 0.0))
            value, derivatives = value + more[0], derivatives + more[1]
            information = information + more[2]
        return Believed(value, derivatives, information)

    def believe_each(
        self, causes: Causes, derivatives: Floats, curvatures: Floats
    ) -> tuple[Floats, Floats]:
        """Return derivatives and negative second ones of each disease with what is known of it.

        Of diseases whose P(disease) is a matter of their own parameters: diseases x width, and a
        matrix for each.
        """
        model = self._model
        assert isinstance(model, LogisticModel)
        if self._entries.is_believed:
            rows, means, precisions = self._entries.linear
            away = means - rows @ model.position_of(causes)
            derivatives = derivatives + ((precisions * away) @ rows).reshape(derivatives.shape)
            tables = rows.reshape(-1, *derivatives.shape)
            curvatures = curvatures + np.einsum("k,kdi,kdj->dij", precisions, tables, tables)
        if not (self.has_fixed or self.has_believed):
            return derivatives, curvatures
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
        """Leave of both, in place, what is along the surface of what is fixed.

        The parameters of the causes come first in them. Across it, information is large: no step
        leads there, and nothing is uncertain.
        """
        slopes = self._across(causes)
        if not len(slopes):
            return
        across = np.zeros((len(derivatives), len(slopes)))
        across[: slopes.shape[1]] = (slopes / np.linalg.norm(slopes, axis=1, keepdims=True)).T
        directions, lengths, _ = np.linalg.svd(across, full_matrices=False)
        across = directions[:, lengths > 1e-9]  # some follow from others: shares add up to 1
        derivatives -= across @ (across.T @ derivatives)
        information -= across @ (across.T @ information)
        information -= (information @ across) @ across.T
        information += STIFF * np.diag(information).max() * (across @ across.T)

    def _across(self, causes: Causes) -> Floats:
        """Return the derivatives of the priors and shares that are fixed, a row each."""
        found = np.zeros((0, len(self._model.is_free)))
        if self.has_fixed:
            _, slopes = self._model.marginals(causes)
            found = slopes[~np.isnan(self._values)]
        if isinstance(self._model, JointModel) and self._entries.is_fixed.any():
            _, slopes = self._model.reported(causes)
            found = np.concatenate([found, slopes[self._entries.is_fixed]])
        return found
