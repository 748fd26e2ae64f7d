"""Files that are not there, cannot be written, or must not be left half-written."""

import pyarrow.parquet as pq
import pytest

from noisyor import (
    NoisyOrError,
    NoisyOrNetwork,
    Structure,
    datasets,
)


def test_what_is_no_file(tmp_path):
    for path, message in (
        (tmp_path, "is a directory; give a file"),
        (tmp_path / "none.csv", "none.csv does not exist"),
        ("a\0b.csv", "does not exist"),
    ):
        for read in Structure.from_csv, Structure.load, NoisyOrNetwork.load:
            with pytest.raises(NoisyOrError, match=message):
                read(path)
    (tmp_path / "edges.ods").write_text("x")
    with pytest.raises(NoisyOrError, match=r"edges.ods: unknown kind of file; use \.csv"):
        Structure.from_csv(tmp_path / "edges.ods")
    with pytest.raises(NoisyOrError, match="is not a directory with edges.csv"):
        datasets.from_folder(tmp_path / "none")


def test_writing_where_it_cannot_be(tmp_path):
    network = datasets.figure1(0)
    findings = network.sample(10, rng=0)
    for write in network.save, findings.to_parquet, findings.to_csv, network.structure.to_csv:
        with pytest.raises(NoisyOrError, match="is a directory; give a file to write"):
            write(tmp_path)
        with pytest.raises(NoisyOrError, match="the directory .*none does not exist"):
            write(tmp_path / "none" / "file.x")


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    target = tmp_path / "records.parquet"
    target.write_text("the old content")
    findings = datasets.clinic().sample(100, rng=0)

    def break_down(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", break_down)
    with pytest.raises(NoisyOrError, match="records.parquet cannot be written: No space left"):
        findings.to_parquet(target)
    assert target.read_text() == "the old content"
    assert list(tmp_path.iterdir()) == [target]


def test_nothing_half_written_is_left_by_ctrl_c(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", interrupt)
    with pytest.raises(KeyboardInterrupt):
        datasets.clinic().sample(100, rng=0).to_parquet(tmp_path / "records.parquet")
    assert list(tmp_path.iterdir()) == []
