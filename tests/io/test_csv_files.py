"""CSV files: what is wrong is named with its line."""

import gzip

import numpy as np
import pytest

from noisyor import (
    Findings,
    NoisyOrError,
    NoisyOrWarning,
    Structure,
)

STRUCTURE = Structure.from_edges([("flu", "fever"), ("flu", "cough"), ("cold", "cough")])
LETTERS = Structure.from_edges([("A", letter) for letter in "abcde"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "records.csv is empty"),
        (b"\n\n", "records.csv is empty: it has no header"),
        (b"fever,cough\n1,0\n0,1,1\n", "line 3: 3 values where the header has 2 columns"),
        (b"fever,cough\n1\n", "line 2: 1 values where the header has 2 columns"),
        (
            b"fever,cough\n1,0\n\n0,7\n",
            "line 4, column 'cough': '7' is not 0 or 1, absent or present. Say .*--values",
        ),
        (b"fever,cough\n1,ja\n", "line 2, column 'cough': 'ja' is not"),
        (b"fever,cough\n1,0\n\xff\xfe,1\n", "line 3: the text is not UTF-8"),
        (b"f\xffver,cough\n1,0\n", "line 1: the text is not UTF-8"),
        (b"fever,cough,cough\n1,0,0\n", "more than one column named 'cough'"),
        (b"fever\n1\n", "no column for the symptoms 'cough'"),
        (b"fever,caugh\n1,0\n", "no column for the symptoms 'cough'; did you mean 'caugh'"),
        (b"fever,cough,age\n1,0,33\n", "not symptoms of the structure: 'age'"),
        (b"record,symptom\n1,fever\n2,rash\n", "line 3, column 'symptom': .* no symptom 'rash'"),
        (b"record,symptom\n1,fever\n,cough\n", "line 3, column 'record': .* missing"),
        (b"record,symptom,state\n1,fever,perhaps\n", "line 2, column 'state': 'perhaps' is not"),
    ],
)
def test_csv_records(tmp_path, text, message):
    path = tmp_path / "records.csv"
    path.write_bytes(text)
    with pytest.raises(NoisyOrError, match=message):
        Findings.read(path, STRUCTURE)


def test_a_header_alone_is_no_record(tmp_path):
    path = tmp_path / "records.csv"
    path.write_text("fever,cough\n")
    for header in "fever,cough\n", "record,symptom\n":
        path.write_text(header)
        with pytest.warns(NoisyOrWarning, match="no records: no row below the header of .*csv"):
            assert Findings.read(path, STRUCTURE).n_records == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"disease,symptom\n", "edges.csv has no edges below its header"),
        (b"disease,symptom,causes\nflu,fever,1\nflu,rash,0\n", "'causes' holds words for no"),
        (b"disease,sympton\nflu,fever\n", "edges.csv has no column 'symptom'; its columns are"),
        (b"disease,symptom\nflu,fever\nflu,\n", "line 3, column 'symptom': the name is empty"),
        (
            b"disease,symptom\nflu,fever\nflu,cough\nflu,fever\n",
            "line 4: .* was given before .*line 2",
        ),
        (b"disease,symptom\nflu\n", "line 2: 1 values"),
    ],
)
def test_csv_structures(tmp_path, text, message):
    path = tmp_path / "edges.csv"
    path.write_bytes(text)
    with pytest.raises(NoisyOrError, match=message):
        Structure.from_csv(path)


def test_quotes_bom_crlf_and_gzip(tmp_path):
    structure = Structure.from_edges([("A", "pain, left"), ("A", 'the "big" one'), ("A", "ä\nb")])
    text = '\ufeff"pain, left","the ""big"" one","ä\nb"\r\n1,0,1\r\n'
    path = tmp_path / "records.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert Findings.read(path, structure).to_numpy().tolist() == [[True, False, True]]


def test_one_column_of_a_csv_file_keeps_its_unknown_records(tmp_path):
    structure = Structure(["d"], ["s"], [(0, 0)])
    findings = Findings.from_numpy([[1], [np.nan], [0], [np.nan]], structure)
    findings.to_csv(tmp_path / "records.csv")
    with pytest.warns(NoisyOrWarning, match="2 records of which nothing is known"):
        assert Findings.read(tmp_path / "records.csv", structure) == findings
    (tmp_path / "bad.csv").write_text("s\n1\n\n7\n")
    with pytest.raises(NoisyOrError, match="line 4, column 's': '7'"):
        Findings.read(tmp_path / "bad.csv", structure)


def test_a_gzipped_file_with_a_capital_ending(tmp_path):
    path = tmp_path / "RECORDS.CSV.GZ"
    path.write_bytes(gzip.compress(b"a,b,c,d,e\n1,0,0,0,0\n"))
    assert Findings.read(path, LETTERS).n_records == 1
