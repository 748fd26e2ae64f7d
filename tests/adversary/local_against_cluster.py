"""Odd files, read on one machine and in parts on a cluster: equal counts, or the same refusal."""

import contextlib
import re
import warnings
from unittest import mock

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


def compare(folder, rng, number):
    """Count odd files here and there; say what came of it."""
    n_files = rng.choice([1, 1, 2])
    files = [write_odd_file(folder, rng, f"{number}-{each}") for each in range(n_files)]
    options = {"ignore_unknown": bool(rng.random() < 0.3)}
    if rng.random() < 0.2:
        options["ids_per_file"] = True
    (here, told_here), (there, told_there) = (
        outcome(count, files, options) for count in (on_one_machine, on_a_cluster)
    )
    if isinstance(here, tuple) and isinstance(there, tuple):
        # A file with two faults may be refused for either, whichever is met first.
        said = "refused" if here == there else "refused in other words"
    else:
        assert here == there, (number, files, options)
        said = "counted"
    is_grouped = any("do not stand together" in each for each in told_here)
    if not isinstance(here, tuple) and not is_grouped:  # which a cluster does anyway
        assert told_here == told_there, (number, files, options)
    for path in files:
        path.unlink()
    return [said]


@contextlib.contextmanager
def tiny_parts(rng):
    """Have spans of some bytes, jobs and buckets of some rows."""
    sizes = [
        (parts, "LARGEST_SPAN", int(rng.integers(5, 150))),
        (cluster_reading, "FEWEST_ROWS", 8),
        (cluster_reading, "GUESSED_ROWS", 40),
        (counting, "ROWS_OF_BUCKET", 16),
    ]
    with contextlib.ExitStack() as stack:
        for size in sizes:
            stack.enter_context(mock.patch.object(*size))
        yield
