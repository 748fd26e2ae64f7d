"""DiagnosisEvaluation: its tables, and the file that is read back as it was written."""

import json

import numpy as np
import pytest

from noisyor import NoisyOrError, datasets, evaluate_diagnoses
from noisyor.evaluation import DiagnosisEvaluation
from noisyor.evaluation.scores import THRESHOLDS

CLINIC = datasets.clinic()


@pytest.fixture(scope="module")
def found():
    findings, diseases = CLINIC.sample(200, rng=0, return_diseases=True)
    labels = diseases.astype(float)
    labels[:, 3] = np.nan
    labels[::2, 4] = np.nan
    return evaluate_diagnoses(CLINIC, findings, labels)


def test_tables_have_a_row_for_all_and_for_each(found):
    rows = found.table().to_pylist()
    assert [row["disease"] for row in rows] == [None, *CLINIC.structure.diseases]
    for row, scores in zip(rows[:3], (found.overall, *found.diseases[:2]), strict=True):
        assert (row["auc"], row["auc_lower"], row["auc_upper"]) == scores.auc
        assert row["prevalence"] == scores.n_present / scores.n_labels
        assert (row["top_1"], row["top_5"]) == (scores.top_shares[0], scores.top_shares[2])
    assert rows[4]["labels"] == 0
    assert rows[4]["brier"] is rows[4]["auc"] is rows[4]["calibration_error"] is None


def test_it_prints_as_a_table_with_rows_by_name(found):
    assert found["influenza"]["auc"] == found.of("influenza").auc.value
    line, header, overall, *_ = str(found).splitlines()
    assert line == repr(found)
    assert header.split()[:3] == ["disease", "labels", "present"]
    assert str(found.overall.n_labels) in overall.replace(",", "")


def test_the_bins_of_a_curve_add_up(found):
    table = found.calibration_table().to_pandas()
    overall = table[table.disease.isna()]
    assert overall.labels.sum() == found.overall.n_labels
    assert overall.present.sum() == found.overall.n_present
    assert ((table["from"] <= table.mean_probability) & (table.mean_probability <= table.to)).all()
    assert ((table.lower <= table.share + 1e-12) & (table.share <= table.upper + 1e-12)).all()
    distances = (overall.share - overall.mean_probability).abs() * overall.labels
    assert distances.sum() / overall.labels.sum() == pytest.approx(found.overall.calibration_error)
    assert "acute bronchitis" not in set(table.disease)


def test_decisions_have_a_row_a_threshold(found):
    table = found.decision_table().to_pandas()
    mine = table[table.disease == "influenza"]
    assert mine.threshold.tolist() == THRESHOLDS.tolist()
    assert mine.net_benefit.tolist() == found.of("influenza").net_benefits.tolist()
    prevalence = found.of("influenza").prevalence
    assert mine.treat_all.iloc[49] == pytest.approx(2.0 * prevalence - 1.0)


def test_the_file_is_read_back_as_it_was_written(found, tmp_path):
    found.save(tmp_path / "evaluation.json")
    again = DiagnosisEvaluation.load(tmp_path / "evaluation.json")
    assert again == found
    assert again.sentences() == found.sentences()
    assert repr(found).startswith("DiagnosisEvaluation(3,700 labels of 200 records; AUC 0.9")


def changed(document, keys, value):
    part = document
    for key in keys[:-1]:
        part = part[key]
    if value == "removed":
        del part[keys[-1]]
    else:
        part[keys[-1]] = value


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["format"], "noisyor.network", "not a noisyor.evaluation document"),
        (["version"], 2, "Install a newer noisyor"),
        (["records"], -1, "'records' must be a whole number from 0"),
        (["records"], True, "'records' must be a whole number"),
        (["unlabelled"], "removed", "'unlabelled' must be a whole number"),
        (["methods"], [], "'methods' is \\[\\]; expected a JSON object"),
        (["methods"], {"magic": 1}, "'methods' must have names among"),
        (["methods"], {"exact": 0.5}, "'exact' must be a whole number"),
        (["mean_auc"], [0.5], "'mean_auc' has 1 entries, not 3"),
        (["mean_auc"], ["a", 0, 0], "'mean_auc' must be a number from 0 to 1 or null"),
        (["mean_auc"], [0.5, 0.4, 1.5], "'mean_auc' must be a number from 0 to 1 or null"),
        (["overall"], 5, "'overall' is 5; expected a JSON object"),
        (["diseases"], {}, "'diseases' must be a list"),
        (["diseases", 2], 7, "'diseases' entry 2 is 7, not an object"),
        (["diseases", 2, "disease"], 7, "entry 2: 'disease' is 7; expected a text"),
        (["diseases", 2, "brier"], "low", "entry 2: 'brier' must be a number"),
        (["diseases", 2, "labels"], 5, "the labels of the bins are not those that are counted"),
        (["diseases", 2, "bin_labels"], [1] * 9, "'bin_labels' has 9 entries, not 10"),
        (["diseases", 2, "net_benefits"], "removed", "'net_benefits' is missing"),
        (["overall", "in_top"], [1, 2, 10**30], "'in_top' must be a whole number"),
        (["overall", "in_top"], [1, 2, 10**9], "'in_top' has more cases than 'present' says"),
        (["overall", "log_score"], 0.5e300, "'log_score' must be a number from -36.0"),
        (["overall", "net_benefits"], [-100.0] * 99, "'net_benefits' must be a number from -99"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(found, tmp_path, keys, value, message):
    path = tmp_path / "evaluation.json"
    found.save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    changed(document, keys, value)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(NoisyOrError, match=message):
        DiagnosisEvaluation.load(path)
