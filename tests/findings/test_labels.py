"""Labels are joined to records by ids, never by chance."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from noisyor import Findings, NoisyOrError, NoisyOrWarning, Structure, datasets
from noisyor.findings.labels import as_labels
from noisyor.learning.likelihood import learn_observed

STRUCTURE = Structure.from_edges([("flu", "fever"), ("cold", "cough")])


def findings_with(ids):
    return Findings.from_numpy([[1, 0], [0, 1], [1, 1]], STRUCTURE, record_ids=ids)


def labels_with(**columns):
    return pa.table({"flu": [1, 0, 1], "cold": [0, 1, 1], **columns})


def all_labels(labels, findings, **options):
    return as_labels(labels, findings, complete=True, **options).is_present


@pytest.mark.parametrize("ids", [["b", "c", "a"], [2, 3, 1], [3, 2, 1]])
@pytest.mark.parametrize("column", ["record", "Patient ID", " RECORD"])
def test_rows_are_joined_by_id(ids, column):
    order = np.argsort(ids)
    labels = labels_with(**{column: ids}).take(pa.array(order))
    found = all_labels(labels, findings_with([str(each) for each in ids]))
    assert found.astype(int).tolist() == [[1, 0], [0, 1], [1, 1]]


def test_shuffled_labels_of_files_and_frames_teach_the_same(tmp_path):
    clinic = datasets.clinic()
    findings, diseases = clinic.sample(500, rng=0, return_diseases=True)
    ids = [f"p{number}" for number in range(500)]
    findings = Findings.from_numpy(findings.to_numpy(), clinic.structure, record_ids=ids)
    right = learn_observed(findings, clinic.structure, diseases)
    frame = pd.DataFrame(diseases.astype(int), columns=list(clinic.structure.diseases), index=ids)
    frame = frame.rename_axis("patient").sample(frac=1, random_state=0)
    frame.to_csv(tmp_path / "labels.csv", sep=";")
    for labels in frame, frame.reset_index(), tmp_path / "labels.csv":
        assert learn_observed(findings, clinic.structure, labels).network == right.network


def test_ids_are_found_in_a_column_of_any_name():
    labels = labels_with(Fallnummer=["c", "b", "a"], ward=["x", "y", "z"])
    found = all_labels(labels, findings_with(["c", "a", "b"]))
    assert found.astype(int).tolist() == [[1, 0], [1, 1], [0, 1]]
    both = labels_with(record=["a", "b", "c"], vno=["c", "b", "a"])
    found = all_labels(both, findings_with(["a", "b", "c"]), record="vno")
    assert found.astype(int).tolist() == [[1, 1], [0, 1], [1, 0]]


def test_a_column_that_gives_some_ids_is_not_told_as_passed_over():
    """Neither as labels, where it has another name than ids usually have."""
    labels = pa.table({"Fallnummer": ["c", "a"], "flu": [1, 0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = as_labels(labels, findings_with(["a", "b", "c"]))
    assert found.is_labelled.tolist() == [True, False, True]
    wrong = pa.table({"flu": [1, 0, 1], "cald": [1, 0, 1]})  # 0 and 1 are ids here, but not those
    with pytest.raises(NoisyOrError, match="'cald' holds labels, but the structure has no such"):
        as_labels(wrong, findings_with([0, 1, 2]))


def test_labels_without_ids_go_by_row_and_say_so():
    with pytest.warns(NoisyOrWarning, match="no column of ids: .* in the order of the records"):
        found = all_labels(labels_with(), findings_with([1, 2, 3]))
    assert found.astype(int).tolist() == [[1, 0], [0, 1], [1, 1]]
    assert np.array_equal(found, all_labels(labels_with(), findings_with(None)))


@pytest.mark.parametrize(
    ("labels", "ids", "message"),
    [
        (
            labels_with(record=[1, 2, 4]),
            [1, 2, 3],
            "no labels of some records .1 id: '3'., and it has labels of records that",
        ),
        (labels_with(record=[1, 2, 2]), [1, 2, 3], "more than one row for the records '2'"),
        (labels_with(record=[1, 2, 3]), None, "ids of records .column 'record'., but the records"),
        (labels_with().slice(1), None, "has 2 rows for 3 records"),
        (pa.table({"flu": [1], "could": [1]}), None, "no column for 'cold'; did you mean 'could'"),
        (labels_with(FLU=[1, 1, 1]), None, "'flu' and 'FLU' are the same disease"),
        (pa.table({"flu": [1, None], "cold": [1, 1]}), None, "row 2, column 'flu': the cell is em"),
        (pa.table({"flu": ["perhaps"], "cold": [1]}), None, "'perhaps' is not"),
    ],
)
def test_what_is_wrong_with_labels_is_named(labels, ids, message):
    with pytest.raises(NoisyOrError, match=message):
        all_labels(labels, findings_with(ids))


def test_records_that_are_only_counted_have_no_labels(tmp_path):
    """`n_records` says how many there are, not which: the remedy is a table of their ids."""
    structure = Structure.from_edges([("flu", "fever"), ("flu", "cough")])
    long = pa.table({"record": ["a", "b"], "symptom": ["fever", "cough"]})
    findings = Findings.read(long, structure, n_records=3)
    labels = pa.table({"record": ["a", "b", "c"], "flu": [1, 0, 0]})
    with pytest.raises(NoisyOrError, match="1 record without an id .*--all-records"):
        all_labels(labels, findings)


# --- labels of which only some are known ---


def known_of(labels):
    is_known, is_present = labels.unpacked()
    return np.where(is_known, is_present.astype(float), np.nan).tolist()


def test_some_labels_of_some_records():
    labels = pa.table({"record": ["b", "a"], "cold": [None, "no"], "flu": ["yes", "unknown"]})
    found = as_labels(labels, findings_with(["a", "b", "c"]))
    nan = pytest.approx(np.nan, nan_ok=True)
    assert known_of(found) == [[nan, 0.0], [1.0, nan], [nan, nan]]
    assert found.is_labelled.tolist() == [True, True, False]
    assert len(found) == 3
    array = as_labels([[1, None], [np.nan, 0], [0, 1]], findings_with(None))
    assert known_of(array) == [[1.0, nan], [nan, 0.0], [0.0, 1.0]]


def test_labels_without_a_record_are_told():
    labels = labels_with(record=["a", "x", "y"])
    with pytest.warns(NoisyOrWarning, match="2 of 3 labels belong to no record .'x', 'y'."):
        found = as_labels(labels, findings_with(["a", "b", "c"]))
    assert found.is_labelled.tolist() == [True, False, False]
    with pytest.warns(NoisyOrWarning, match="1 column named after no disease .'ward'. is passed"):
        as_labels(
            labels_with(record=["a", "b", "c"], ward=["x", "y", "z"]),
            findings_with(["a", "b", "c"]),
        )


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (labels_with(record=["x", "y", "z"]), "other ids than the records"),
        (labels_with(record=["a", "a", "b"]), "more than one row for the records 'a'"),
        (pa.table({"record": ["a"], "ague": [1]}), "'ague' holds labels, but the structure has no"),
        (pa.table({"record": ["a"], "ward": ["x"]}), "no column that is named after a disease"),
        (labels_with(record=["a", "b", "c"]).rename_columns(["flu", "cald", "record"]), "'cald'"),
    ],
)
def test_partly_known_labels_that_cannot_be_joined_are_refused(labels, message):
    with pytest.raises(NoisyOrError, match=message):
        as_labels(labels, findings_with(["a", "b", "c"]))


def test_some_of_the_records_keep_their_labels():
    structure = Structure.from_edges([("flu", "fever"), ("cold", "fever")])
    records = Findings.from_numpy([[1], [0], [1]], structure)
    labelled = records.with_labels([[1, np.nan], [0, 0], [np.nan, 1]])
    assert labelled[[2, 0]].labels.is_known.tolist() == [[False, True], [True, False]]
    assert labelled[1:].labels.is_present.tolist() == [[False, False], [False, True]]
    both = Findings.concatenate([records, labelled[:1]])
    assert both.labels.is_known.tolist() == [[False, False]] * 3 + [[True, False]]
    assert Findings.concatenate([records, records]).labels is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"record": ["a", "b"], "flu": [None, None]}, "holds no label: all of its cells are empty"),
        ({"record": pa.array([], pa.string()), "flu": pa.array([], pa.int8())}, "has no row"),
        (
            {"record": ["a", "a"], "disease": ["flu", "cold"], "seen": [1, 0]},
            "has a row for each label: give it a column for each disease",
        ),
        (
            {"record": ["a", "a"], "Disease": ["flu", "cold"]},
            "has a row for each label: give it a column for each disease",
        ),
        ({"record": ["0a", "00b"], "flu": [1, 0]}, "Without leading zeros 2 would"),
        ({"record": ["a.0", "x"], "flu": [1, 0]}, r"Without '\.0' at their end 1 would"),
    ],
)
def test_labels_that_say_nothing_are_refused(columns, message):
    structure = Structure.from_edges([("flu", "fever"), ("cold", "fever")])
    findings = Findings.from_numpy([[1], [0]], structure, record_ids=["a", "b"])
    with pytest.raises(NoisyOrError, match=message):
        as_labels(pa.table(columns), findings)


def test_columns_without_a_label_are_told():
    structure = Structure.from_edges([("flu", "fever"), ("cold", "fever")])
    findings = Findings.from_numpy([[1], [0]], structure, record_ids=["a", "b"])
    table = pa.table({"record": ["a", "b"], "flu": [1, 0], "cold": [None, None]})
    with pytest.warns(NoisyOrWarning, match="1 column without a label: 'cold'"):
        as_labels(table, findings)
