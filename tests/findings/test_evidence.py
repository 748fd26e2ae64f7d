"""Evidence as people write it: mappings, rows of frames, lists of them."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import write_csv

from noisyor import NoisyOrLearner, Structure, datasets, posterior, posteriors
from noisyor.errors import FindingsError, ParameterError, UnknownNameError
from noisyor.findings.evidence import array_of, split_states, state_of

STRUCTURE = Structure.from_edges([("flu", "fever"), ("flu", "cough"), ("cold", "cough")])


@pytest.mark.parametrize(
    ("value", "state"),
    [(1, True), (True, True), (np.True_, True), (1.0, True), ("yes", True), ("present", True),
     (0, False), (np.bool_(False), False), ("absent", False), (None, None), (np.nan, None),
     ("unknown", None), ("", None)],
)  # fmt: skip
def test_what_values_say(value, state):
    assert state_of("fever", value) is state


@pytest.mark.parametrize("value", [2, "perhaps", [1], 0.5])
def test_what_says_nothing_is_refused(value):
    with pytest.raises(ParameterError, match="the finding 'fever' is"):
        state_of("fever", value)


def test_a_mapping_never_means_its_keys():
    clinic = datasets.clinic()
    asked = posterior(clinic, {"fever": 1, "cough": 0, "thirst": None, "wheezing": "unknown"})
    assert asked == posterior(clinic, present=["fever"], absent=["cough"])
    with pytest.raises(ParameterError, match="give a mapping of findings alone"):
        posterior(clinic, ["fever"], absent={"cough": 1})
    with pytest.raises(ParameterError, match="leave out `absent`"):
        posterior(clinic, {"fever": 1}, absent=["cough"])


def test_a_row_of_a_frame_is_a_mapping():
    pandas = pytest.importorskip("pandas")
    row = pandas.DataFrame({"fever": [1.0], "cough": [np.nan]}).iloc[0]
    clinic = datasets.clinic()
    assert posterior(clinic, row) == posterior(clinic, present=["fever"])


def test_lists_of_mappings_are_records():
    rows = [{"fever": 1}, {"cough": "absent", "fever": None}, {}]
    array = array_of(rows, STRUCTURE)
    np.testing.assert_array_equal(array, [[1, np.nan], [np.nan, 0], [np.nan, np.nan]])
    assert split_states(rows[1], STRUCTURE) == ([], ["cough"])
    clinic = datasets.clinic()
    found = posteriors(clinic, [{"fever": 1, "cough": 0}, {"wheezing": 1}])
    one = posterior(clinic, {"wheezing": 1})
    np.testing.assert_allclose(found.probabilities[1], one.probabilities, atol=1e-12)
    pandas = pytest.importorskip("pandas")
    series = [pandas.Series({"fever": 1, "cough": 0}), pandas.Series({"wheezing": 1})]
    np.testing.assert_array_equal(posteriors(clinic, series).probabilities, found.probabilities)


def test_what_is_no_finding_in_a_row_is_to_be_left_out():
    """Of an id it was said that it must be 0 or 1."""
    pandas = pytest.importorskip("pandas")
    clinic = datasets.clinic()
    row = pandas.Series({"patient": 17, "fever": 1, "cough": 0})
    says = r"no symptom named 'patient'.* an id, .*leave it out .*row\.drop\('patient'\)"
    with pytest.raises(UnknownNameError, match=says):
        posterior(clinic, row)
    assert posterior(clinic, row.drop("patient")) == posterior(clinic, ["fever"], ["cough"])
    # Names in other letters are understood, as in the frame that the row is of.
    capital = row.drop("patient").rename({"fever": "Fever "})
    assert posterior(clinic, capital) == posterior(clinic, ["fever"], ["cough"])
    with pytest.raises(FindingsError, match="record 0: there is no symptom named 'patient'"):
        posteriors(clinic, [row])
    with pytest.raises(ParameterError, match=r"one row of it \(frame\.iloc\[0\]\), or ask post"):
        posterior(clinic, pandas.DataFrame([row]))
    with pytest.raises(ParameterError, match=r"give a list of the names .*tolist"):
        posterior(clinic, pandas.Series(["fever", "cough"]))
    with pytest.raises(FindingsError, match=r"a pandas Series is one record: .*\[row\]"):
        posteriors(clinic, row)


@pytest.mark.parametrize(
    "row",
    [
        [0, 1] * 30, [1, 0, 1], np.array([0, 1] * 30), np.array([0, 1] * 30, dtype=bool),
        [True, False], [0.0, 1.0], [[0, 1] * 30], np.zeros((1, 60)),
    ],
)  # fmt: skip
def test_a_row_of_states_is_not_a_list_of_symptoms(row):
    """It was said that 'fever' is given twice: zeros and ones were numbers of symptoms."""
    with pytest.raises(ParameterError, match=r"looks like a row of states.*posteriors\(network"):
        posterior(datasets.clinic(), row)


def test_numbers_of_symptoms_stay_numbers():
    clinic = datasets.clinic()
    first = clinic.structure.symptoms[:2]
    assert posterior(clinic, [0, 1]) == posterior(clinic, first)
    assert posterior(clinic, [1, 0]).present == first[::-1]
    assert posterior(clinic, np.array([1]), [0]) == posterior(clinic, first[1:], first[:1])
    with pytest.raises(FindingsError, match="a list of numbers is one record"):
        posteriors(clinic, [0, 1] * 30)
    with pytest.raises(ParameterError, match=r"posteriors\(network, findings\) takes many"):
        posterior(clinic, clinic.sample(1, rng=0))


def test_wrong_records_are_named():
    with pytest.raises(FindingsError, match="record 1: .*'feve'.* did you mean 'fever'"):
        array_of([{"fever": 1}, {"feve": 1}], STRUCTURE)
    with pytest.raises(FindingsError, match="record 1 is 3, and others are mappings"):
        array_of([{"fever": 1}, 3], STRUCTURE)
    with pytest.raises(FindingsError, match="record 0: the finding 'fever' is 7"):
        array_of([{"fever": 7}], STRUCTURE)


def test_a_missing_column_is_unknown_by_choice():
    pandas = pytest.importorskip("pandas")
    clinic = datasets.clinic()
    frame = pandas.DataFrame({"fever": [1, 0, 1], "cough": [1.0, np.nan, 0.0]})
    with pytest.raises(FindingsError, match=r"no column .*unmentioned='unknown'"):
        posteriors(clinic, frame)
    found = posteriors(clinic, frame, unmentioned="unknown")
    asked = [{"fever": 1, "cough": 1}, {"fever": 0}, {"fever": 1, "cough": 0}]
    np.testing.assert_allclose(
        found.probabilities, [posterior(clinic, each).probabilities for each in asked], atol=1e-12
    )
    with pytest.raises(FindingsError, match="no column for any symptom"):
        posteriors(clinic, pandas.DataFrame({"x": [1]}), unmentioned="unknown", ignore_unknown=True)


def test_it_is_so_in_files_of_many_blocks(tmp_path, run):
    network = datasets.figure1(0)
    records = network.sample(300, rng=0)
    table = records.to_arrow().drop_columns(["c"])
    write_csv(table, tmp_path / "records.csv")
    asked = "diagnose", "figure1", tmp_path / "records.csv", "-o", tmp_path / "p.parquet"
    assert run(*asked)[0] == 2
    assert run(*asked, "--unmentioned", "unknown")[0] == 0
    hidden = records.to_numpy().astype(float)
    hidden[:, 2] = np.nan
    found = pq.read_table(tmp_path / "p.parquet").select(["A", "B"]).to_pandas().to_numpy()
    np.testing.assert_allclose(found, posteriors(network, hidden).probabilities, atol=1e-12)


def test_what_was_learned_is_asked_with_mappings():
    network = datasets.figure1(0)
    learner = NoisyOrLearner(network.structure, method="pooled").fit(network.sample(2000, rng=0))
    assert learner.predict_proba([{"a": 1}, {"b": 0}]).shape == (2, 2)
