"""People sampled on a cluster: the sums of one machine; and what is learned from them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from clusters import HereCluster, client_of_small_jobs, write_groups
from noisyor import Findings, NoisyOrLearner
from noisyor.em.cause_models import LogisticModel
from noisyor.em.cells import Cells
from noisyor.em.people import PeopleSampler
from noisyor.em.people_on_cluster import ClusterPeopleSampler, RecordsOnCluster
from noisyor.errors import FileError, NoisyOrWarning, ParameterError
from noisyor.findings.cluster_reading import split_records
from noisyor.findings.label_tables import LabelTable
from noisyor.findings.reading import RecordFormat
from noisyor.learning import together as together_module
from noisyor.learning.sources import RecordSource
from noisyor.network import Covariate, Effects, Trait
from noisyor.network.design import make_design
from together import small_network

N = 1500


@pytest.fixture
def client(monkeypatch):
    """What takes the place of a Dask client, and gives small jobs."""
    return client_of_small_jobs(monkeypatch)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A network with a trait and an effect of age, its records in a file, ages and labels."""
    rng, ages = np.random.default_rng(0), np.arange(20.0, 80.0)
    cells = ((ages - 50.0) / 20.0)[:, np.newaxis]
    effects = Effects(
        [Covariate("age", (), 50.0, 20.0)], np.full((4, 1), 0.7), cells, np.full(60, 1 / 60)
    )
    causes = Trait(np.full(4, -1.2), np.array([[1.5], [1.2], [1.8], [1.0]]), effects)
    network = small_network(causes, rng)
    people = pd.DataFrame({"record": np.arange(N) + 7, "age": rng.choice(ages, N)})
    sampled, diseases = network.sample(N, rng=1, covariates=people[["age"]], return_diseases=True)
    findings = Findings.from_numpy(
        sampled.to_numpy(), network.structure, record_ids=people.record.to_numpy()
    )
    path = write_groups(findings, tmp_path_factory.mktemp("people") / "a.parquet", 350)
    people = people.sample(frac=1.0, random_state=0)  # joined by ids, not by their order
    rows = rng.permutation(N)[:200]
    named = {str(name): diseases[rows, i] for i, name in enumerate(network.structure.diseases)}
    return network, findings, str(path), people, pa.table({"record": rows + 7, **named})


def test_every_step_equals_that_in_memory(case, client):
    network, findings, path, people, labels = case
    table = LabelTable.read(labels, network.structure)
    design = make_design(people, findings)
    model, cells = LogisticModel.of(4, 1, design), Cells.of(design)
    labelled = table.put_to(findings)
    records = split_records(HereCluster(), path, network.structure, RecordFormat())
    there = ClusterPeopleSampler(RecordsOnCluster(records, table), model, cells, 1e-9)
    here = PeopleSampler(
        network.structure, findings.blocks, model, cells, least_odds=1e-9, labels=labelled.labels
    )  # fmt: skip
    assert len(there.starts) > 3
    before = there._samplers[0].value
    states = before.states.copy(), before._people.nodes.copy()
    for seed in 1, 2:  # the second goes on from where the first ended
        one, other = (
            each.expect(network, len(each.starts) - 1, must_screen=True, n_sweeps=1, seed=seed)
            for each in (there, here)
        )
        assert all(map(np.allclose, one, other))
    # A step can be made again if its worker is lost: it leaves what it began with.
    assert np.array_equal(before.states, states[0])
    assert np.array_equal(before._people.nodes, states[1])
    assert there.bound(network, 3).total == pytest.approx(here.bound(network, 3).total)
    one, other = (each.inform_causes(network, 2, 5).matrix for each in (there, here))
    assert one == pytest.approx(other, rel=1e-4, abs=0.05)  # float32
    some = here.inform_causes(network, 2, 5, every=2).matrix  # blocks of 1024: the first of two
    scale = np.sqrt(np.diag(other))
    off = (some - other) / np.outer(scale, scale)
    assert np.diag(some).sum() == pytest.approx(np.trace(other), rel=0.2)
    assert np.abs(off).max() < 0.5
    thin = there.thinned(2)
    parts = [each.value.thinned(2) for each in there._samplers]
    assert np.diff(thin.starts).tolist() == [each.starts[-1] for each in parts]
    assert np.array_equal(thin.known, np.sum([each.known for each in parts], axis=0))


@pytest.mark.parametrize("causes", ["joint", pytest.param("trait", marks=pytest.mark.slow)])
def test_what_is_summed_up_exactly_is_what_one_machine_learns(case, client, causes):
    network, _, path, people, labels = case
    known = {} if causes == "joint" else {"covariates": people}
    found = [
        NoisyOrLearner(network.structure, causes=causes, tol=1e-3).fit(
            path, labels, **known, **where
        )
        for where in ({}, {"client": client})
    ]
    here, there = (each.estimate_ for each in found)
    assert here == there
    assert here.learned_causes == there.learned_causes
    assert here.moments == there.moments


def test_what_is_sampled_stays_on_the_cluster(case, client, monkeypatch):
    network, _, path, people, labels = case
    monkeypatch.setattr(together_module, "MOST_TOGETHER", 0)
    monkeypatch.setattr(RecordSource, "gather", None)
    learner = NoisyOrLearner(network.structure, causes="trait", max_iter=4)
    found, other = [], labels.slice(0, 1).set_column(0, "record", [[-1]])
    more = pa.concat_tables([labels, other])
    for where in ({}, {"client": client}):
        with pytest.warns(NoisyOrWarning, match="1 of 201 labels belong to no record"):
            learner.fit(path, more, covariates=people, **where)
        found.append(learner.estimate_)
    here, there = found
    # The start is summed up exactly here, and sampled there; four rounds forget most of it.
    errors = here.learned_causes.standard_errors
    off = (here.learned_causes.values - there.learned_causes.values) / errors
    assert np.sqrt(np.nanmean(off**2)) < 0.5
    assert there.n_records == N


def test_what_a_cluster_cannot_do_is_refused(case, client, tmp_path):
    network, findings, path, _, _ = case
    learner = NoisyOrLearner(network.structure, causes="joint")
    findings.to_csv(tmp_path / "long.csv", layout="long")
    with pytest.raises(ParameterError, match="a row per finding a cluster does not learn how"):
        learner.fit(str(tmp_path / "long.csv"), client=client)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    files = [path, str(tmp_path / "broken.parquet")]
    with pytest.raises(FileError, match="broken"):
        learner.fit(files, client=client)
    with pytest.warns(NoisyOrWarning, match="1 file that could not be read"):
        learner.fit(files, client=client, skip_broken=True)
    assert learner.skipped_ == [files[1]]
    assert learner.estimate_.n_records == N
