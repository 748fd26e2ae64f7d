"""Identifiers for formats that take no other names: letters, digits and underscores."""

import re
from collections.abc import Iterable


def identifiers(names: Iterable[str]) -> list[str]:
    """Return a different identifier for each name, as like it as possible.

    >>> identifiers(["flu", "runny nose", "runny-nose", "3rd"])
    ['flu', 'runny_nose', 'runny_nose_2', 'n_3rd']
    """
    taken: set[str] = set()
    found = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        start = plain if re.match(r"[A-Za-z]", plain) else f"n_{plain}"
        identifier, number = start, 1
        # Compared without case: some readers fold it.
        while identifier.casefold() in taken:
            number += 1
            identifier = f"{start}_{number}"
        taken.add(identifier.casefold())
        found.append(identifier)
    return found
