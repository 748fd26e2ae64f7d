"""All readers on damaged files: a result or a `NoisyOrError`, within seconds and little memory.

A few in every run; with NOISYOR_FUZZ=200000 as many in the slow test.
"""

import os
import resource
import time
import warnings

import pytest

from adversary.mutations import learned, mutated, warm_up, write_corpus
from noisyor import (
    Fixed,
    MomentPlan,
    Moments,
    NoisyOrNetwork,
    Schedule,
    Structure,
    count_moments,
    datasets,
    read_model,
)
from noisyor.errors import NoisyOrError, NoisyOrWarning
from noisyor.findings import check_records
from noisyor.io.columns import ColumnKind
from noisyor.io.tables import open_table
from noisyor.parameters import read_parameter_flags, read_standard_errors
from noisyor.report.content import content_of

STRUCTURE = datasets.clinic().structure
PLAN = MomentPlan.coupled(STRUCTURE)
SECONDS, GIGABYTES = 5.0, 1.0


def counted(path):
    return count_moments([path], PLAN, n_groups=2, n_jobs=1)


def cells(path):
    table = open_table(path)
    return [list(table.batches({name: ColumnKind.TEXT})) for name in table.column_names[:3]]


READERS = {
    "network.json": [NoisyOrNetwork.load, Structure.load, read_model],
    "structure.json": [Structure.load, read_model],
    "schedule.json": [Schedule.load],
    "small.xdsl": [read_model],
    "small.bif": [read_model],
    "small.uai": [read_model],
    "q.csv": [lambda path: read_model(path, "q-matrix"), cells],
    "edges.csv": [Structure.from_arrow, read_model],
    "wide.csv": [counted, lambda path: check_records(path, STRUCTURE)],
    "wide.parquet": [counted, cells],
    "plain.parquet": [counted],
    "long.csv": [counted, lambda path: check_records(path, STRUCTURE)],
    "a.plan": [MomentPlan.load],
    "a.moments": [Moments.load],
    "summary.csv": [
        lambda path: Fixed.load(path, STRUCTURE),
        lambda path: read_standard_errors(path, STRUCTURE),
        lambda path: read_parameter_flags(path, STRUCTURE),
        lambda path: content_of(learned().network, errors=path),
    ],
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyOrWarning)
        write_corpus(folder)
        warm_up()
        for name, readers in READERS.items():
            for reader in readers:
                reader(folder / name)
    return {name: (folder / name).read_bytes() for name in READERS}


def attack(name, content, folder, rng, n):
    """Read n damaged files with each reader; keep one that breaks it."""
    for _ in range(n):
        damaged = mutated(content, rng)
        path = folder / name
        path.write_bytes(damaged)
        for reader in READERS[name]:
            start = time.monotonic()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", NoisyOrWarning)
                    reader(path)
                said = ""
            except NoisyOrError as error:
                said = str(error)
            except BaseException:
                (folder / f"breaks-{name}").write_bytes(damaged)
                raise
            assert time.monotonic() - start < SECONDS
            assert len(said) < 3000


@pytest.mark.parametrize("name", READERS)
def test_good_files_are_read(corpus, name, tmp_path):
    """Each reader that is attacked reads the file that is undamaged."""
    path = tmp_path / name
    path.write_bytes(corpus[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyOrWarning)
        for reader in READERS[name]:
            reader(path)


@pytest.mark.parametrize("name", READERS)
def test_a_few_damaged_files(corpus, name, tmp_path, rng):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    attack(name, corpus[name], tmp_path, rng, 40)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < GIGABYTES * 1e6


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_damaged_files(corpus, name, tmp_path, rng):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    n = int(os.environ.get("NOISYOR_FUZZ", "15000")) // len(READERS)
    attack(name, corpus[name], tmp_path, rng, n)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < GIGABYTES * 1e6
