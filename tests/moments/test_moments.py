import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from conftest import random_records
from noisyor import Findings, MomentPlan, Moments, NoisyOrError, Structure, count_moments, datasets
from noisyor.moments.moments import Margins

SEEDS = st.integers(0, 2**32)


STRUCTURE = Structure.from_matrix(np.ones((1, 4)))


OLD = Path(__file__).parents[1] / "old_files"
PLAN = MomentPlan(STRUCTURE, triplets=list(itertools.combinations(range(4), 3)))


def counted(records, **options):
    return count_moments(Findings.from_numpy(records, STRUCTURE), PLAN, **options)


def rows_of(records):
    return [[None if np.isnan(cell) else int(cell) for cell in row] for row in records]


@given(SEEDS, st.sampled_from([0.0, 0.2]), st.sampled_from([0.0, 0.2]))
def test_merging_is_counting_all_records(seed, unknown_one, unknown_other):
    rng = np.random.default_rng(seed)
    one = random_records(rng, int(rng.integers(0, 200)), 4, unknown_one)
    other = random_records(rng, int(rng.integers(0, 200)), 4, unknown_other)
    parts = [counted(each) for each in (one, other)]
    merged = parts[0] + parts[1]
    assert merged == parts[1] + parts[0]
    rows = rows_of(np.concatenate([one, other]))
    for order in 1, 2, 3:
        expected = [both for _, both in naive.count_sets(rows, PLAN.sets(order).tolist())]
        assert merged.counts(order).tolist() == expected
        known = merged.with_margins()[order - 1].sum(axis=0)
        known = known if order == 1 else known[:, 0]
        assert known.tolist() == [n for n, _ in naive.count_sets(rows, PLAN.sets(order).tolist())]


def test_leaving_a_group_out():
    records = random_records(np.random.default_rng(0), 1000, 4)
    moments = counted(records, n_groups=5)
    groups = np.array(naive.groups_of_rows("", 1000, 5))
    for group in range(5):
        rest = counted(records[groups != group], n_groups=1)
        for order in 1, 2, 3:
            assert np.array_equal(moments.counts(order, without=group), rest.counts(order))
            np.testing.assert_array_equal(moments.ratios(order, without=group), rest.ratios(order))


def test_counters_widen_before_they_overflow():
    n = 3 * 10**9
    arrays = tuple(np.full((1, size), n, dtype=np.uint32) for size in PLAN.sizes)
    moments = Moments(PLAN, np.array([n]), arrays)
    assert moments.present[1].dtype == np.uint32
    both = moments + moments
    assert both.present[1].dtype == np.uint64
    assert (both.counts(2) == 2 * n).all()


def test_what_does_not_belong_together_is_not_merged():
    one = counted(np.zeros((5, 4)))
    other_plan = count_moments(
        Findings.from_numpy(np.zeros((5, 4)), STRUCTURE), MomentPlan.coupled(STRUCTURE)
    )
    network = datasets.figure1(0)
    other_structure = count_moments(network.sample(5, rng=0), MomentPlan.coupled(network.structure))
    for other, message in (
        (other_plan, "different plans"),
        (other_structure, "different structures"),
        (counted(np.zeros((5, 4)), n_groups=3), "50 and 3 groups"),
    ):
        with pytest.raises(NoisyOrError, match=message):
            _ = one + other
        assert one != other


@pytest.mark.parametrize("unknown", [0.0, 0.2])
@pytest.mark.parametrize("min_count", [1, 5])
def test_files_there_and_back(tmp_path, unknown, min_count):
    moments = counted(random_records(np.random.default_rng(0), 500, 4, unknown))
    if min_count > 1:
        moments = moments.suppressed(min_count)
    moments.save(tmp_path / "site.moments")
    again = Moments.load(tmp_path / "site.moments")
    assert again == moments
    assert again.plan.structure == STRUCTURE
    assert (again.margins is None) == (unknown == 0)


def test_files_of_another_kind_or_version(tmp_path, monkeypatch):
    moments = counted(np.zeros((5, 4)))
    PLAN.save(tmp_path / "pairs.plan")
    with pytest.raises(NoisyOrError, match="its 'format' is 'noisyor.plan'"):
        Moments.load(tmp_path / "pairs.plan")
    monkeypatch.setattr(Moments, "VERSION", 4)
    moments = count_moments(
        Findings.from_numpy(np.zeros((5, 4)), STRUCTURE),
        MomentPlan(STRUCTURE, quartets=[[0, 1, 2, 3]]),
    )
    moments.save(tmp_path / "new.moments")
    monkeypatch.undo()
    with pytest.raises(NoisyOrError, match="has version 4 of noisyor.moments; this noisyor reads"):
        Moments.load(tmp_path / "new.moments")
    (tmp_path / "text.moments").write_text("no moments")
    with pytest.raises(NoisyOrError, match="text.moments is not a readable noisyor.moments file"):
        Moments.load(tmp_path / "text.moments")


def test_equality():
    records = random_records(np.random.default_rng(0), 500, 4)
    moments = counted(records)
    assert moments == counted(records)
    assert moments != counted(1 - records)
    assert moments != counted(records[:499])
    assert moments != moments.suppressed(5)
    same = Moments(PLAN, moments.group_records, moments.present, moments.with_margins())
    assert same == moments
    wrong = Margins(*(margins.copy() for margins in moments.with_margins()))
    wrong.pairs[0, 0, 1] += 1
    assert Moments(PLAN, moments.group_records, moments.present, wrong) != moments


def table_of(records, members):
    """How many records have each pattern of presence and absence."""
    patterns = itertools.product([0, 1], repeat=len(members))
    return [int((records[:, members] == pattern).all(axis=1).sum()) for pattern in patterns]


@given(SEEDS, st.integers(2, 12))
def test_no_small_cell_is_exported(seed, min_count):
    rng = np.random.default_rng(seed)
    records = (rng.random((150, 4)) < rng.uniform(0, 0.6, 4)).astype(float)
    moments = counted(records)
    export = moments.suppressed(min_count)
    assert export.n_groups == 1
    for order in 1, 2, 3:
        for k, members in enumerate(PLAN.sets(order).tolist()):
            subsets = [s for r in range(1, order + 1) for s in itertools.combinations(members, r)]
            cells = [cell for subset in subsets for cell in table_of(records, list(subset))]
            is_small = any(0 < cell < min_count for cell in cells)
            assert bool(export.hidden[order - 1][k]) == is_small
            if is_small:
                assert export.counts(order)[k] == 0
                assert np.isnan(export.negative_moments(order)[k])
            else:
                assert export.counts(order)[k] == moments.counts(order)[k]
    merged = export + export
    assert np.array_equal(merged.hidden[1], export.hidden[1])


def test_min_count_must_be_positive():
    with pytest.raises(NoisyOrError, match="min_count must be at least 1"):
        counted(np.zeros((5, 4))).suppressed(0)


def test_a_hidden_set_stays_hidden_in_a_sum():
    rng = np.random.default_rng(0)
    rare = (rng.random((200, 4)) < [0.01, 0.4, 0.4, 0.4]).astype(float)
    common = (rng.random((200, 4)) < 0.4).astype(float)
    site, other = counted(rare).suppressed(10), counted(common).suppressed(10)
    assert site.hidden[0][0]
    assert not other.hidden[0][0]
    for merged in site + other, other + site:
        assert merged.hidden[0][0]
        assert merged.counts(1)[0] == 0
        assert np.isnan(merged.negative_moments(1)[0])


def test_damaged_counts_are_refused(tmp_path):
    moments = counted(random_records(np.random.default_rng(0), 500, 4))
    columns = moments.to_columns()
    columns["pairs_present"] = columns["pairs_present"].copy()
    columns["pairs_present"][0] ^= 1
    values = {name: np.asarray(value) for name, value in columns.items()}
    with pytest.raises(NoisyOrError, match="its counts are not those that were written"):
        Moments.from_columns(values, "some.moments")
    too_many = tuple(np.full((1, size), 9, dtype=np.uint32) for size in PLAN.sizes)
    with pytest.raises(NoisyOrError, match="a count is larger than the number of its records"):
        Moments(PLAN, np.array([5]), too_many)


def test_sums_and_populations():
    parts = [counted(np.zeros((5, 4))) for _ in range(3)]
    assert sum(parts).n_records == 15
    one, other = datasets.figure1(1), datasets.figure1(2)
    plan = MomentPlan.coupled(one.structure)
    assert Moments.exact(one, plan) == Moments.exact(one, plan)
    assert Moments.exact(one, plan) != Moments.exact(other, plan)
    with pytest.raises(NoisyOrError, match="exact moments cannot be merged"):
        _ = count_moments(one.sample(5, rng=0), plan) + Moments.exact(one, plan)
    with pytest.raises(NoisyOrError, match="no excess"):
        parts[0].excesses(1)
    with pytest.raises(NoisyOrError, match="there is no group 99"):
        parts[0].counts(1, without=99)


def test_files_of_version_1_are_read():
    moments = Moments.load(OLD / "moments_1.moments")
    records = datasets.figure1(0).sample(300, rng=0)
    assert moments == count_moments(records, moments.plan, n_groups=3)
    assert moments.plan.quartets.shape == (0, 4)


def test_quartets_there_and_back_and_what_they_have(tmp_path):
    plan = MomentPlan(STRUCTURE, quartets=[[0, 1, 2, 3]])
    records = random_records(np.random.default_rng(0), 500, 4, 0.1)
    moments = count_moments(Findings.from_numpy(records, STRUCTURE), plan, n_groups=3)
    moments.save(tmp_path / "some.moments")
    assert Moments.load(tmp_path / "some.moments") == moments
    absent = (records[~np.isnan(records).any(axis=1)] == 0).all(axis=1).mean()
    assert moments.negative_moments(4) == pytest.approx([absent])
    assert (moments + moments).negative_moments(4) == pytest.approx([absent])
    with pytest.raises(NoisyOrError, match="quartets have quartet_tables"):
        moments.ratios(4)
    hidden = moments.suppressed(100)
    assert np.isnan(hidden.negative_moments(4)).all()
    with pytest.raises(NoisyOrError, match="hidden as too small"):
        hidden.quartet_tables()


def test_quartets_of_a_population():
    network = datasets.figure1(0)
    plan = MomentPlan(network.structure, quartets=[[0, 1, 2, 3]])
    exact = Moments.exact(network, plan)
    assert exact.negative_moments(4) == pytest.approx(network.negative_moments([[0, 1, 2, 3]]))
    with pytest.raises(NoisyOrError, match="no counts"):
        exact.quartet_tables()
