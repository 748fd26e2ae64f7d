"""Notes: whatever is not taken as it stands is told."""

import dataclasses
import pickle
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from noisyor import Findings, NoisyOrWarning, Structure
from noisyor.findings import Notes, notes

STRUCTURE = Structure.from_edges([("A", letter) for letter in "abc"])


def read(source, **options):
    """Return the findings, the notes, and what was told."""
    found = Notes()
    with pytest.warns() as told:
        findings = Findings.read(source, STRUCTURE, notes=found, **options)
    assert all(issubclass(each.category, NoisyOrWarning) for each in told)
    return findings, found, " ".join(str(each.message) for each in told)


def test_rows_passed_over_are_counted_by_name():
    names = ["a", "b", "B ", *["aa"] * 3, *[f"x{i}" for i in range(12)], None, ""]
    table = pa.table({"record": range(len(names)), "symptom": names})
    findings, found, told = read(table, ignore_unknown=True)
    assert findings.n_records == len(names)
    assert found.passed_over.total() == 15
    assert found.n_empty == 17
    assert (
        "passed over 15 of 20 rows, whose names the structure does not have: 'aa' (3 rows" in told
    )
    assert "and 3 more" in told
    assert "1 name not written as in the structure: 'B ' as 'b'" in told


def test_a_reading_starts_anew(tmp_path):
    path = tmp_path / "records.csv"
    path.write_text("A;b ;c\n1;0;1\n0;0;0\n")
    found = Notes()
    for _ in range(2):
        with pytest.warns(NoisyOrWarning, match="2 names not written"):
            Findings.read(path, STRUCTURE, notes=found)
        assert (found.n_records, found.n_empty, len(found.files)) == (2, 1, 1)
    assert found.files[0].delimiter == ";"
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert again.other_names == found.other_names


def test_records_without_a_finding_are_missed_only_where_they_may_be():
    table = pa.table({"record": [1, 2], "symptom": ["a", "b"]})
    _, _, told = read(table)
    assert "of 2 records none is without a finding" in told
    for options in ({"n_records": 5}, {"all_records": [1, 2, 3]}, {"unmentioned": "unknown"}):
        Findings.read(table, STRUCTURE, **options)
    Findings.read(pa.table({"record": [1, 2], "symptom": ["a", None]}), STRUCTURE)


@pytest.mark.parametrize("most", [1 << 22, 64])
def test_ids_that_come_twice_are_told(monkeypatch, most):
    monkeypatch.setattr(notes, "_MOST_HASHES", most)
    one = pa.table({"record": np.arange(5000), **{each: [0] * 5000 for each in "abc"}})
    other = one.set_column(0, "record", pa.array(np.arange(2500, 7500)))
    _, found, told = read([one, other])
    assert "in more than one file: are records counted twice?" in told
    assert found.ids.n_repeated()[1] == pytest.approx(2500, abs=0 if most > 64 else 2000)
    _, _, told = read(pa.concat_tables([one, one.slice(0, 2000)]))
    assert "with an id that another row of the file has" in told


def many(**columns):
    """Return a wide table with some columns replaced."""
    usual = {each: [1, 0, 0] * 7 for each in "abc"}
    return pa.table(usual | columns)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (many(b=pa.nulls(21)), "1 symptom never known: 'b'"),
        (many(b=[1, None, None] * 7), "1 symptom never absent: 'b'. If an empty cell means absent"),
        (many(a=[1] * 21, b=[1, 1, 0] * 7), "67% of all findings are present. If 1 stands for"),
        ([many(), many()], "two files hold the same records"),
    ],
)
def test_columns_that_may_be_misread_are_told(source, message):
    assert message in read(source)[2]


def test_who_has_inverted_is_told_to_leave_it_out():
    _, _, told = read(many(a=[0] * 21, b=[0, 0, 1] * 7, c=[0, 0, 1] * 7), invert=True)
    assert (
        "78% of all findings are present when inverted. If 1 stands for what is wrong, lea" in told
    )
    assert "say invert=True" not in told


def test_the_advice_where_nothing_is_absent_is_that_of_the_layout():
    wide = {each: [1, None, None] * 7 for each in "abc"}
    told = read(pa.table(wide))[2]
    assert "what is empty is unknown. If it means absent, say so: values={'': 'absent'}" in told
    assert "unmentioned" not in told
    rows = pa.table({"record": range(21), "symptom": ["a", "b", "c"] * 7})
    told = read(rows, unmentioned="unknown")[2]
    assert "what is empty or not listed is unknown" in told
    assert "or unmentioned='absent' (--unmentioned absent)." in told


def test_rows_of_long_tables_that_may_be_misread_are_told():
    rows = {"record": [1, 1, 2, 2], "symptom": ["a", None, "b", ""]}
    assert "2 rows without a symptom, of which 2 are of records with" in read(pa.table(rows))[2]
    states = pa.table({"record": [1, 2], "symptom": ["a", "b"], "state": [1, 0]})
    told = read(states)[2]
    assert "besides 1 row with absent findings there are 4 findings that no row mentions" in told
    Findings.read(states, STRUCTURE, unmentioned="unknown")
    further = pa.table({"record": [1], "symptom": ["a"], "ward": [3], "vorhanden": ["nein"]})
    told = read(further)[2]
    assert "further columns are not read: 'ward' (3), 'vorhanden' ('nein'). If one says" in told


def test_two_equal_long_tables_with_ids_of_their_own_are_told_of():
    table = pa.table({"record": range(20), "symptom": ["a", "b"] * 10})
    assert "two files hold the same records" in read([table, table], ids_per_file=True)[2]


def test_guessed_columns_are_told():
    table = pa.table({"Patient ID": [1, 2], "Finding": ["a", "b"], "Result": ["yes", "no"]})
    findings, found, told = read(table)
    assert findings.count_present().tolist() == [1, 0, 0]
    assert found.guessed == {"Patient ID": "record", "Finding": "symptom", "Result": "state"}
    assert "'Patient ID' as the record's id" in told
    assert "(--record, --symptom, --state if others are meant)" in told


def test_what_workers_note_adds_up_in_every_field():
    def filled():
        notes = Notes()
        for field in dataclasses.fields(Notes):
            value = getattr(notes, field.name)
            if isinstance(value, bool):
                setattr(notes, field.name, True)
            elif isinstance(value, int):
                setattr(notes, field.name, 3)
            elif isinstance(value, Counter):
                value["rash"] += 3
            elif isinstance(value, dict):
                value["A"] = "a"
            elif isinstance(value, list):
                value.append("A")
        notes.ids.look(pa.array([1, 2]), 0)
        return notes

    total = Notes()
    total.add(filled())
    ours = {"are_ids_watched", "digests"}  # of one worker, for itself
    for field in dataclasses.fields(Notes):
        if field.compare and field.name not in {*ours, "ids"}:
            assert getattr(total, field.name) == getattr(filled(), field.name), field.name
    total.add(filled())
    assert (total.n_rows, total.passed_over["rash"]) == (6, 6)
    assert total.ids.n_repeated() == (2, 0)
