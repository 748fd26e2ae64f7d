"""Tables of any kind: damaged files, streams, columns of flags."""

import gzip
import warnings

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

from noisyor import (
    Findings,
    NoisyOrError,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    datasets,
)
from noisyor.io.tables import harmless

STRUCTURE = Structure.from_edges([("flu", "fever"), ("flu", "cough"), ("cold", "cough")])
LETTERS = Structure.from_edges([("A", letter) for letter in "abcde"])


WIDE = "fever,cough\n1,0\n0,1\n"


@pytest.mark.parametrize("keep", [0.0, 0.01, 0.5, 0.99])
def test_truncated_files(tmp_path, keep):
    network = datasets.clinic()
    network.save(tmp_path / "network.json")
    network.sample(500, rng=0).to_parquet(tmp_path / "records.parquet")
    (tmp_path / "records.csv.gz").write_bytes(gzip.compress(WIDE.encode() * 1))
    for name, read in (
        ("network.json", NoisyOrNetwork.load),
        ("records.parquet", lambda path: Findings.read(path, network.structure)),
        ("records.csv.gz", lambda path: Findings.read(path, STRUCTURE)),
    ):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[: int(len(content) * keep)])
        with pytest.raises(NoisyOrError, match=name):
            read(tmp_path / name)


def test_a_parquet_file_that_is_something_else(tmp_path):
    (tmp_path / "records.parquet").write_text(WIDE)
    with pytest.raises(NoisyOrError, match="records.parquet is not a readable Parquet file"):
        Findings.read(tmp_path / "records.parquet", STRUCTURE)


def test_a_full_disk_for_temporary_files_says_how_to_move_them(tmp_path, monkeypatch):
    import tempfile

    def no_room(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", no_room)
    reader = pa.table({"fever": [1], "cough": [0]}).to_reader()
    with pytest.raises(NoisyOrError, match="Set the environment variable TMPDIR"):
        Findings.read(reader, STRUCTURE)


class Once:
    """A stream of Arrow batches that can be read only once."""

    def __init__(self, table):
        self._reader = table.to_reader()

    def __arrow_c_stream__(self, requested_schema=None):
        return self._reader.__arrow_c_stream__(requested_schema)


def test_streams_that_come_only_once_or_in_another_order():
    table = pa.table({"record": [3, 1, 2], "symptom": ["a", "b", "c"]})
    assert Findings.read(Once(table), LETTERS).record_ids.to_pylist() == [3, 1, 2]
    with duckdb.connect() as connection:
        big = pa.table({"record": np.repeat(np.arange(300), 3), "symptom": ["a", "b", "c"] * 300})
        connection.register("big", big)
        for _ in range(5):
            relation = connection.sql(
                "select * from (select * from big using sample 40 rows) order by random()"
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoisyOrWarning)
                ids = Findings.read(relation, LETTERS).record_ids.to_pylist()
            assert len(set(ids)) == len(ids)


def test_ids_in_the_index_of_a_pandas_frame_are_ids():
    for ids in [1, 2, 3], [7, 8, 10]:
        frame = pd.DataFrame({"record": ids, **{letter: [1, 0, 1] for letter in "abcde"}})
        findings = Findings.read(frame.set_index("record"), LETTERS)
        assert findings.record_ids.to_pylist() == ids
        long_frame = pd.DataFrame({"record": ids, "symptom": ["a", "b", "c"]}).set_index("record")
        assert Findings.read(long_frame, LETTERS).record_ids.to_pylist() == ids


def test_numbers_and_texts_in_one_column_of_pandas_are_texts():
    frame = pd.DataFrame({"record": [1, "A2", "x"], **{letter: [1, 0, "?"] for letter in "abcde"}})
    findings = Findings.read(frame, LETTERS, values={"?": "unknown"})
    assert findings.record_ids.to_pylist() == ["1", "A2", "x"]
    assert findings.count_unknown().tolist() == [1] * 5


def test_an_unnamed_index_of_pandas_in_parquet_is_no_column(tmp_path):
    frame = pd.DataFrame(np.eye(5, dtype=int), columns=list("abcde")).sample(frac=1, random_state=0)
    frame.to_parquet(tmp_path / "records.parquet")
    findings = Findings.read(tmp_path / "records.parquet", LETTERS)
    assert np.array_equal(findings.to_numpy(), frame.to_numpy())


@pytest.mark.slow
def test_a_frame_of_too_many_columns_is_refused_with_a_reason():
    columns = 100_001
    frame = pd.DataFrame(np.zeros((1, columns)), columns=[f"c{i}" for i in range(columns)])
    with pytest.raises(NoisyOrError, match=r"100,001 columns; .* up to 100,000. Write .* long"):
        Findings.read(frame, Structure(["d"], ["c0"], [[0, 0]]), ignore_unknown=True)


def test_texts_like_formulas_are_made_harmless_and_stay_different():
    texts = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "'=1+1", "''=1+1", "a=b", "'a", "", None]
    schema, batches = harmless(pa.schema({"=n": pa.string(), "x": pa.float64()}), [
        pa.record_batch({"=n": texts, "x": [-1.0] * len(texts)})
    ])  # fmt: skip
    assert schema.names == ["'=n", "x"]
    (batch,) = batches
    found = batch.column(0).to_pylist()
    assert found[:8] == [f"'{text}" for text in texts[:8]]
    assert found[8:] == texts[8:]
    assert batch.column(1).to_pylist() == [-1.0] * len(texts)
    assert len(set(found)) == len(texts)
