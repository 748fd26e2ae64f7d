"""Parts of files: together they are the file, each knows its first row."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisyor.io import parts
from noisyor.io.columns import ColumnKind

VALUES = np.arange(2000)


def values_of(table):
    batches = table.batches({"value": ColumnKind.NUMBER})
    return [value for batch in batches for value in batch.column(0).to_pylist()]


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"record": VALUES, "value": VALUES.astype(float)})
    pq.write_table(table, path, row_group_size=300)
    return str(path)


def write_csv(path, line="\n", names="record,value"):
    path.write_bytes((names + line + "".join(f"{n},{n}{line}" for n in VALUES)).encode())
    return str(path)


def test_row_groups_are_parts(parquet):
    split = parts.split_file(parquet, "record")
    assert (split.id_type, split.column_names) == ("numbers", ("record", "value"))
    assert [part.n_rows for part in split.parts] == [300] * 6 + [200]
    for part in split.parts:
        table = part.open()
        assert table.first_row == part.first_row
        assert values_of(table) == VALUES[part.first_row :][: part.n_rows].tolist()
        assert table.location(1) == f"{parquet}, row {part.first_row + 2}"
    assert not parts.has_spans(split)


def test_row_groups_that_follow_each_other_are_read_as_one(parquet):
    first, second, third, *_ = parts.split_file(parquet, "record").parts
    (both,) = parts.joined([first, second])
    assert both.n_rows == 600
    assert values_of(both.open()) == VALUES[:600].tolist()
    assert len(parts.joined([first, third])) == 2
    other = second._replace(source="other.parquet")
    assert len(parts.joined([first, other])) == 2


@pytest.mark.parametrize("line", ["\n", "\r\n"])
@pytest.mark.parametrize("largest", [100, 1000, 1 << 20])
def test_spans_of_csv_are_the_whole_file(tmp_path, monkeypatch, line, largest):
    monkeypatch.setattr(parts, "LARGEST_SPAN", largest)
    split = parts.split_file(write_csv(tmp_path / "a.csv", line), "record")
    assert parts.has_spans(split) == (largest < 1 << 20)
    if parts.has_spans(split):
        scanned = [parts.scan_span(part) for part in split.parts]
        split = parts.with_rows(split, scanned)
    assert [v for part in split.parts for v in values_of(part.open())] == VALUES.tolist()
    assert sum(map(parts.count_rows, split.parts)) == len(VALUES)
    last = split.parts[-1]
    assert last.open().location(0) == f"{split.source}, line {last.first_row + 2}"


def test_files_that_cannot_be_cut_are_one_part(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "LARGEST_SPAN", 100)
    quoted = write_csv(tmp_path / "a.csv", names='"rec\nord",value')
    assert parts.split_file(quoted, "record").parts == [parts.Part(quoted)]
    inner = tmp_path / "b.csv"
    inner.write_text("record,value\n" + '"1\n2",3\n' * 100)
    split = parts.split_file(str(inner), "record")
    assert parts.has_spans(split)
    scanned = [parts.scan_span(part) for part in split.parts]
    assert parts.with_rows(split, scanned).parts == [parts.Part(str(inner))]
    single = tmp_path / "c.csv"
    single.write_text("value\n" + "1\n" * 1000)
    assert parts.split_file(str(single), "record").parts == [parts.Part(str(single))]


def test_columns_are_read_as_they_stand(tmp_path, parquet):
    first = parts.split_file(parquet, "record").parts[0]
    read = parts.read_columns(first, ["record", "missing"])
    assert read.to_pydict() == {"record": VALUES[:300].tolist()}
    csv = parts.Part(write_csv(tmp_path / "a.csv"))
    assert parts.read_columns(csv, ["record"]).to_pydict()["record"][:2] == ["0", "1"]


def test_sources_are_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = parts.sources_of(["a.csv", "s3://bucket/b.csv"])
    assert found == [str(tmp_path / "a.csv"), "s3://bucket/b.csv"]
    assert parts.sources_of("a.csv") == [str(tmp_path / "a.csv")]
