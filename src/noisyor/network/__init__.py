"""A structure with its parameters: exact moments, sampling, saving."""

from noisyor.network.network import NoisyOrNetwork

__all__ = ["NoisyOrNetwork"]
