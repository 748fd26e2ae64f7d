"""All readers on damaged files: a result or a `NoisyOrError`, within seconds.

Files that every reader reads, and ways to damage them: bits, bytes, lines, numbers, words.
"""

import functools
import time
import warnings

import numpy as np
import pyarrow.parquet as pq

from noisyor import (
    Findings,
    Fixed,
    MomentPlan,
    Moments,
    NoisyOrLearner,
    NoisyOrNetwork,
    Schedule,
    Structure,
    count_moments,
    datasets,
    evaluate_diagnoses,
    find_schedule,
    read_model,
    write_model,
)
from noisyor.errors import NoisyOrError, NoisyOrWarning
from noisyor.findings import check_records
from noisyor.io.columns import ColumnKind
from noisyor.io.tables import open_table
from noisyor.parameters import read_parameter_flags, read_standard_errors
from noisyor.report.content import content_of
from noisyor.report.page import page_of

STRUCTURE = datasets.clinic().structure
PLAN = MomentPlan.coupled(STRUCTURE)
SECONDS = 5.0
"""Within which a damaged file must be read or refused."""
LONGEST_MESSAGE = 3000

SPICE = (
    b"\0", b"\xff", b'"', b"'", b",", b";", b"\n", b"\r", b"\t", b"{", b"}", b"[", b"]", b"<", b">",
    b"nan", b"inf", b"-1", b"1e999", b"9" * 400, b"0.5.5", b"\xe2\x80\xae", b"\x1b[2J", b"&amp;",
    b"null", b"true", b"-", b"+", b"=1+1", b"\xed\xa0\x80", b"/*", b"*/", b"//", b"property ",
)  # fmt: skip


def write_corpus(folder):
    """Write a good file for each reader."""
    network = datasets.clinic()
    structure, records = network.structure, network.sample(60, rng=0)
    network.save(folder / "network.json")
    structure.save(folder / "structure.json")
    find_schedule(structure).save(folder / "schedule.json")
    small = datasets.figure1(rng=0)
    for ending in ("xdsl", "bif", "uai"):
        write_model(small, folder / f"small.{ending}")
    write_model(structure, folder / "q.csv", "q-matrix")
    structure.to_csv(folder / "edges.csv")
    records.to_csv(folder / "wide.csv")
    records.to_parquet(folder / "wide.parquet")
    records.to_csv(folder / "long.csv", layout="long")
    pq.write_table(pq.read_table(folder / "wide.parquet"), folder / "plain.parquet")
    plan = MomentPlan.coupled(structure)
    plan.save(folder / "a.plan")
    moments = count_moments(records, plan, n_groups=2)
    moments.save(folder / "a.moments")
    learned().save_summary(folder / "summary.csv")
    records, diseases = network.sample(60, rng=0, return_diseases=True)
    evaluate_diagnoses(network, records, diseases).save(folder / "evaluation.json")


@functools.cache
def warm_up():
    """Compile what reading and counting need: that is not to be timed."""
    network = datasets.clinic()
    n = 5000
    rows = network.sample(n, rng=0).to_numpy().astype(float)
    plan = MomentPlan.coupled(network.structure) | find_schedule(network.structure).plan()
    for unknown in (False, True):
        rows[::7, ::3] = np.nan if unknown else rows[::7, ::3]
        for ids in (None, list(range(n)), [f"r{i}" for i in range(n)]):
            findings = Findings.from_numpy(rows, network.structure, record_ids=ids)
            count_moments(findings, plan, n_groups=2, n_jobs=1)


@functools.cache
def learned():
    """What is learned from the records of the corpus."""
    network = datasets.clinic()
    learner = NoisyOrLearner(network.structure, method="pooled")
    return learner.fit(network.sample(60, rng=0)).estimate_


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
    "evaluation.json": [lambda path: page_of(content_of(datasets.clinic(), evaluation=path))],
    "summary.csv": [
        lambda path: Fixed.load(path, STRUCTURE),
        lambda path: read_standard_errors(path, STRUCTURE),
        lambda path: read_parameter_flags(path, STRUCTURE),
        lambda path: content_of(learned().network, errors=path),
    ],
}


@functools.cache
def corpus(folder):
    """Write the good files and read them, so that all is compiled; return what they hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyOrWarning)
        write_corpus(folder)
        warm_up()
        for name, readers in READERS.items():
            for reader in readers:
                reader(folder / name)
    return {name: (folder / name).read_bytes() for name in READERS}


def damage(name, content, folder, rng):
    """Read a damaged file with each of its readers; keep it where it breaks one.

    Return of each reader whether it has read the file or refused it.
    """
    path, damaged = folder / name, mutated(content, rng)
    path.write_bytes(damaged)
    outcomes = []
    try:
        for reader in READERS[name]:
            start = time.monotonic()
            said = refusal(reader, path)
            outcomes.append("refused" if said else "read")
            assert time.monotonic() - start < SECONDS, "too slow"
            assert len(said) < LONGEST_MESSAGE, said
    except BaseException:
        (folder / f"breaks-{name}").write_bytes(damaged)
        raise
    return outcomes


def refusal(reader, path):
    """Return the sentence in which a reader refuses a file, or nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisyOrWarning)
            reader(path)
    except NoisyOrError as error:
        return str(error)
    return ""


def mutated(content, rng):
    """Return bytes with one to four things wrong."""
    found = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        MUTATIONS[int(rng.integers(len(MUTATIONS)))](found, rng)
    return bytes(found)


def _at(found, rng):
    return int(rng.integers(0, len(found) + 1))


def _flip(found, rng):
    if found:
        found[int(rng.integers(len(found)))] ^= 1 << int(rng.integers(8))


def _overwrite(found, rng):
    at = _at(found, rng)
    found[at : at + int(rng.integers(1, 9))] = rng.bytes(int(rng.integers(1, 9)))


def _cut(found, rng):
    del found[_at(found, rng) :]


def _remove(found, rng):
    at = _at(found, rng)
    del found[at : at + int(rng.integers(1, 40))]


def _repeat(found, rng):
    at, n = _at(found, rng), int(rng.integers(1, 200))
    found[at:at] = found[at : at + n] * int(rng.integers(1, 20))


def _spice(found, rng):
    at = _at(found, rng)
    found[at:at] = SPICE[int(rng.integers(len(SPICE)))]


def _swap_lines(found, rng):
    lines = bytes(found).split(b"\n")
    i, j = rng.integers(0, len(lines), 2)
    lines[i], lines[j] = lines[j], lines[i]
    found[:] = b"\n".join(lines)


def _change_number(found, rng):
    digits = [at for at, byte in enumerate(found) if 48 <= byte <= 57]
    if digits:
        at = digits[int(rng.integers(len(digits)))]
        found[at : at + 1] = (b"0", b"1", b"-1", b"7e7", b"99999999999999999999", b".")[
            int(rng.integers(6))
        ]


MUTATIONS = (
    _flip, _overwrite, _cut, _remove, _repeat, _spice, _spice, _swap_lines, _change_number,
)  # fmt: skip
