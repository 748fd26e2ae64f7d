"""Which of a binary node's two states means present."""

from collections.abc import Sequence

from noisyor.errors import ExchangeError

PRESENT = ("present", "true", "yes", "1")
ABSENT = ("absent", "false", "no", "0")


def present_state(states: Sequence[str], place: str, name: str) -> int:
    """Return the number of the state that means present, told by the states' names.

    >>> present_state(["No", "Yes"], "the example", "fever")
    1
    """
    check_binary(states, place, name)
    found = present_by_name(states)
    if found is None:
        known = ", ".join(f"{yes}/{no}" for yes, no in zip(PRESENT, ABSENT, strict=True))
        raise ExchangeError(
            f"{place}: node {name!r} has the states {states[0]!r} and {states[1]!r}; which of them "
            f"means present? Rename them to one of {known}."
        )
    return found


def present_by_name(states: Sequence[str]) -> int | None:
    """Return the number of the state whose name means present, or None where names do not tell."""
    folded = [state.strip().casefold() for state in states]
    for number in range(2):
        if (folded[number], folded[1 - number]) in zip(PRESENT, ABSENT, strict=True):
            return number
    return None


def check_binary(states: Sequence[str], place: str, name: str) -> None:
    """Raise an error unless there are two states."""
    if len(states) != 2:
        raise ExchangeError(
            f"{place}: node {name!r} has {len(states)} states; nodes of a noisy-or network have "
            "two, present and absent."
        )
