"""Polishing an estimate on the records themselves: stochastic EM."""
