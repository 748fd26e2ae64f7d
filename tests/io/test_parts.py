"""Parts of files: together they are the file, each knows its first row."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisyor.errors import ChangedFileError, FileError
from noisyor.io import parts
from noisyor.io.columns import ColumnKind
from noisyor.io.manifest import state_of

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
    split, table = parts.split_file(parquet, 3)
    assert table.column_names == ("record", "value")
    assert {part.file_number for part in split.parts} == {3}
    assert [part.n_rows for part in split.parts] == [300] * 6 + [200]
    for part in split.parts:
        table = part.open()
        assert table.first_row == part.first_row
        assert values_of(table) == VALUES[part.first_row :][: part.n_rows].tolist()
        assert table.location(1) == f"{parquet}, row {part.first_row + 2}"
    assert not parts.has_spans(split)


def test_row_groups_that_follow_each_other_are_read_as_one(parquet):
    first, second, third, *_ = parts.split_file(parquet)[0].parts
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
    split, _ = parts.split_file(write_csv(tmp_path / "a.csv", line))
    assert parts.has_spans(split) == (largest < 1 << 20)
    if parts.has_spans(split):
        scanned = [parts.scan_span(part) for part in split.parts]
        split = parts.with_rows(split, scanned)
    assert [v for part in split.parts for v in values_of(part.open())] == VALUES.tolist()
    assert sum(map(parts.count_rows, split.parts)) == len(VALUES)
    last = split.parts[-1]
    assert last.open().location(0) == f"{split.source}, line {last.first_row + 2}"


def is_whole(path):
    split = parts.split_file(str(path))[0]
    if parts.has_spans(split):
        split = parts.with_rows(split, [parts.scan_span(part) for part in split.parts])
    return split.parts == [parts.Part(str(path), state=state_of(path))]


@pytest.mark.parametrize(
    "content",
    [
        '"rec\nord",value\n' + "1,2\n" * 100,  # a name with an end of line
        "record,value\n" + '"1\n2",3\n' * 100,  # a value with one
        'record,value\nx"y,"\n' + '","q"\n' * 100,  # quotes are even on each line, but no pairs
        "value\n" + "1\n" * 1000,  # in one column an empty line is a row
        "record,value\r0,1\n" + "1,2\n" * 100,  # the names end in a carriage return alone
        "record,value\n" + "1,2\n" * 50 + "3,4\r" + "5,6\n" * 50,
        "record§value\n" + 'sep§"1"\n' * 100,
    ],
)
def test_files_whose_lines_are_not_rows_are_one_part(tmp_path, monkeypatch, content):
    monkeypatch.setattr(parts, "LARGEST_SPAN", 100)
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    assert is_whole(path)


def test_quotes_around_values_do_not_keep_a_file_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "LARGEST_SPAN", 100)
    path = tmp_path / "a.csv"
    path.write_bytes(b'"record","value"\r\n' + b'"a ""b"", c",1\r\n' * 100)
    assert not is_whole(path)
    path.write_bytes(b'sep=;\n"record";"value"\n' + b'"a ""b"", c";1\n' * 100)
    assert not is_whole(path)
    compressed = tmp_path / "a.csv.gz"
    compressed.write_bytes(gzip.compress(path.read_bytes() * 100))
    assert is_whole(compressed)


def test_a_part_of_a_file_that_was_changed_is_not_opened(tmp_path, parquet):
    part = parts.split_file(parquet)[0].parts[1]
    assert part.open().n_rows == 300
    table = pa.table({"record": VALUES, "value": VALUES + 0.5})
    pq.write_table(table, parquet, row_group_size=300)
    with pytest.raises(ChangedFileError, match=r"a\.parquet was changed"):
        part.open()


def test_signs_in_a_part_are_understood_as_in_the_whole_file(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "LARGEST_SPAN", 40)
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "-,-\n" * 50 + "+,-\n")
    split = parts.split_file(str(path))[0]
    split = parts.with_rows(split, [parts.scan_span(part) for part in split.parts])
    assert len(split.parts) > 3
    kinds = {"a": ColumnKind.FLAG, "b": ColumnKind.FLAG}
    rows = [batch.num_rows for part in split.parts for batch in part.open().batches(kinds)]
    assert sum(rows) == 51
    path.write_text("a,b\n" + "-,-\n" * 51)
    part = split.parts[1]._replace(state=None)
    with pytest.raises(FileError, match=rf"a\.csv, line {part.first_row + 2}.*'-' can mean absent"):
        list(part.open().batches(kinds))


def test_sources_are_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = parts.sources_of(["a.csv", "s3://bucket/b.csv"])
    assert found == [str(tmp_path / "a.csv"), "s3://bucket/b.csv"]
    assert parts.sources_of("a.csv") == [str(tmp_path / "a.csv")]
