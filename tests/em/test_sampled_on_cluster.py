"""EM on a cluster: the sums of one machine, whoever keeps which records."""

import numpy as np
import pyarrow as pa
import pytest

from clusters import CLUSTER_MARKS, local_client, write_groups
from noisyor import Findings, NoisyOrLearner, Structure, datasets
from noisyor.cluster import Cluster
from noisyor.em.sampled import RecordSampler, with_children
from noisyor.em.sampled_on_cluster import ClusterSampler
from noisyor.em.stochastic import StochasticSettings
from noisyor.errors import ChangedFileError, FindingsError, ParameterError
from noisyor.findings import cluster_reading
from noisyor.findings.cluster_reading import split_records
from noisyor.findings.label_tables import LabelTable
from noisyor.findings.reading import RecordFormat

pytestmark = CLUSTER_MARKS


@pytest.fixture(scope="module")
def cluster():
    """A cluster in this process: what tests change here, its workers see."""
    with local_client(processes=False) as client:
        yield Cluster(client)


@pytest.fixture
def small_jobs(monkeypatch):
    monkeypatch.setattr(cluster_reading, "FEWEST_ROWS", 500)
    monkeypatch.setattr(cluster_reading, "JOBS_PER_THREAD", 10)


def close(found, expected):
    """Sums of floats, which jobs add up in another order."""
    return all(
        np.allclose(mine, theirs, rtol=1e-9, atol=1e-9)
        for mine, theirs in zip(found, expected, strict=True)
    )


def test_every_step_equals_that_in_memory(cluster, tmp_path, small_jobs):
    network = datasets.clinic()
    structure = network.structure
    findings = network.sample(3000, rng=1)
    path = write_groups(findings, tmp_path / "a.parquet", 700)
    there = ClusterSampler(split_records(cluster, path, structure, RecordFormat()))
    here = RecordSampler(structure, findings.blocks, StochasticSettings.of(structure).least_odds)
    assert len(there.starts) > 3  # several jobs
    assert there.starts[-1] == here.starts[-1] == 3000
    assert there.known.tolist() == here.known.tolist()
    for seed in 1, 2:  # the second goes on from where the first ended
        steps = [
            each.expect(network, len(each.starts) - 1, must_screen=seed == 1, n_sweeps=2, seed=seed)
            for each in (there, here)
        ]
        assert close(*steps)
    assert there.share_enumerated() == pytest.approx(here.share_enumerated())
    assert close(there.inform(network, 4, 5), here.copied().inform(network, 4, 5))
    assert close(there.score(network, 4, 7), here.score(network, 4, 7))
    following = np.linspace(-1.0, 1.0, structure.n_edges)
    shared = (each.share(network, following, 4, 8) for each in (there, here))
    assert next(shared) == pytest.approx(next(shared))


def test_a_disease_without_symptoms_takes_no_part(cluster, tmp_path):
    network = datasets.figure1(0)
    own = network.structure
    structure = Structure([*own.diseases, "causes nothing"], own.symptoms, own.edges)
    findings = network.sample(1000, rng=1)
    findings.to_parquet(tmp_path / "a.parquet")
    split = split_records(cluster, tmp_path / "a.parquet", structure, RecordFormat())
    there = ClusterSampler(split)
    assert there.structure == with_children(structure) == own
    here = RecordSampler(own, findings.blocks, StochasticSettings.of(own).least_odds)
    asked = {"must_screen": True, "n_sweeps": 2, "seed": 1}
    assert close(*(each.expect(network, 99, **asked) for each in (there, here)))


def test_only_the_first_jobs_take_part_in_a_warm_up(cluster, tmp_path, small_jobs):
    network = datasets.figure1(0)
    path = write_groups(network.sample(3000, rng=1), tmp_path / "a.parquet", 700)
    sampler = ClusterSampler(split_records(cluster, path, network.structure, RecordFormat()))
    options = {"must_screen": True, "n_sweeps": 1, "seed": 1}
    some = sampler.expect(network, 1, **options).cases
    every = sampler.expect(network, len(sampler.starts) - 1, **options).cases
    share = sampler.starts[1] / 3000
    assert 0 < share < 0.5
    assert some / every == pytest.approx(np.full(2, share), rel=0.2)


def test_what_cannot_stay_on_workers_is_refused(cluster, tmp_path):
    network = datasets.figure1(0)
    form = RecordFormat()
    network.sample(0, rng=1).to_parquet(tmp_path / "none.parquet")
    none = split_records(cluster, tmp_path / "none.parquet", network.structure, form)
    with pytest.raises(ParameterError, match="there are no records"):
        ClusterSampler(none)
    network.sample(50, rng=1).to_parquet(tmp_path / "long.parquet", layout="long")
    long = split_records(cluster, tmp_path / "long.parquet", network.structure, form)
    with pytest.raises(ParameterError, match="a row per finding cannot stay"):
        ClusterSampler(long)


def test_records_that_were_counted_are_those_that_are_sampled(cluster, tmp_path):
    network = datasets.figure1(0)
    files = [tmp_path / "a.parquet", tmp_path / "b.csv"]
    network.sample(300, rng=1).to_parquet(files[0])
    network.sample(300, rng=2).to_csv(files[1])
    records = split_records(cluster, files, network.structure, RecordFormat(), skip_broken=True)
    records.end_pass(600)
    assert ClusterSampler(records).starts[-1] == 600
    files[1].write_text(files[1].read_text() + "1,1,1,1,1\n")
    with pytest.raises(ChangedFileError, match=r"b\.csv was changed while the work went on"):
        ClusterSampler(records)


def test_other_numbers_of_records_than_were_counted_are_an_error(cluster, tmp_path):
    network = datasets.figure1(0)
    network.sample(300, rng=1).to_parquet(tmp_path / "a.parquet")
    records = split_records(cluster, tmp_path / "a.parquet", network.structure, RecordFormat())
    records.end_pass(301)
    with pytest.raises(ChangedFileError, match="300 records in this pass .* were 301"):
        ClusterSampler(records)


def test_labels_go_with_the_records(cluster, tmp_path, small_jobs):
    network = datasets.clinic()
    structure = network.structure
    findings, diseases = network.sample(2500, rng=1, return_diseases=True)
    findings = Findings.from_numpy(findings.to_numpy(), structure, record_ids=range(2500))
    rows = np.random.default_rng(2).permutation(2500)[:300]
    columns = {str(name): diseases[rows, i] for i, name in enumerate(structure.diseases)}
    table = LabelTable.read(pa.table({"record": rows, **columns}), structure)
    labelled = table.put_to(findings)
    path = write_groups(findings, tmp_path / "a.parquet", 700)
    there = ClusterSampler(split_records(cluster, path, structure, RecordFormat()), table)
    least_odds = StochasticSettings.of(structure).least_odds
    chosen = labelled.chosen(labelled.labels.is_labelled)
    heres = [
        RecordSampler(structure, each.blocks, least_odds, labels=each.labels)
        for each in (labelled, chosen)
    ]
    assert there.labelled().starts[-1] == 300
    assert [each.tolist() for each in there.seen[1:]] == [
        each.tolist() for each in labelled.labels.counts()[1:]
    ]
    asked = {"must_screen": True, "n_sweeps": 2, "seed": 1}
    for one, other in zip((there, there.labelled()), heres, strict=True):
        assert close(one.expect(network, 99, **asked), other.expect(network, 99, **asked))
    assert there.labelled().expect(network, 99, **asked).cases == pytest.approx(
        diseases[rows].sum(axis=0)
    )


def test_a_disease_without_symptoms_has_a_prior_if_it_has_labels(cluster, tmp_path):
    own = datasets.figure1(0)
    structure = Structure(
        [*own.structure.diseases, "causes nothing"], own.structure.symptoms, own.structure.edges
    )
    findings = Findings.from_numpy(
        own.sample(1000, rng=1).to_numpy(), structure, record_ids=range(1000)
    )
    findings.to_parquet(tmp_path / "a.parquet")
    labels = pa.table({"record": range(200), "causes nothing": [1] * 60 + [0] * 140})
    learner = NoisyOrLearner(structure).fit(
        str(tmp_path / "a.parquet"), labels, client=cluster._client
    )
    assert learner.estimate_.values.priors[2] == pytest.approx(0.3, abs=0.01)
    with pytest.raises(FindingsError, match="joined by ids"):
        NoisyOrLearner(structure).fit(
            str(tmp_path / "a.parquet"), np.ones((1000, 3)), client=cluster._client
        )
