"""Identifiers for formats that take no other names: letters, digits and underscores."""

import re
from collections.abc import Iterable

RESERVED = frozenset(
    ["network", "variable", "probability", "property", "type", "discrete", "table", "default"]
)
"""Words of BIF's grammar."""


def identifiers(names: Iterable[str]) -> list[str]:
    """Return a different identifier for each name, as like it as possible.

    >>> identifiers(["flu", "runny nose", "runny-nose", "3rd"])
    ['flu', 'runny_nose', 'runny_nose_2', 'n_3rd']
    """
    taken: set[str] = set()
    found = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        is_fine = re.match(r"[A-Za-z]", plain) and plain.casefold() not in RESERVED
        start = plain if is_fine else f"n_{plain}"
        identifier, number = start, 1
        # Compared without case: some readers fold it.
        while identifier.casefold() in taken:
            number += 1
            identifier = f"{start}_{number}"
        taken.add(identifier.casefold())
        found.append(identifier)
    return found
