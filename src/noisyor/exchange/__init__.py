"""Networks and structures of other software: files of its formats, and its objects."""

from noisyor.exchange.formats import read_model, write_model
from noisyor.exchange.objects import from_pgmpy, from_pyagrum, to_pgmpy, to_pyagrum
from noisyor.exchange.uai import read_uai_case

__all__ = [
    "from_pgmpy",
    "from_pyagrum",
    "read_model",
    "read_uai_case",
    "to_pgmpy",
    "to_pyagrum",
    "write_model",
]
