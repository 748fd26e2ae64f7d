"""Counts of labelled records: equal to slow ones, in whatever parts they are counted."""

import numpy as np
import pyarrow as pa
import pytest

import naive
from noisyor import (
    Findings,
    MomentPlan,
    Moments,
    NoisyOrError,
    NoisyOrWarning,
    Structure,
    count_moments,
    datasets,
)
from noisyor.moments.labelled import LabelledCounts


def random_case(seed, n_records=150):
    """Return findings with ids and labels of some, as arrays with NaN, too."""
    rng = np.random.default_rng(seed)
    n_diseases, n_symptoms = rng.integers(1, 5), rng.integers(1, 6)
    structure = Structure.from_matrix(rng.random((n_diseases, n_symptoms)) < 0.6)
    records = (rng.random((n_records, n_symptoms)) < 0.4).astype(float)
    if seed % 2:
        records[rng.random(records.shape) < 0.2] = np.nan
    labels = (rng.random((n_records, n_diseases)) < 0.3).astype(float)
    labels[rng.random(labels.shape) < 0.5] = np.nan
    ids = None if seed % 3 else [f"r{k}" for k in range(n_records)]
    return Findings.from_numpy(records, structure, record_ids=ids), records, labels


def as_lists(array):
    return [[None if np.isnan(value) else int(value) for value in row] for row in array]


def table_of(structure, labels, ids):
    columns = {
        str(name): [None if np.isnan(value) else int(value) for value in labels[:, i]]
        for i, name in enumerate(structure.diseases)
    }
    return pa.table({"record": ids, **columns})


@pytest.mark.parametrize("seed", range(60))
def test_counts_equal_slow_ones(seed):
    findings, records, labels = random_case(seed)
    structure = findings.structure
    plan = MomentPlan.coupled(structure)
    moments = count_moments(findings.with_labels(labels), plan, n_groups=7)
    looked, pairs = naive.labelled_counts(
        as_lists(records), as_lists(labels), structure.edges.tolist(), structure.n_diseases
    )
    diseases, edges = moments.labelled.totals()
    assert diseases.tolist() == looked
    assert edges.tolist() == pairs
    assert moments.labelled.n_records == int((~np.isnan(labels)).any(axis=1).sum())
    assert (moments.labelled.records <= moments.group_records).all()
    assert moments.with_labelled(None) == count_moments(findings, plan, n_groups=7)


@pytest.mark.parametrize("seed", range(0, 30, 3))
def test_parts_add_up_in_any_order(seed, tmp_path):
    findings, _, labels = random_case(seed)
    plan = MomentPlan.coupled(findings.structure)
    table = table_of(findings.structure, labels, findings.record_ids)
    whole = count_moments(findings.with_labels(labels), plan)
    assert count_moments(findings, plan, labels=table) == whole
    order = np.random.default_rng(seed).permutation(len(table))
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    findings[:40].to_parquet(files[0])
    findings[40:].to_parquet(files[1])
    assert count_moments(files, plan, labels=table.take(order)) == whole
    with pytest.warns(NoisyOrWarning, match="of 150 labels belong to no record"):
        parts = [count_moments(file, plan, labels=table) for file in files]
    assert parts[0] + parts[1] == parts[1] + parts[0] == whole
    assert whole != whole.with_labelled(None)


def test_a_site_without_labels_adds_findings_only():
    findings, _, labels = random_case(0)
    plan = MomentPlan.coupled(findings.structure)
    one, other = count_moments(findings.with_labels(labels), plan), count_moments(findings, plan)
    assert (one + other).labelled == (other + one).labelled == one.labelled


def test_files_keep_them_and_old_files_have_none(tmp_path):
    findings, _, labels = random_case(3)
    plan = MomentPlan.coupled(findings.structure)
    labelled = count_moments(findings.with_labels(labels), plan)
    for moments, version in (labelled, b"2"), (labelled.with_labelled(None), b"1"):
        moments.save(tmp_path / "a.moments")
        assert Moments.load(tmp_path / "a.moments") == moments
        with pa.OSFile(str(tmp_path / "a.moments")) as file:
            assert pa.ipc.open_file(file).schema.metadata[b"version"] == version
    assert "records with a label" in repr(labelled)
    fewer = labelled.in_groups(10)
    assert fewer.labelled.totals()[1].tolist() == labelled.labelled.totals()[1].tolist()
    assert len(fewer.labelled.records) == 10


def test_small_cells_of_labels_are_hidden_and_stay_hidden():
    network = datasets.figure1(rng=0)
    findings, diseases = network.sample(400, rng=1, return_diseases=True)
    labels = np.full(diseases.shape, np.nan)
    labels[:60] = diseases[:60]
    labels[:60, 1] = [1] * 57 + [0] * 3  # three without B
    plan = MomentPlan.coupled(network.structure)
    site = count_moments(findings.with_labels(labels), plan).suppressed(5)
    assert site.labelled.hidden.diseases.tolist() == [False, True]
    diseases, edges = site.labelled.totals()
    assert diseases[1].tolist() == [0, 0]
    of_b = network.structure.edges[:, 0] == 1
    assert not edges[of_b].any()
    cells = np.concatenate([edges, edges[:, [0]] - edges[:, [1]], edges[:, [2]] - edges[:, [3]]], 1)
    assert not ((cells > 0) & (cells < 5)).any()
    merged = site + site
    assert merged.labelled.hidden.diseases.tolist() == [False, True]
    assert merged.labelled.totals()[0].tolist() == [[120, 2 * diseases[0, 1]], [0, 0]]


def test_counts_that_cannot_be_are_refused():
    structure = Structure.from_edges([("flu", "fever")])
    zeros = LabelledCounts.zeros(structure, 2)
    with pytest.raises(NoisyOrError, match="larger than their number"):
        LabelledCounts(zeros.records, zeros.diseases + np.array([0, 1]), zeros.edges)
    moments = count_moments(Findings.from_numpy([[1]], structure), MomentPlan.coupled(structure))
    many = LabelledCounts.zeros(structure, moments.n_groups)
    many = LabelledCounts(many.records + 2, many.diseases, many.edges)
    with pytest.raises(NoisyOrError, match="more records are labelled than there are"):
        moments.with_labelled(many)


@pytest.mark.parametrize(
    ("ids", "labels", "message"),
    [
        (["a", "b"], [[1], [0]], "give a table or a file with a column of them"),
        (["a", "b"], pa.table({"flu": [1]}), "there are labels of 1 record, but findings of"),
        (["a", "b"], pa.table({"flu": [1, 0, 1]}), "there are labels of 3 records"),
        (["a", "b"], pa.table({"record": ["c"], "flu": [1]}), "none of its 1 labels"),
        (["a", "a"], pa.table({"record": ["a"], "flu": [1]}), "share an id: 'a'"),
        (["a", "b"], pa.table({"record": ["a", "a"], "flu": [1, 0]}), "more than one row"),
        (["a", "b"], pa.table({"record": ["a"], "gout": [1]}), "has no such disease"),
        (None, pa.table({"record": ["a"], "flu": [1]}), "the records have none"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*another row of the file has:noisyor.NoisyOrWarning")
@pytest.mark.filterwarnings("ignore:.*in the order of the records:noisyor.NoisyOrWarning")
def test_what_is_wrong_with_labels_is_told(ids, labels, message, tmp_path):
    structure = Structure.from_edges([("flu", "fever")])
    file = tmp_path / "records.parquet"
    Findings.from_numpy([[1], [0]], structure, record_ids=ids).to_parquet(file)
    with pytest.raises(NoisyOrError, match=message):
        count_moments(file, MomentPlan.coupled(structure), labels=labels)
