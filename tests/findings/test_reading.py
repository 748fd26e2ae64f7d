"""What holds for wide and long records alike: how they are told apart, and that they stream."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from noisyor import Findings, NoisyOrError, Structure

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
        "import sys, resource\n"
        "from noisyor import Findings, Structure\n"
        "structure = Structure.load(sys.argv[1])\n"
        "n = sum(len(block) for block in Findings.iter_blocks(sys.argv[2], structure))\n"
        "print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    paths = [str(tmp_path / "structure.json"), str(tmp_path / "records.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", script, *paths], capture_output=True, text=True, check=True
    )
    counted, kilobytes = map(int, done.stdout.split())
    assert counted == n_records
    assert kilobytes < 700_000
