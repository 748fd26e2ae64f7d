"""Networks and structures of other software: files of its formats, and its objects."""

from noisyor.exchange.formats import read_model, write_model
from noisyor.exchange.pgmpy_models import from_pgmpy, to_pgmpy
from noisyor.exchange.pyagrum_models import from_pyagrum, to_pyagrum

__all__ = ["from_pgmpy", "from_pyagrum", "read_model", "to_pgmpy", "to_pyagrum", "write_model"]
