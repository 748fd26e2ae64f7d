import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from conftest import random_records
from noisyor import Findings, MomentPlan, NoisyOrError, Structure, count_moments, datasets
from noisyor.moments import tally

SEEDS = st.integers(0, 2**32)


def structure_with(n_symptoms):
    return Structure.from_matrix(np.ones((1, n_symptoms)))


def random_plan(rng, structure):
    """Some sets of each order, with repeats and in any order."""
    n = structure.n_symptoms
    sets = [[], [], [], []]
    for order in range(1, min(n, 4) + 1):
        for _ in range(int(rng.integers(0, 12))):
            sets[order - 1].append(rng.permutation(n)[:order].tolist())
    return MomentPlan(structure, *sets)


def as_lists(records):
    return [[None if np.isnan(cell) else int(cell) for cell in row] for row in records]


def check(moments, plan, records, groups):
    """Compare every count, group by group, with the naive ones."""
    rows = as_lists(records)
    n_groups = moments.n_groups
    assert moments.n_records == len(rows)
    by_group = [
        [row for row, g in zip(rows, groups, strict=True) if g == k] for k in range(n_groups)
    ]
    assert moments.group_records.tolist() == [len(each) for each in by_group]
    margins = moments.with_margins()
    for order in 1, 2, 3, 4:
        sets = plan.sets(order).tolist()
        for group in range(n_groups):
            expected = naive.count_sets(by_group[group], sets)
            assert moments.present[order - 1][group].tolist() == [both for _, both in expected]
            known = margins[order - 1][group]
            known = known if order == 1 else known[:, 0]
            assert known.tolist() == [n for n, _ in expected]
    check_margins(moments, plan, rows)
    tables = [naive.count_quartet(rows, members) for members in plan.quartets.tolist()]
    assert moments.quartet_tables().tolist() == tables


def check_margins(moments, plan, rows):
    """Compare the counts of subsets, over the records in which the whole set is known."""
    margins = [each.sum(axis=0) for each in moments.with_margins()]
    for order in (2, 3, 4):
        subsets = [
            s for size in range(1, order) for s in itertools.combinations(range(order), size)
        ]
        for members, counted in zip(plan.sets(order).tolist(), margins[order - 1], strict=True):
            known = [row for row in rows if all(row[j] is not None for j in members)]
            for column, subset in enumerate(subsets, start=1):
                chosen = [members[k] for k in subset]
                assert counted[column] == naive.count_sets(known, [chosen])[0][1]


@settings(max_examples=150)
@given(
    SEEDS,
    st.sampled_from([0, 1, 63, 64, 65, 128, 200, 700]),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.0, 0.2]),
    st.sampled_from([1, 2, 7, 50]),
    st.sampled_from([1, 3]),
)
def test_counts_in_memory_agree_with_naive(seed, n_records, n_symptoms, unknown, n_groups, threads):
    rng = np.random.default_rng(seed)
    records = random_records(rng, n_records, n_symptoms, unknown)
    if n_symptoms > 2:
        records[:, 0], records[:, 1] = 0, 1
    structure = structure_with(n_symptoms)
    plan = random_plan(rng, structure)
    findings = Findings.from_numpy(records, structure)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "LISTED_PAIR_SECONDS", float(rng.choice([1e-20, 1.0])))
        moments = count_moments(findings, plan, n_groups=n_groups, n_jobs=threads)
    check(moments, plan, records, naive.groups_of_rows("", n_records, n_groups))


@given(
    SEEDS, st.integers(1, 300), st.sampled_from([0.0, 0.2]), st.booleans(), st.sampled_from([1, 7])
)
def test_records_with_ids_go_by_their_ids(seed, n_records, unknown, as_text, n_groups):
    rng = np.random.default_rng(seed)
    records = random_records(rng, n_records, 5, unknown)
    numbers = rng.permutation(n_records) * int(rng.integers(1, 2**40)) - 2**35
    ids = [f"pätient {number}" for number in numbers] if as_text else numbers.tolist()
    findings = Findings.from_numpy(records, structure_with(5), record_ids=ids)
    plan = MomentPlan(structure_with(5), triplets=list(itertools.combinations(range(5), 3)))
    moments = count_moments(findings, plan, n_groups=n_groups)
    check(moments, plan, records, [naive.group_of_id(each, n_groups) for each in ids])


@pytest.mark.parametrize("n_records", [8191, 8192, 8193, 30_000])
@pytest.mark.parametrize("n_groups", [1, 2, 50])
def test_many_blocks(n_records, n_groups):
    records = random_records(np.random.default_rng(n_records), n_records, 3)
    structure = structure_with(3)
    plan = MomentPlan(structure, triplets=[[0, 1, 2]])
    findings = Findings.from_numpy(records, structure)
    moments = count_moments(findings, plan, n_groups=n_groups)
    check(moments, plan, records, naive.groups_of_rows("", n_records, n_groups))


def test_blocks_that_start_anywhere():
    """Findings joined from pieces of odd sizes count like those made in one piece."""
    records = random_records(np.random.default_rng(0), 9000, 4, 0.05)
    structure = structure_with(4)
    pieces = [records[:37], records[37:8300], records[8300:8400], records[8400:]]
    blocks = [block for piece in pieces for block in Findings.from_numpy(piece, structure).blocks]
    plan = MomentPlan.coupled(structure)
    whole = count_moments(Findings.from_numpy(records, structure), plan)
    assert count_moments(Findings(structure, blocks), plan) == whole


@pytest.mark.parametrize("layout", ["wide", "long"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("unknown", [0.0, 0.1])
def test_files_count_like_naive(tmp_path, layout, kind, unknown):
    rng = np.random.default_rng(1)
    structure = structure_with(4)
    plan = MomentPlan(structure, triplets=[[0, 1, 2], [1, 2, 3]], quartets=[[3, 1, 0, 2]])
    paths, all_records, groups = [], [], []
    for number, size in enumerate((100, 0, 9000)):
        records = random_records(rng, size, 4, unknown)
        path = tmp_path / f"part{number}.{kind}"
        ids = [number * 10_000 + row for row in range(size)] if layout == "long" else None
        findings = Findings.from_numpy(records, structure, record_ids=ids if size else None)
        (findings.to_csv if kind == "csv" else findings.to_parquet)(path, layout=layout)
        paths.append(path)
        all_records.append(records)
        if layout == "wide":
            groups += naive.groups_of_rows(path.name, size, 50)
        else:
            groups += [naive.group_of_id(str(i) if kind == "csv" else i, 50) for i in ids]
    moments = count_moments(paths, plan)
    check(moments, plan, np.concatenate(all_records), groups)
    parts = [count_moments(path, plan) for path in paths]
    assert parts[2] + parts[0] + parts[1] == moments


def test_a_record_with_rows_in_two_files_is_counted_once(tmp_path):
    structure = structure_with(2)
    for name, rows in ("a", [(1, "S0"), (2, "S0")]), ("b", [(2, "S1"), (3, "S1")]):
        table = pa.table({"record": [row[0] for row in rows], "symptom": [row[1] for row in rows]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    plan = MomentPlan(structure, pairs=[[0, 1]])
    with pytest.warns(UserWarning, match="record 2 has rows in two files"):
        moments = count_moments(paths, plan)
    assert (moments.n_records, moments.counts(2).tolist()) == (3, [1])
    apart = count_moments(paths, plan, ids_per_file=True)
    assert (apart.n_records, apart.counts(2).tolist()) == (4, [0])


def test_records_without_findings_are_counted(tmp_path):
    table = pa.table({"record": [1], "symptom": ["S0"]})
    plan = MomentPlan.coupled(structure_with(2))
    for options in {"n_records": 100}, {"all_records": list(range(100))}:
        moments = count_moments(table, plan, **options)
        assert moments.n_records == 100
        assert moments.counts(1).tolist() == [1, 0]


def test_progress_adds_up_to_all_records():
    network = datasets.clinic()
    seen = []
    count_moments(
        network.sample(20_000, rng=0), MomentPlan.coupled(network.structure), progress=seen.append
    )
    assert sum(seen) == 20_000
    assert len(seen) > 1


def test_wrong_sources_are_refused(tmp_path):
    plan = MomentPlan.coupled(structure_with(2))
    with pytest.raises(NoisyOrError, match="these findings are of other symptoms"):
        count_moments(datasets.clinic().sample(1, rng=0), plan)
    with pytest.raises(NoisyOrError, match="does not exist"):
        count_moments(tmp_path / "none.csv", plan)
    for wrong in 0, 10**8, "3":
        with pytest.raises(NoisyOrError, match="n_groups must be at least 1"):
            count_moments(pa.table({"S0": [1], "S1": [1]}), plan, n_groups=wrong)
    for wrong in -2, 2.5:
        with pytest.raises(NoisyOrError, match="n_jobs must be a whole number"):
            count_moments(pa.table({"S0": [1], "S1": [1]}), plan, n_jobs=wrong)
    with pytest.raises(NoisyOrError, match="need no options to read: 'layout'"):
        count_moments(Findings.from_numpy([[1, 0]], structure_with(2)), plan, layout="wide")
