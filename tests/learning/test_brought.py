"""What arrays and frames bring to a learner besides their records."""

import numpy as np
import pandas as pd
import pytest

from noisyor import NoisyOrLearner, Structure, datasets
from noisyor.errors import FindingsError, ParameterError
from noisyor.findings.reading import record_format
from noisyor.learning.brought import check_width, names_brought, structure_of

RECORDS = np.array([[1, 0, 1], [0, 1, 0]])


def test_records_without_a_structure_have_one_hidden_disease():
    frame = pd.DataFrame(RECORDS, columns=["cough", "fever", "rash"])
    for records, symptoms in (RECORDS, ("x0", "x1", "x2")), (frame, ("cough", "fever", "rash")):
        structure = structure_of(records, record_format({}))
        assert structure.diseases == ("hidden",)
        assert structure.symptoms == symptoms
        assert structure.n_edges == 3


def test_what_has_no_columns_for_symptoms_is_refused():
    for records, message in [
        (RECORDS[0], "Reshape your data"),
        (RECORDS[:, :0], "a minimum of 1 is required"),
        ([[1, 0], [1]], "not an array of records x symptoms"),
    ]:
        with pytest.raises(FindingsError, match=message):
            structure_of(records, record_format({}))
    long = pd.DataFrame({"record": ["a", "a"], "symptom": ["cough", "rash"], "present": [1, 1]})
    with pytest.raises(ParameterError, match="does not name all symptoms: give a structure"):
        structure_of(long, record_format({}))


def test_names_are_kept_where_all_are_texts():
    assert names_brought(pd.DataFrame(RECORDS, columns=["a", "b", "c"])) == ["a", "b", "c"]
    assert names_brought(pd.DataFrame(RECORDS)) is None
    assert names_brought(RECORDS) is None
    assert names_brought(Structure([], [], [])) is None


def test_an_array_of_another_width_is_refused_and_a_frame_goes_by_its_names():
    with pytest.raises(FindingsError, match="X has 3 features, but .* expecting 4 features"):
        check_width(RECORDS, 4)
    check_width(RECORDS, 3)
    check_width(pd.DataFrame(RECORDS, columns=["a", "b", "c"]), 4)


def test_frames_with_other_indices_are_not_joined_by_row():
    network = datasets.figure1(0)
    findings, diseases = network.sample(50, rng=0, return_diseases=True)
    records = pd.DataFrame(findings.to_numpy().astype(int), columns=network.structure.symptoms)
    labels = pd.DataFrame(diseases.astype(int), columns=network.structure.diseases)
    learner = NoisyOrLearner(network.structure, method="observed")
    with pytest.raises(ParameterError, match="frames with different indices"):
        learner.fit(records, labels.sample(frac=1, random_state=0))
    learner.fit(records, labels)


def test_frames_with_other_indices_are_joined_by_columns_of_ids():
    """As files are: the indices are only where pandas has put the rows."""
    network = datasets.figure1(0)
    findings, diseases = network.sample(50, rng=0, return_diseases=True)
    ids = [f"p{number}" for number in range(50)]
    records = pd.DataFrame(findings.to_numpy().astype(int), columns=network.structure.symptoms)
    labels = pd.DataFrame(diseases.astype(int), columns=network.structure.diseases)
    records, labels = records.assign(record=ids), labels.assign(record=ids)
    learner = NoisyOrLearner(network.structure, method="observed")
    expected = learner.fit(records, labels).network_
    for shuffled in labels.sample(frac=1, random_state=0), labels[::-1].reset_index(drop=True):
        assert learner.fit(records, shuffled).network_ == expected
