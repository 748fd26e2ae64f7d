"""Work on a graphics card: whether there is one, who works, and kernels as the card runs them.

Like `cluster`, this room knows nothing of diseases: what runs on the card stands in the rooms of
the algorithms, in modules `*_on_card.py`.
"""

from noisyor.gpu.card import (
    DEVICES,
    Work,
    card_memory,
    card_name,
    check_device,
    check_device_name,
    is_full,
    is_simulated,
    n_multiprocessors,
    prefers_card,
    why_no_card,
)

__all__ = [
    "DEVICES",
    "Work",
    "card_memory",
    "card_name",
    "check_device",
    "check_device_name",
    "is_full",
    "is_simulated",
    "n_multiprocessors",
    "prefers_card",
    "why_no_card",
]
