"""What holds for wide and long records alike: how they are told apart, and that they stream."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from noisyor import Findings, NoisyOrError, Structure
from noisyor.findings.findings import open_records
from noisyor.findings.reading import RecordFormat, total_records

STRUCTURE = Structure.from_edges([("A", letter) for letter in "abcde"])


def test_wide_and_long_files_do_not_mix(tmp_path):
    (tmp_path / "long.csv").write_text("record,symptom\n1,a\n")
    (tmp_path / "wide.csv").write_text("a,b,c,d,e\n1,0,0,0,0\n")
    with pytest.raises(NoisyOrError, match=r"long.csv is long .*wide.csv is wide"):
        Findings.read([tmp_path / "long.csv", tmp_path / "wide.csv"], STRUCTURE)


@pytest.mark.slow
def test_streaming_takes_less_memory_than_the_findings(tmp_path):
    """A process of its own reads 4 million records, unsorted, whose findings take 1 GB."""
    n_records = 4_000_000
    rng = np.random.default_rng(0)
    structure = Structure.from_matrix(np.ones((1, 2000)))
    structure.save(tmp_path / "structure.json")
    ids = np.repeat(rng.permutation(n_records), 2)
    table = pa.table({"record": ids, "symptom": rng.integers(0, 2000, len(ids))})
    pq.write_table(table, tmp_path / "records.parquet", row_group_size=1 << 20)
    script = (
        "import re, sys\n"
        "from noisyor import Findings, Structure\n"
        "structure = Structure.load(sys.argv[1])\n"
        "n = sum(len(block) for block in Findings.iter_blocks(sys.argv[2], structure))\n"
        # Not `ru_maxrss`, which begins with what the process that started this one had.
        "print(n, re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    paths = [str(tmp_path / "structure.json"), str(tmp_path / "records.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", script, *paths], capture_output=True, text=True, check=True
    )
    counted, kilobytes = map(int, done.stdout.split())
    assert counted == n_records
    assert kilobytes < 700_000


def test_options_that_differ_from_the_defaults_are_named():
    assert RecordFormat().changed_options == []
    changed = RecordFormat(record="id", unmentioned="unknown", all_records=np.arange(3))
    assert changed.changed_options == ["record", "unmentioned", "all_records"]
    findings = Findings.from_numpy(np.zeros((2, 5)), STRUCTURE)
    with pytest.raises(NoisyOrError, match="need no options to read: 'record', 'unmentioned'"):
        Findings.read(findings, STRUCTURE, record="id", unmentioned="unknown")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "tall"}, "layout is 'auto', 'wide' or 'long', not 'tall'"),
        ({"unmentioned": "maybe"}, "unmentioned is 'absent' or 'unknown', not 'maybe'"),
        ({"block_records": 100}, "block_records must be a multiple of 64"),
        ({"n_records": True}, "n_records must be a whole number"),
        ({"n_records": 3, "all_records": [1, 2, 3]}, "n_records or all_records, not both"),
    ],
)
def test_a_format_is_checked_when_it_is_made(options, message):
    with pytest.raises(NoisyOrError, match=message):
        RecordFormat(**options)


def test_everything_can_be_read(tmp_path):
    """Findings, arrays, lists, sparse matrices, tables and files come through one function."""
    array = np.random.default_rng(0).random((130, 5)) < 0.4
    findings = Findings.from_numpy(array, STRUCTURE)
    findings.to_csv(tmp_path / "r.csv")
    sources = [
        findings, array, array.astype(int).tolist(), scipy.sparse.csr_array(array),
        findings.to_arrow(), findings.to_arrow(layout="long"), tmp_path / "r.csv",
        str(tmp_path / "r.csv"), [tmp_path / "r.csv"],
    ]  # fmt: skip
    for source in sources:
        streams = open_records(source, STRUCTURE, RecordFormat())
        assert total_records(streams) in (130, None)
        assert sum(block.n_records for stream in streams for block in stream.blocks) == 130
        assert Findings.read(source, STRUCTURE) == findings


def test_a_column_that_is_not_there_is_told_with_those_of_the_file():
    wide = pa.table({"Patient ID": [1, 2], **{name: [0, 1] for name in STRUCTURE.symptoms}})
    listed = ", ".join(repr(name) for name in wide.column_names)
    message = rf"no column 'Patinet' \(--record\); did you mean 'Patient ID'\? .* are {listed}\."
    with pytest.raises(NoisyOrError, match=message):
        Findings.read(wide, STRUCTURE, record="Patinet")
    long = pa.table({"record": [1], "symptom": [STRUCTURE.symptoms[0]]})
    with pytest.raises(NoisyOrError, match=r"'Reslt' \(--state\)\. .* are 'record', 'symptom'\."):
        Findings.read(long, STRUCTURE, state="Reslt")
