"""What a network says of records: posteriors, evidence, and what caused each finding."""

from noisyor.inference.posterior import Posterior, Posteriors, posterior, posteriors

__all__ = ["Posterior", "Posteriors", "posterior", "posteriors"]
