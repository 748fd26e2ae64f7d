"""check_records: what is understood, what is not, before anything is learned."""

import time

import pyarrow as pa
import pytest

from noisyor import Findings, NoisyOrError, Structure, datasets
from noisyor.findings import check_records

STRUCTURE = Structure.from_edges(
    [("flu", "fever"), ("flu", "cough")], symptoms=["fever", "cough", "itch"]
)


def test_counts_are_those_of_the_findings():
    clinic = datasets.clinic()
    findings = clinic.sample(3000, rng=0)
    found = check_records(findings.to_arrow(), clinic.structure)
    assert found.problems == found.sentences() == []
    assert found.n_present.tolist() == findings.count_present().tolist()
    assert (found.n_known == 3000).all()
    per_record = findings.to_numpy().sum(axis=1)
    assert found.mean_findings == pytest.approx(per_record.mean())
    assert found.notes.n_empty == found.by_findings[0] == (per_record == 0).sum()
    assert found.sample.n_records >= 2000


def test_names_are_listed_with_the_nearest_and_given_back(tmp_path):
    table = pa.table({"record": [1, 2, 2, 3], "symptom": ["fevre", "Cough", "fevre", "age"]})
    found = check_records(table, STRUCTURE)
    assert found.mapping() == [("fevre", "fever", 2), ("age", "", 1)]
    assert "no symptoms 'fevre', 'age': correct them" in found.problems[0]
    found.write_mapping(tmp_path / "names.csv")
    again = check_records(table, STRUCTURE, names=tmp_path / "names.csv")
    assert again.problems == []
    assert again.not_understood == {}
    assert again.n_present.tolist() == [2, 1, 0]
    assert check_records(table, STRUCTURE, ignore_unknown=True).problems == []


def test_wide_tables_with_other_names_can_be_mapped():
    table = pa.table({"fevre": [1], "cough": [1], "itch": [0]})
    found = check_records(table, STRUCTURE)
    assert "no column for the symptoms 'fever'; did you mean 'fevre'" in found.problems[0]
    assert found.mapping() == [("fevre", "fever", 1)]
    assert check_records(table, STRUCTURE, names={"fevre": "fever"}).n_present.tolist() == [1, 1, 0]


def test_what_records_never_tell_is_said():
    table = pa.table({"fever": [1, 0], "cough": [None, None], "itch": [1, 1]})
    sentences = " ".join(check_records(table, STRUCTURE).sentences())
    assert "1 symptom never known: 'cough'" in sentences
    assert "1 symptom without a disease in the structure that could cause them: 'it" in sentences


def test_labels_are_checked():
    records = pa.table({"record": [1, 2], "fever": [1, 0], "cough": [1, 0], "itch": [0, 0]})
    assert (
        check_records(records, STRUCTURE, labels=pa.table({"id": [2, 1], "flu": [0, 1]})).n_labels
        == 2
    )
    wrong = check_records(records, STRUCTURE, labels=pa.table({"id": [3, 4], "flu": [0, 1]}))
    assert "other ids than the records" in wrong.problems[0]


def test_labels_of_some_records_are_as_good_as_fit_takes_them():
    records = pa.table({"record": [1, 2], "fever": [1, 0], "cough": [1, 0], "itch": [0, 0]})
    labels = pa.table({"id": [2], "flu": pa.array([1]), "cold": pa.array([None], pa.int64())})
    found = check_records(records, STRUCTURE, labels=labels)
    assert found.problems == []
    assert found.n_labels == 1
    partly = check_records(records, STRUCTURE, labels=pa.table({"id": [2, 3], "flu": [0, 1]}))
    assert partly.problems == []
    assert partly.n_labels == 1
    assert any("3" in each for each in partly.told)


def test_what_cannot_be_checked():
    with pytest.raises(NoisyOrError, match="understood when they were read"):
        check_records(Findings.from_numpy([[1, 0, 0]], STRUCTURE), STRUCTURE)
    found = check_records(pa.table({"fever": ["ja"], "cough": [0], "itch": [1]}), STRUCTURE)
    assert "'ja' is not 0 or 1" in found.problems[0]


def test_names_that_are_not_understood_are_compared_for_a_few_seconds_at_most():
    letters = [chr(0x4E00 + i) for i in range(3000)]
    structure = Structure(["d"], [f"{a}{a}病症" for a in letters], [[0, 0]])
    found = check_records(Findings.from_numpy([[0] * 3000], structure).to_arrow(), structure)
    found.not_understood = {f"{a}病": 1 for a in letters} | {f"{letters[0] * 2}病症状": 9}
    start = time.monotonic()
    mapping = found.mapping()
    assert time.monotonic() - start < 10.0
    assert mapping[0] == (f"{letters[0] * 2}病症状", f"{letters[0] * 2}病症", 9)
    assert len(mapping) == 3001


def test_files_without_records_are_refused_and_others_are_not_called_empty():
    empty = check_records(pa.table({name: [0][:0] for name in STRUCTURE.symptoms}), STRUCTURE)
    assert "there are no records" in empty.problems[0]
    wrong = check_records(pa.table({"fever": [2], "cough": [2], "itch": [2]}), STRUCTURE)
    assert "no records" not in " ".join([*wrong.problems, *wrong.sentences()])


def test_labels_that_only_say_yes_are_told():
    numbers = list(range(8))
    records = pa.table(
        {"record": numbers, **{name: [1] * 8 for name in ("fever", "cough", "itch")}}
    )
    found = check_records(records, STRUCTURE, labels=pa.table({"record": numbers, "flu": [1] * 8}))
    assert any("all labels of 1 disease ('flu') say that it" in each for each in found.sentences())
