import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

import naive
from conftest import random_records
from noisyor import Findings, NoisyOrError, NoisyOrWarning, Structure, datasets
from noisyor.errors import FindingsError
from noisyor.findings.blocks import BLOCK_RECORDS

SEEDS = st.integers(0, 2**32)
SIZES = st.sampled_from([0, 1, 2, 63, 64, 65, 127, 128, 200])


def structure_with(n_symptoms):
    return Structure.from_matrix(np.ones((1, n_symptoms)))


def same(array, records):
    return np.array_equal(np.asarray(array, dtype=float), records, equal_nan=True)


@given(SEEDS, SIZES, st.integers(1, 70), st.sampled_from([0.0, 0.3]))
def test_numpy_and_sparse_there_and_back(seed, n_records, n_symptoms, unknown):
    rng = np.random.default_rng(seed)
    records = random_records(rng, n_records, n_symptoms, unknown)
    structure = structure_with(n_symptoms)
    findings = Findings.from_numpy(records, structure)
    assert findings.n_records == len(findings) == n_records
    assert findings.has_unknown == bool(np.isnan(records).any())
    assert same(findings.to_numpy(), records)
    sparse = findings.to_sparse()
    assert same(sparse.toarray(), records)
    for matrix in sparse, scipy.sparse.coo_array(records), scipy.sparse.csc_matrix(records):
        assert Findings.from_sparse(matrix, structure) == findings
    if n_records:
        assert findings.count_present().tolist() == naive.count_present(records.tolist())
        assert findings.count_unknown().tolist() == np.isnan(records).sum(axis=0).tolist()


@pytest.mark.parametrize(
    "n_records", [BLOCK_RECORDS - 1, BLOCK_RECORDS, BLOCK_RECORDS + 65, 20_000]
)
@pytest.mark.parametrize("unknown", [0.0, 0.001])
def test_many_blocks(n_records, unknown):
    records = random_records(np.random.default_rng(n_records), n_records, 7, unknown)
    findings = Findings.from_numpy(records, structure_with(7), record_ids=np.arange(n_records))
    assert len(findings.blocks) == -(-n_records // BLOCK_RECORDS)
    assert same(findings.to_numpy(), records)
    assert Findings.from_sparse(findings.to_sparse(), structure_with(7)) == findings
    assert findings.record_ids.to_pylist() == list(range(n_records))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32, object])
def test_any_type_of_array(dtype):
    array = np.array([[1, 0], [0, 1]]).astype(dtype)
    assert Findings.from_numpy(array, structure_with(2)).to_numpy().tolist() == [
        [True, False],
        [False, True],
    ]


def test_unknown_findings_from_nan_none_and_masks():
    structure = structure_with(2)
    expected = Findings.from_numpy([[1, np.nan], [0, 1]], structure)
    masked = np.ma.array([[1, 7], [0, 1]], mask=[[0, 1], [0, 0]])
    for array in np.array([[1, None], [0, 1]], dtype=object), masked:
        assert Findings.from_numpy(array, structure) == expected


def test_no_bit_is_set_past_the_end_or_under_an_unknown():
    """Counting relies on it: kernels read whole words."""
    records = random_records(np.random.default_rng(0), 100, 5, unknown=0.3)
    for findings in (
        Findings.from_numpy(records, structure_with(5)),
        Findings.read(pd.DataFrame(records, columns=list("abcde")), abcde()),
    ):
        for block in findings.blocks:
            assert (block.present & block.unknown == 0).all()
            for plane in block.present, block.unknown:
                assert (plane[:, -1] >> np.uint64(100 - 64) == 0).all()


def abcde():
    return Structure.from_edges([("A", letter) for letter in "abcde"])


@given(SEEDS, SIZES, st.sampled_from([0.0, 0.3]), st.sampled_from(["wide", "long"]), st.booleans())
def test_arrow_there_and_back_through_every_library(seed, n_records, unknown, layout, with_ids):
    rng = np.random.default_rng(seed)
    records = random_records(rng, n_records, 5, unknown)
    ids = [f"p{number}" for number in rng.permutation(n_records)] if with_ids else None
    findings = Findings.from_numpy(records, abcde(), record_ids=ids)
    table = findings.to_arrow(layout=layout)
    for source in (
        table,
        table.to_reader(max_chunksize=7),
        table.to_pandas(),
        pl.from_arrow(table),
    ):
        again = Findings.read(source, abcde())
        assert again == findings
        if with_ids and n_records:
            assert again.record_ids.to_pylist() == ids


def test_duckdb():
    records = random_records(np.random.default_rng(0), 5000, 5, 0.1)
    findings = Findings.from_numpy(records, abcde())
    table = findings.to_arrow()
    with duckdb.connect() as connection:
        relation = connection.from_arrow(table)
        assert Findings.read(relation, abcde()) == findings


def test_columns_are_matched_by_name_not_by_place():
    frame = pd.DataFrame({"e": [1], "a": [0], "c": [1], "b": [0], "d": [0]})
    assert Findings.read(frame, abcde()).to_numpy().tolist() == [[0, 0, 1, 0, 1]]


def test_a_shuffled_pandas_index_is_no_column():
    frame = pd.DataFrame(np.eye(5, dtype=int), columns=list("abcde")).sample(frac=1, random_state=0)
    assert np.array_equal(Findings.read(frame, abcde()).to_numpy(), frame.to_numpy())


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, False, None]),
        pa.array([1, 0, None], pa.int8()),
        pa.array([1.0, 0.0, float("nan")]),
        pa.array(["1", "0", ""]),
        pa.array(["true", "FALSE", None]),
        pa.array(["true", "false", "NaN"]).dictionary_encode(),
        pa.array([1, 0, None], pa.uint64()),
    ],
)
def test_any_type_of_arrow_column(column):
    structure = structure_with(1)
    findings = Findings.read(pa.table({"S0": column}), structure)
    assert same(findings.to_numpy(), [[1], [0], [np.nan]])


def test_sliced_arrow_columns():
    records = random_records(np.random.default_rng(1), 300, 5, 0.2)
    table = Findings.from_numpy(records, abcde()).to_arrow()
    for start, length in (1, 299), (8, 64), (63, 65), (5, 3), (299, 1):
        part = Findings.read(table.slice(start, length), abcde())
        assert same(part.to_numpy(), records[start : start + length])


@given(SEEDS, st.sampled_from([64, 128]), st.integers(1, 100))
def test_pieces_of_any_size_fill_blocks_of_any_size(seed, block_records, piece):
    rng = np.random.default_rng(seed)
    records = random_records(rng, 300, 5, 0.1)
    findings = Findings.from_numpy(records, abcde())
    reader = findings.to_arrow().to_reader(max_chunksize=piece)
    blocks = list(Findings.iter_blocks(reader, abcde(), block_records=block_records))
    assert [len(block) for block in blocks[:-1]] == [block_records] * (300 // block_records)
    joined = Findings(abcde(), [block for each in blocks for block in each.blocks])
    assert joined == findings
    assert findings == joined


def test_with_structure_takes_the_columns_by_name():
    records = random_records(np.random.default_rng(2), 100, 5, 0.1)
    findings = Findings.from_numpy(records, abcde())
    fewer = Structure.from_edges([("B", "d"), ("B", "a")])
    assert same(findings.with_structure(fewer).to_numpy(), records[:, [3, 0]])
    other_edges = Structure(["A", "B"], list("abcde"), [(1, 2)])
    assert same(findings.with_structure(other_edges).to_numpy(), records)
    with pytest.raises(NoisyOrError, match="no symptoms 'z'"):
        findings.with_structure(Structure.from_edges([("A", "z")]))


def test_findings_that_differ_are_not_equal():
    records = random_records(np.random.default_rng(3), 100, 5)
    findings = Findings.from_numpy(records, abcde())
    flipped, hidden = records.copy(), records.copy()
    flipped[99, 4] = 1 - flipped[99, 4]
    hidden[0, 0] = np.nan
    for other in flipped, hidden, records[:99]:
        assert Findings.from_numpy(other, abcde()) != findings
    assert findings != records.tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: Findings.from_numpy([[1, 2]], s), "record 0, symptom 'S1': 2 is not 0, 1"),
        (lambda s: Findings.from_numpy([[1, 0], [-1, 0]], s), "record 1, symptom 'S0': -1"),
        (lambda s: Findings.from_numpy([[0.5, 0]], s), "record 0, symptom 'S0': 0.5"),
        (
            lambda s: Findings.from_numpy([["a", "b"]], s),
            "an array of type <U1 has no findings",
        ),
        (
            lambda s: Findings.from_numpy(np.array([[1, "x"]], object), s),
            "symptom 'S1': 'x' is not",
        ),
        (lambda s: Findings.from_numpy([[1, 0], [1]], s), "not an array of records x symptoms"),
        (lambda s: Findings.from_numpy([[1, 0]], s, record_ids=[2**70]), "record_ids are not ids"),
        (lambda s: Findings.from_sparse(np.eye(2), s), "ndarray is not a scipy.sparse matrix"),
        (
            lambda s: Findings.from_numpy([[1, 0]] * 2, s, record_ids=[1, 1]).to_arrow(
                layout="long"
            ),
            "more than one record has the id 1",
        ),
        (
            lambda s: Findings.from_numpy([[1, 0]], s).to_arrow(layout="long", record="symptom"),
            "another column or symptom is named 'symptom'",
        ),
        (lambda s: Findings.from_numpy([1, 0], s), r"the shape \(2,\); expected records x 2"),
        (lambda s: Findings.from_numpy([[1, 0, 1]], s), r"the shape \(1, 3\)"),
        (lambda s: Findings.from_numpy(pd.DataFrame([[1, 0]]), s), "use Findings.read"),
        (lambda s: Findings.from_numpy([[1, 0]], s, record_ids=[1, 2]), "2 record ids for 1"),
        (lambda s: Findings.from_sparse(scipy.sparse.csr_array([[3, 0]]), s), "'S0': 3 is not"),
        (lambda s: Findings.from_sparse(scipy.sparse.csr_array([[1]]), s), r"the shape \(1, 1\)"),
        (lambda s: Findings.read([1, 2], s), "a list of numbers is one record"),
        (lambda s: Findings.read([], s), "no files to read"),
        (lambda s: Findings.read({}, s), "a mapping or a pandas Series is one record"),
        (
            lambda s: Findings.read(pa.table({"S0": [1]}), s),
            "no column for the symptoms 'S1'",
        ),
        (
            lambda s: Findings.read(pa.table({"S0": [1], "S1": [1], "S2": [1]}), s),
            "columns that are not symptoms of the structure: 'S2'",
        ),
        (
            lambda s: Findings.read(pa.table([[1], [0], [1]], names=["S0", "S1", "S1"]), s),
            "more than one column named 'S1'",
        ),
        (
            lambda s: Findings.read(pa.table({"S0": [1, 7], "S1": [1, 1]}), s),
            "the Table, row 2, column 'S0': 7 is not 0 or 1",
        ),
        (
            lambda s: Findings.read(pa.table({"S0": [[1]], "S1": [1]}), s),
            "column 'S0' has the type list",
        ),
        (lambda s: Findings.read(pa.table({}), s, layout="tall"), "'wide' or 'long'"),
        (lambda s: Findings.read(pa.table({}), s, block_records=100), "multiple of 64"),
        (
            lambda s: Findings.read(pa.table({"S0": [1], "S1": [1]}), s, n_records=3),
            "n_records and all_records are for long records",
        ),
        (lambda s: Findings.from_numpy([[1, 0]], s).to_arrow(layout="tall"), "'wide' or 'long'"),
    ],
)
def test_what_are_no_findings_is_refused(call, message):
    with pytest.raises(NoisyOrError, match=message):
        call(structure_with(2))


def test_unknown_columns_can_be_ignored():
    table = pa.table({"S0": [1], "age": [77], "S1": [0]})
    with pytest.warns(NoisyOrWarning, match="passed over 1 column: 'age'."):
        findings = Findings.read(table, structure_with(2), ignore_unknown=True)
    assert findings.to_numpy().tolist() == [[True, False]]


def test_a_symptom_named_record_is_a_symptom():
    structure = Structure.from_edges([("A", "record"), ("A", "symptom")])
    findings = Findings.from_numpy([[1, 0]], structure)
    assert Findings.read(findings.to_arrow(), structure) == findings
    with_ids = Findings.from_numpy([[1, 0]], structure, record_ids=["p"])
    with pytest.raises(NoisyOrError, match="another column or symptom is named 'record'"):
        with_ids.to_arrow()
    again = Findings.read(with_ids.to_arrow(record="id"), structure, record="id")
    assert again.record_ids.to_pylist() == ["p"]


# --- some of the records ---


@pytest.fixture
def some_records():
    """Records in several blocks, with ids, some findings unknown."""
    rng = np.random.default_rng(0)
    network = datasets.figure1(0)
    array = rng.choice([0.0, 1.0, np.nan], p=[0.6, 0.35, 0.05], size=(20_000, 5))
    ids = [f"p{n}" for n in range(len(array))]
    return Findings.from_numpy(array, network.structure, record_ids=ids), array


@pytest.mark.parametrize(
    "rows",
    [slice(0, 10), slice(8000, 9000, 3), slice(None, None, -1), [5, 5, 19_999, -1], 7,
     np.arange(20_000) % 3 == 0, np.random.default_rng(1).permutation(20_000), [], slice(3, 3)],
    ids=str,
)  # fmt: skip
def test_records_are_chosen_as_numpy_does(some_records, rows):
    findings, array = some_records
    chosen = findings[rows]
    numbers = np.arange(20_000)
    numbers = np.atleast_1d(numbers[:0] if isinstance(rows, list) and not rows else numbers[rows])
    wanted = array[numbers]
    assert chosen.shape == wanted.shape
    np.testing.assert_array_equal(chosen.to_numpy().astype(float), wanted)
    if len(chosen):
        assert chosen.record_ids.to_pylist() == [f"p{n}" for n in numbers]


def test_parts_stand_one_after_the_other(some_records):
    findings, _ = some_records
    again = Findings.concatenate([findings[:7000], findings[7000:]])
    assert again == findings
    assert again.record_ids == findings.record_ids
    bare = Findings.from_numpy(findings[:5].to_numpy(), findings.structure)
    assert Findings.concatenate([findings[:5], bare]).record_ids is None
    with pytest.raises(FindingsError, match="at least one"):
        Findings.concatenate([])
    with pytest.raises(FindingsError, match="different symptoms"):
        Findings.concatenate([findings, datasets.clinic().sample(3, rng=0)])


@pytest.mark.parametrize("rows", [[True, False], "a", [[1, 2]], [0.5], None])
def test_what_chooses_no_records(some_records, rows):
    with pytest.raises(FindingsError, match="records are chosen by"):
        some_records[0][rows]


def test_there_is_no_such_record(some_records):
    with pytest.raises(IndexError, match="no record 20000: there are 20,000"):
        some_records[0][20_000]


def test_scikit_learn_splits_them(some_records):
    findings, array = some_records
    train, test, rows, _ = train_test_split(
        findings, np.arange(len(findings)), test_size=0.25, random_state=0
    )
    assert isinstance(train, Findings)
    assert (len(train), len(test)) == (15_000, 5000)
    np.testing.assert_array_equal(train.to_numpy(), array[rows])


def test_they_are_shown(some_records):
    findings, _ = some_records
    lines = str(findings[:40]).splitlines()
    assert lines[0] == repr(findings[:40])
    assert lines[1].split() == ["record", "present", "unknown"]
    assert lines[2].startswith("p0")
    assert "<table>" in findings._repr_html_()
    assert str(findings[:0]) == repr(findings[:0])


def test_some_of_the_records_are_chosen(rng):
    structure = Structure.from_edges([("flu", f"s{j}") for j in range(5)])
    for _ in range(30):
        n = int(rng.integers(0, 200))
        array = rng.choice([0.0, 1.0, np.nan], (n, 5), p=[0.6, 0.3, 0.1])
        ids = [f"r{i}" for i in range(n)] if rng.random() < 0.5 else None
        findings = Findings.from_numpy(array, structure, record_ids=ids)
        chosen = rng.random(n) < 0.4
        some = findings[chosen]
        assert np.array_equal(some.to_numpy().astype(float), array[chosen], equal_nan=True)
        if ids and chosen.any():
            assert some.record_ids.to_pylist() == [ids[i] for i in np.flatnonzero(chosen)]
