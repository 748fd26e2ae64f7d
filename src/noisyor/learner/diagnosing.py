"""What a learner can do once it has learned: posteriors, predictions and scores of records."""

import warnings
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin

from noisyor.errors import NoisyOrWarning, ParameterError
from noisyor.findings.reading import ReadOptions
from noisyor.inference import Posteriors, posteriors
from noisyor.learner.columns import check_width
from noisyor.network import NoisyOrNetwork


class Diagnosing(TransformerMixin):  # type: ignore[misc]  # scikit-learn has no types
    """Posteriors under `network_`, in the words of scikit-learn."""

    seed: int
    threads: int | None

    @property
    def network_(self) -> NoisyOrNetwork:
        """The learned network."""
        raise NotImplementedError

    def posteriors(
        self,
        records: Any,
        *,
        method: str = "auto",
        budget: float = 0.1,
        progress: Callable[[int], None] | None = None,
        **options: Unpack[ReadOptions],
    ) -> Posteriors:
        """Return what the learned network says of each record, with methods and errors.

        Parameters as in `noisyor.posteriors`; records as in `fit`.
        """
        network = self.network_
        check_width(records, network.structure.n_symptoms)
        return posteriors(
            network, records, method=method, budget=budget, seed=self.seed,
            threads=self.threads, progress=progress, **options,
        )  # fmt: skip

    def predict_proba(self, records: Any, **options: Unpack[ReadOptions]) -> NDArray[np.float64]:
        """Return P(disease | findings), records x diseases; NaN where a record is impossible."""
        return self.posteriors(records, **options).probabilities

    def transform(self, records: Any, **options: Unpack[ReadOptions]) -> NDArray[np.float64]:
        """Return the posteriors of the diseases as new columns, as `predict_proba` does.

        After `set_output(transform="pandas")` as a frame with the names of the diseases.
        """
        return self.predict_proba(records, **options)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` gives: the diseases."""
        return np.array(self.network_.structure.diseases, dtype=object)

    def predict(self, records: Any, **options: Unpack[ReadOptions]) -> NDArray[np.bool_]:
        """Return which diseases are more probable than not, records x diseases.

        Of records that the network holds for impossible nothing is known: they get False, and a
        warning says so.
        """
        probabilities = self.predict_proba(records, **options)
        n_unknown = int(np.isnan(probabilities).any(axis=1).sum())
        if n_unknown:
            warnings.warn(
                f"{n_unknown:,} records are impossible under the learned network: no disease is "
                "predicted for them.",
                NoisyOrWarning,
                stacklevel=2,
            )
        return np.asarray(np.nan_to_num(probabilities) > 0.5)

    def score(self, records: Any, y: Any = None, **options: Unpack[ReadOptions]) -> float:
        """Return the mean log likelihood of records, in which no disease needs to be seen.

        Exact where each record can be solved exactly; otherwise a lower bound, and a warning says
        of how many records, and how much higher it can be. `y` is not used.
        """
        found = self.posteriors(records, **options)
        if not len(found):
            raise ParameterError("there is nothing to score: there are no records.")
        n_bounded = int((found.log_evidence_uppers > found.log_evidences).sum())
        mean = float(found.log_evidences.mean())
        if n_bounded:
            upper = float(found.log_evidence_uppers.mean())
            warnings.warn(
                f"the score is a lower bound: {n_bounded:,} of {len(found):,} records are too much "
                f"work for exact inference. It is at most {upper:.6g}.",
                NoisyOrWarning,
                stacklevel=2,
            )
        return mean
