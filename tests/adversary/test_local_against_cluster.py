"""Odd files, read on one machine and in parts on a cluster: equal counts, or the same refusal."""

import re
import warnings
from collections import Counter

import numpy as np
import pytest

from adversary.odd_files import write_odd_file
from clusters import HereCluster
from noisyor import MomentPlan, Structure, count_moments
from noisyor.errors import NoisyOrError, NoisyOrWarning
from noisyor.findings import cluster_reading
from noisyor.findings.cluster_reading import split_records
from noisyor.findings.reading import RecordFormat
from noisyor.io import parts
from noisyor.moments import counting
from noisyor.moments.counting import CountRequest, count_on_cluster

STRUCTURE = Structure.from_edges(
    [("flu", "fever"), ("flu", "cough"), ("cold", "cough"), ("cold", "ache")]
)
PLAN = MomentPlan.all_pairs(STRUCTURE)
N_GROUPS = 5


def on_one_machine(files, options):
    return count_moments(files, PLAN, n_groups=N_GROUPS, n_jobs=1, **options)


def on_a_cluster(files, options):
    form = RecordFormat(**options)
    records = split_records(HereCluster(), files, STRUCTURE, form)
    return count_on_cluster(records, CountRequest(PLAN, form, N_GROUPS))


def outcome(count, files, options):
    """Return the moments or the refusal, and what was told besides."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = count(files, options)
        except NoisyOrError as error:
            found = type(error).__name__, without_location(str(error))
    assert {each.category for each in told} <= {NoisyOrWarning}
    return found, sorted(str(each.message) for each in told)


def without_location(message):
    """Where several rows are wrong, either of them may be named."""
    return re.sub(r", (line|row) \d+(, column '.*?')?", "", message)


def compare(folder, rng, number, seen):
    n_files = rng.choice([1, 1, 2])
    files = [write_odd_file(folder, rng, f"{number}-{each}") for each in range(n_files)]
    options = {"ignore_unknown": bool(rng.random() < 0.3)}
    if rng.random() < 0.2:
        options["ids_per_file"] = True
    (here, told_here), (there, told_there) = (
        outcome(count, files, options) for count in (on_one_machine, on_a_cluster)
    )
    if isinstance(here, tuple) and isinstance(there, tuple):
        seen["refused"] += 1
        # A file with two faults may be refused for either, whichever is met first.
        seen["refused in other words"] += here != there
    else:
        assert here == there, (number, files, options)
        seen["counted"] += 1
    is_grouped = any("do not stand together" in each for each in told_here)
    if not isinstance(here, tuple) and not is_grouped:  # which a cluster does anyway
        assert told_here == told_there, (number, files, options)
    for path in files:
        path.unlink()


def compare_many(folder, rng, n):
    seen = Counter()
    for number in range(n):
        compare(folder, rng, number, seen)
    return seen


@pytest.fixture
def tiny(monkeypatch, rng):
    """Spans of some bytes, jobs and buckets of some rows."""
    monkeypatch.setattr(parts, "LARGEST_SPAN", int(rng.integers(5, 150)))
    monkeypatch.setattr(cluster_reading, "FEWEST_ROWS", 8)
    monkeypatch.setattr(cluster_reading, "GUESSED_ROWS", 40)
    monkeypatch.setattr(counting, "ROWS_OF_BUCKET", 16)


@pytest.mark.parametrize(
    "n_files", [200, pytest.param(2000, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_odd_files_are_counted_alike_or_refused_alike(tmp_path, rng, tiny, n_files):
    seen = compare_many(tmp_path, rng, n_files)
    assert min(seen["counted"], seen["refused"]) > n_files / 10, seen
    assert seen["refused in other words"] < n_files / 20, seen


def test_lines_that_are_taken_for_rows_would_be_noticed(tmp_path, tiny, monkeypatch):
    """The comparison can fail: so it does, when files are cut wherever a line ends."""
    monkeypatch.setattr(parts, "are_lines_rows", lambda *_: True)
    rng = np.random.default_rng(0)
    with pytest.raises(AssertionError):
        compare_many(tmp_path, rng, 300)
