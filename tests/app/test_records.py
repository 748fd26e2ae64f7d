"""Case files: read by the reader of records, given back as cases, and gone."""

import base64
import os
from pathlib import Path

import numpy as np
import pytest

from noisyor import posterior
from noisyor.app import records


def packed(path):
    return base64.b64encode(Path(path).read_bytes()).decode()


@pytest.fixture
def findings(clinic):
    return clinic.sample(20, 4)


def states_of(case, n):
    row = np.full(n, 2)
    if "absent" in case:
        row[case["absent"]] = 0
    else:
        row[:] = 0
        row[case["unknown"]] = 2
    row[case["present"]] = 1
    return row


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_records_come_back_as_cases(ask, clinic, findings, tmp_path, ending, layout):
    path = tmp_path / f"records.{ending}"
    getattr(findings, f"to_{ending}")(path, layout=layout)
    answer = ask("records", name=path.name, content=packed(path))
    n = clinic.structure.n_symptoms
    rows = np.array([states_of(case, n) for case in answer["records"]])
    assert np.array_equal(rows, findings.to_numpy())


def test_unknown_findings_stay_unknown(ask, clinic, findings, tmp_path):
    path = tmp_path / "records.csv"
    findings.to_csv(path, layout="long")
    answer = ask("records", name="r.csv", content=packed(path), unmentioned="unknown")
    case = answer["records"][0]
    assert case["absent"] == []
    assert states_of(case, 60).max() == 2


def test_labels_are_joined_by_ids(ask, clinic, tmp_path):
    import pyarrow as pa
    import pyarrow.csv as pc

    findings, diseases = clinic.sample(10, 4, return_diseases=True)
    table = findings.to_arrow().append_column("record", pa.array(range(10)))
    pc.write_csv(table, tmp_path / "r.csv")
    names = clinic.structure.diseases
    order = np.arange(10)[::-1]
    columns = {"record": order} | dict(zip(names, diseases[order].T.astype(int), strict=True))
    pc.write_csv(pa.table(columns), tmp_path / "d.csv")
    answer = ask(
        "records", name="r.csv", content=packed(tmp_path / "r.csv"),
        labels_name="d.csv", labels=packed(tmp_path / "d.csv"),
    )  # fmt: skip
    for case, row in zip(answer["records"], diseases, strict=True):
        assert case["diseases"] == [names[i] for i in np.flatnonzero(row)]
    assert [case["record"] for case in answer["records"]] == [str(i) for i in range(10)]


def test_covariates_of_the_file_come_along(ask, aged, clinic, findings, tmp_path):
    import pyarrow as pa
    import pyarrow.csv as pc

    table = findings.to_arrow()
    table = table.append_column("age", pa.array([*range(40, 59), None]))
    table = table.append_column("sex", pa.array(["f", "m"] * 10))
    pc.write_csv(table, tmp_path / "r.csv")
    answer = ask("records", model="aged", name="r.csv", content=packed(tmp_path / "r.csv"))
    first, *_, last = answer["records"]
    assert first["covariates"] == {"age": 40.0, "sex": "f"}
    assert last["covariates"] == {"age": None, "sex": "m"}
    names = clinic.structure.symptoms
    states = states_of(first, len(names))
    case = {
        state: [names[j] for j in np.flatnonzero(states == code)]
        for state, code in (("present", 1), ("absent", 0))
    }
    found = ask("posterior", model="aged", **case, covariates=first["covariates"])
    expected = posterior(aged, **case, covariates={"age": 40, "sex": "f"})
    assert list(found["probabilities"].values()) == expected.probabilities.tolist()


def test_what_is_wrong_with_a_file_is_told_by_its_name(refused, findings, tmp_path):
    def of(text):
        return base64.b64encode(text.encode()).decode()

    assert "must end in .csv or .parquet" in refused("records", name="r.exe", content="")
    assert "not base64" in refused("records", name="r.csv", content="!")
    findings.to_csv(tmp_path / "r.csv")
    whole = {"name": "r.csv", "content": packed(tmp_path / "r.csv")}
    assert "needs 'labels_name'" in refused("records", **whole, labels="")
    assert "'d.csv'" in refused("records", **whole, labels=of("flu\n1\n"), labels_name="d.csv")
    for text in "fevr\n1\n", "fever,fever\n1,1\n", "fever\nperhaps\n", "":
        sentence = refused("records", name="mine.csv", content=of(text))
        assert "mine.csv" in sentence
        assert "/dev/shm" not in sentence
        assert "tmp" not in sentence
    assert "mine.parquet" in refused("records", name="mine.parquet", content=of("PAR1 not"))


def test_too_many_records_are_refused(refused, clinic, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MOST_RECORDS", 10)
    findings = clinic.sample(11, 0)
    for ending in "csv", "parquet":
        path = tmp_path / f"r.{ending}"
        getattr(findings, f"to_{ending}")(path)
        sentence = refused("records", name=path.name, content=packed(path))
        assert "more than 10 records" in sentence


def test_nothing_of_a_file_is_left(ask, refused, findings, tmp_path):
    place = (
        records.IN_MEMORY if records.IN_MEMORY.is_dir() else Path(os.environ.get("TMPDIR", "/tmp"))
    )
    path = tmp_path / "r.csv"
    findings.to_csv(path)
    before = set(place.glob("noisyor-*"))
    ask("records", name="r.csv", content=packed(path))
    refused("records", name="r.csv", content=base64.b64encode(b"nonsense\n1\n").decode())
    assert set(place.glob("noisyor-*")) == before


def test_notices_name_the_files_as_they_were_sent(ask, clinic, tmp_path):
    findings, diseases = clinic.sample(3, 5, return_diseases=True)
    findings.to_csv(tmp_path / "r.csv")
    rows = [list(clinic.structure.diseases), *diseases.astype(int).tolist()]
    text = "\n".join(",".join(map(str, row)) for row in rows)
    labels = base64.b64encode(text.encode()).decode()
    body = {"name": "r.csv", "content": packed(tmp_path / "r.csv")}
    answer = ask("records", **body, labels_name="seen.csv", labels=labels)
    assert "'seen.csv' has no column of ids" in answer["notices"][0]
    empty = base64.b64encode((",".join(clinic.structure.symptoms) + "\n").encode()).decode()
    [notice] = ask("records", name="none.csv", content=empty)["notices"]
    assert "the header of 'none.csv'" in notice


def test_what_the_model_does_not_know_is_passed_over_on_demand(ask, refused):
    content = base64.b64encode(b"fever,shoe size\n1,43\n").decode()
    body = {"name": "r.csv", "content": content, "unmentioned": "unknown"}
    assert "'shoe size'" in refused("records", **body)
    assert "true or false" in refused("records", **body, ignore_unknown="yes")
    answer = ask("records", **body, ignore_unknown=True)
    assert len(answer["records"][0]["present"]) == 1
