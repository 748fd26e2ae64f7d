"""Labels are joined to records by ids, never by chance."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from noisyor import Findings, NoisyOrError, NoisyOrWarning, Structure, datasets
from noisyor.findings.labels import read_labels
from noisyor.learning.likelihood import learn_observed

STRUCTURE = Structure.from_edges([("flu", "fever"), ("cold", "cough")])


def findings_with(ids):
    return Findings.from_numpy([[1, 0], [0, 1], [1, 1]], STRUCTURE, record_ids=ids)


def labels_with(**columns):
    return pa.table({"flu": [1, 0, 1], "cold": [0, 1, 1], **columns})


@pytest.mark.parametrize("ids", [["b", "c", "a"], [2, 3, 1], [3, 2, 1]])
@pytest.mark.parametrize("column", ["record", "Patient ID", " RECORD"])
def test_rows_are_joined_by_id(ids, column):
    order = np.argsort(ids)
    labels = labels_with(**{column: ids}).take(pa.array(order))
    found = read_labels(labels, findings_with([str(each) for each in ids]), STRUCTURE)
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
    found = read_labels(labels, findings_with(["c", "a", "b"]), STRUCTURE)
    assert found.astype(int).tolist() == [[1, 0], [1, 1], [0, 1]]
    both = labels_with(record=["a", "b", "c"], vno=["c", "b", "a"])
    found = read_labels(both, findings_with(["a", "b", "c"]), STRUCTURE, record="vno")
    assert found.astype(int).tolist() == [[1, 1], [0, 1], [1, 0]]


def test_labels_without_ids_go_by_row_and_say_so():
    with pytest.warns(NoisyOrWarning, match="no column of ids: .* in the order of the records"):
        found = read_labels(labels_with(), findings_with([1, 2, 3]), STRUCTURE)
    assert found.astype(int).tolist() == [[1, 0], [0, 1], [1, 1]]
    assert np.array_equal(found, read_labels(labels_with(), findings_with(None), STRUCTURE))


@pytest.mark.parametrize(
    ("labels", "ids", "message"),
    [
        (labels_with(record=[1, 2, 4]), [1, 2, 3], "1 records without labels .'3'., 1 labels with"),
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
        read_labels(labels, findings_with(ids), STRUCTURE)


def test_records_that_are_only_counted_have_no_labels(tmp_path):
    """`n_records` says how many there are, not which: the remedy is a table of their ids."""
    structure = Structure.from_edges([("flu", "fever"), ("flu", "cough")])
    long = pa.table({"record": ["a", "b"], "symptom": ["fever", "cough"]})
    findings = Findings.read(long, structure, n_records=3)
    labels = pa.table({"record": ["a", "b", "c"], "flu": [1, 0, 0]})
    with pytest.raises(NoisyOrError, match="1 record without an id .*--all-records"):
        read_labels(labels, findings, structure)
