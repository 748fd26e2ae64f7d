"""NoisyOrLearner: an estimator in the manner of scikit-learn."""

from noisyor.learner.learner import ALL_METHODS, SEEN, NoisyOrLearner

__all__ = ["ALL_METHODS", "SEEN", "NoisyOrLearner"]
