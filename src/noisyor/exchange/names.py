"""The names that stand beside identifiers in a file."""

import warnings
from collections import Counter
from collections.abc import Sequence

from noisyor.errors import NoisyOrWarning


def names_or_identifiers(
    keys: Sequence[str], names: Sequence[str], kinds: Sequence[bool], source: str
) -> list[str]:
    """Return the names, and identifiers where there are none or where names do not differ.

    Names differ within a kind: a disease and a symptom may have the same one.
    """
    chosen = [name or key for key, name in zip(keys, names, strict=True)]
    count = Counter(zip(chosen, kinds, strict=True))
    repeated = {both for both, times in count.items() if times > 1}
    if repeated:
        name, kind = min(repeated)
        warnings.warn(
            f"{source}: {name!r} is the name of {count[name, kind]} nodes; their identifiers are "
            "taken instead.",
            NoisyOrWarning,
            stacklevel=2,
        )
    return [
        key if (name, kind) in repeated else name
        for key, name, kind in zip(keys, chosen, kinds, strict=True)
    ]
