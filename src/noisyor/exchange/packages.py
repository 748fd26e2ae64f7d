"""Other packages, imported when they are needed, and the names they can take."""

import importlib
from typing import Any

from noisyor.errors import ExchangeError, some_of
from noisyor.structure import Structure


def imported(package: str) -> Any:
    """Import a package that noisyor does not need, or say how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        top = package.partition(".")[0]
        raise ExchangeError(
            f"{top} cannot be imported ({error}); install it with: pip install {top}"
        ) from None


def check_distinct(structure: Structure, software: str) -> None:
    """Raise an error where a disease and a symptom have the same name."""
    both = sorted(set(structure.diseases) & set(structure.symptoms))
    if both:
        raise ExchangeError(
            f"{some_of(both)} is the name of a disease and of a symptom; nodes of {software} need "
            "different names."
        )
