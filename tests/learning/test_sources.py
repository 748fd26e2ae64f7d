"""Records in memory, in files and on a cluster, as methods ask for them."""

import numpy as np
import pytest

from noisyor import MomentPlan, count_moments, datasets
from noisyor.errors import ParameterError
from noisyor.findings.reading import RecordFormat
from noisyor.learning.sources import RecordSource


def test_records_in_memory_and_in_files_are_the_same(tmp_path):
    network = datasets.figure1(0)
    findings = network.sample(500, rng=1)
    findings.to_csv(tmp_path / "records.csv", layout="long")
    seen = []
    form = RecordFormat(n_records=500)
    source = RecordSource(tmp_path / "records.csv", network.structure, form, seen.append)
    plan = MomentPlan.all_pairs(network.structure)
    assert source.moments is None
    assert source.count(plan, 1, None) == count_moments(findings, plan, n_groups=1)
    assert sum(seen) == 500
    read = source.findings()
    assert (read.to_numpy() == findings.to_numpy()).all()
    assert source.findings() is read
    assert source.sampler() is read
    (tmp_path / "records.csv").unlink()  # they are in memory now
    assert source.count(plan, 1, None).n_records == 500


def test_moments_are_all_there_is():
    network = datasets.figure1(0)
    moments = count_moments(network.sample(100, rng=1), MomentPlan.all_pairs(network.structure))
    assert RecordSource(moments, network.structure).moments is moments


def test_records_on_a_cluster_do_not_come_into_memory():
    network = datasets.figure1(0)
    source = RecordSource(["records.csv"], network.structure, client="a client")
    with pytest.raises(ParameterError, match="learns from records on one machine"):
        source.findings()


def test_records_that_are_here_need_no_cluster():
    network = datasets.figure1(0)
    findings = network.sample(10, rng=1)
    assert RecordSource(findings, network.structure, client="a client").sampler() is findings
    with pytest.raises(ParameterError, match="skip_broken is for files"):
        RecordSource(findings, network.structure, client="a client", skip_broken=True)


def test_labels_are_counted_wherever_the_records_are():
    network = datasets.figure1(0)
    findings, diseases = network.sample(100, rng=1, return_diseases=True)
    labels = np.where(np.arange(100)[:, None] < 40, diseases, np.nan)
    plan = MomentPlan.coupled(network.structure)
    source = RecordSource(findings, network.structure)
    assert source.seen is None
    assert source.labelled is None
    source.label(labels, complete=False)
    moments = source.count(plan, 1, None)
    counted = RecordSource(moments, network.structure)
    assert counted.labelled is moments.labelled
    for each in source, counted:
        assert each.seen.seen.tolist() == diseases[:40].sum(axis=0).tolist()
        assert (each.seen.seen + each.seen.absent == 40).all()
        assert each.labelled.n_records == 40
