"""Records written to files, and read back."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from conftest import random_records
from noisyor import Findings, NoisyOrError, Structure

STRUCTURE = Structure.from_edges([("A", letter) for letter in "abcde"])


@pytest.mark.parametrize("layout", ["wide", "long"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("unknown", [0.0, 0.2])
@pytest.mark.parametrize("n_records", [0, 1, 100, 20_000])
def test_files_there_and_back(tmp_path, layout, kind, unknown, n_records):
    records = random_records(np.random.default_rng(n_records), n_records, 5, unknown)
    findings = Findings.from_numpy(records, STRUCTURE)
    path = tmp_path / f"records.{kind}"
    write = findings.to_csv if kind == "csv" else findings.to_parquet
    write(path, layout=layout)
    assert Findings.read(path, STRUCTURE) == findings
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    blocks = list(Findings.iter_blocks(path, STRUCTURE))
    assert sum(len(block) for block in blocks) == n_records
    assert all(len(block.blocks) == 1 for block in blocks)


def test_records_without_ids_are_not_written_long():
    table = pa.table({"record": [1], "symptom": ["a"]})
    findings = Findings.read(table, STRUCTURE, n_records=3)
    with pytest.raises(NoisyOrError, match="some records have no id"):
        findings.to_arrow(layout="long")


def test_many_blocks_become_one_row_group(tmp_path, monkeypatch):
    from noisyor.findings import writing

    monkeypatch.setattr(writing, "ROW_GROUP_BLOCKS", 2)
    records = random_records(np.random.default_rng(0), 5 * 8192 + 1, 5, 0.1)
    findings = Findings.from_numpy(records, STRUCTURE)
    for layout in "wide", "long":
        findings.to_parquet(tmp_path / "records.parquet", layout=layout)
        assert pq.ParquetFile(tmp_path / "records.parquet").num_row_groups == 3
        assert Findings.read(tmp_path / "records.parquet", STRUCTURE) == findings
