"""The group of a record: the same however the work is split."""

import numpy as np
import pytest

from conftest import random_records
from noisyor import Findings, MomentPlan, Moments, Structure, count_moments, datasets


def structure_with(n_symptoms):
    return Structure.from_matrix(np.ones((1, n_symptoms)))


def test_groups_do_not_depend_on_the_directory(tmp_path):
    findings = Findings.from_numpy(
        random_records(np.random.default_rng(0), 500, 3), structure_with(3)
    )
    plan = MomentPlan.coupled(structure_with(3))
    counted = []
    for folder in "here", "there":
        (tmp_path / folder).mkdir()
        findings.to_parquet(tmp_path / folder / "records.parquet")
        counted.append(count_moments(tmp_path / folder / "records.parquet", plan))
    assert counted[0] == counted[1]
    findings.to_parquet(tmp_path / "other.parquet")
    assert count_moments(tmp_path / "other.parquet", plan) != counted[0]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_groups_do_not_depend_on_how_records_arrive(tmp_path, kind):
    """Files with odd numbers of records: counted as they are read, or read into memory first."""
    structure = datasets.clinic().structure
    plan, files = MomentPlan.coupled(structure), []
    for number, n_records in enumerate((100, 9000, 63)):
        findings = datasets.clinic().sample(n_records, rng=number)
        files.append(tmp_path / f"{number}.{kind}")
        (findings.to_csv if kind == "csv" else findings.to_parquet)(files[-1])
    from_files = count_moments(files, plan)
    in_memory = Findings.read(files, structure)
    assert count_moments(in_memory, plan) == from_files
    assert count_moments(in_memory.with_structure(structure), plan) == from_files
    blocks = (each.blocks for each in Findings.iter_blocks(files, structure, block_records=128))
    streamed = Findings(structure, [block for some in blocks for block in some])
    assert count_moments(streamed, plan) == from_files
    without_files = count_moments(Findings.from_numpy(in_memory.to_numpy(), structure), plan)
    assert without_files != from_files  # a negative control: these rows have no file to go by
    assert without_files.in_groups(1) == from_files.in_groups(1)


def test_all_groups_get_about_as_many_records():
    network = datasets.figure1(0)
    plan = MomentPlan.coupled(network.structure)
    for n_records in 6400, 100_000, 500_000:
        sizes = count_moments(network.sample(n_records, rng=0), plan).group_records
        assert sizes.min() > 0
        assert sizes.max() <= 2 * sizes.min()
    assert isinstance(count_moments(network.sample(10, rng=0), plan), Moments)
