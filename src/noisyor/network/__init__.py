"""A structure with its parameters: how diseases occur together, moments, sampling, saving."""

from noisyor.network.causes import Causes, Independent, Joint, Trait
from noisyor.network.covariates import Covariate, Effects
from noisyor.network.network import NoisyOrNetwork

__all__ = ["Causes", "Covariate", "Effects", "Independent", "Joint", "NoisyOrNetwork", "Trait"]
