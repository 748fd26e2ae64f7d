"""What functions of this room refuse."""

from typing import Any

from noisyor.errors import ParameterError, quoted
from noisyor.network import NoisyOrNetwork


def check_level(level: Any) -> None:
    """Refuse what is not between 0 and 1."""
    if not is_number(level) or not 0.0 < level < 1.0:
        raise ParameterError(f"level must lie between 0 and 1, not {quoted(level)}.")


def check_network(network: Any) -> None:
    """Refuse what is not a network."""
    if not isinstance(network, NoisyOrNetwork):
        raise ParameterError(f"expected a NoisyOrNetwork, not {type(network).__name__}.")


def check_settings(settings: Any, kind: type) -> None:
    """Refuse settings of another kind."""
    if not isinstance(settings, kind):
        raise ParameterError(
            f"settings must be {kind.__name__}(...), not {type(settings).__name__}."
        )


def is_number(value: Any) -> bool:
    """Return True for numbers; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
