"""All readers on damaged files: a result or a `NoisyOrError`, within seconds and little memory.

A few in every run; with NOISYOR_FUZZ=200000 as many in the slow test.
"""

import os
import resource

import pytest

from adversary.mutations import READERS, corpus, damage, refusal

GIGABYTES = 1.0
N_FILES = int(os.environ.get("NOISYOR_FUZZ", "15000"))


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("name", READERS)
def test_good_files_are_read(good, name, tmp_path):
    """Each reader that is attacked reads the file that is undamaged."""
    path = tmp_path / name
    path.write_bytes(good[name])
    assert [refusal(reader, path) for reader in READERS[name]] == [""] * len(READERS[name])


@pytest.mark.parametrize(
    "n_files",
    [
        40 * len(READERS),
        pytest.param(N_FILES, marks=pytest.mark.slow),
    ],
    ids=["some", "many"],
)
@pytest.mark.parametrize("name", READERS)
def test_damaged_files(good, name, n_files, tmp_path, rng):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(n_files // len(READERS)):
        damage(name, good[name], tmp_path, rng)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < GIGABYTES * 1e6
