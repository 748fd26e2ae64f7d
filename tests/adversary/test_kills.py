"""`noisyor count --resume`, killed again and again: nothing lost, nothing counted twice.

NOISYOR_KILLS says how many times `make test-all` kills it.
"""

import os
from collections import Counter

import pytest

from adversary.kills import Killing, Server, write_records

N_KILLS = int(os.environ.get("NOISYOR_KILLS", "1000"))


@pytest.mark.parametrize(
    "n_kills",
    [25, pytest.param(N_KILLS, marks=pytest.mark.slow)],
    ids=["some", "many"],
)
def test_kills(tmp_path, n_kills):
    write_records(tmp_path)
    seen = Counter()
    with Server() as server:
        killing = Killing(tmp_path, server)
        while killing.n_killed < n_kills:
            seen.update(killing.kill())
        killing.end()
    assert seen["resumed and killed"] > n_kills / 10, "kills hardly ever hit the counting"
