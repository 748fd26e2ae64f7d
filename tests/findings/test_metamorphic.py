"""The same records in other forms: whatever the form, the counts are equal."""

import bz2
import gzip
import lzma
import unicodedata
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from conftest import random_records
from noisyor import Findings, MomentPlan, NoisyOrError, NoisyOrWarning, Structure, count_moments
from user_files.truth import text, zipped

NAMES = ("Fieber", "Übelkeit", "laufende Nase", "Husten, trocken", "Straßenangst", "S5")
STRUCTURE = Structure.from_edges(
    [("A", NAMES[0]), ("A", NAMES[1]), ("A", NAMES[2]), ("B", NAMES[2]), ("B", NAMES[3])]
    + [("C", name) for name in NAMES]
)
PLAN = MomentPlan(STRUCTURE, pairs=MomentPlan.coupled(STRUCTURE).pairs, triplets=[[0, 2, 5]])
WORDS = [
    ("0", "1", ""),
    ("0.0", "1.0", "NaN"),
    ("False", "TRUE", "NA"),
    ("no", "Yes", "unknown"),
    ("-", "+", "null"),
    ("Absent", " present ", "N/A"),
]
PACKINGS = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
    ".zip": lambda content: zipped({"inside.csv": content}),
}


@pytest.fixture(params=[0.0, 0.2], ids=["complete", "with gaps"])
def records(request, rng):
    """Records as an array of 0, 1 and NaN; the first has all findings, the last one none."""
    array = random_records(rng, 90, len(NAMES), request.param)
    array[0], array[-1] = 1.0, 0.0
    return array


def counted(source, **options):
    """Count; notes of what was guessed are heard elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyOrWarning)
        return count_moments(source, PLAN, n_groups=1, **options)


def ids_of(records):
    return [f"patient {number}" for number in range(len(records))]


def wide_rows(records, words=WORDS[0], names=NAMES):
    """Return header and rows of a table of texts."""
    cells = np.array(words)[np.where(np.isnan(records), 2, records).astype(int)]
    rows = [[id_, *row] for id_, row in zip(ids_of(records), cells.tolist(), strict=True)]
    return [["record", *names], *rows]


def long_rows(records, words=WORDS[0], names=NAMES):
    """Return header and rows of a table with a row a finding."""
    header, *rows = wide_rows(records, words, names)
    listed = [
        [row[0], name, cell] for row in rows for name, cell in zip(names, row[1:], strict=True)
    ]
    assert header[0] == "record"
    return [["record", "symptom", "state"], *listed]


def write(path, rows, delimiter=","):
    """Write a table of texts; the ending of the path says how it is packed."""
    packing = PACKINGS[path.suffix if path.suffix in PACKINGS else ""]
    path.write_bytes(packing(text(rows, delimiter).encode()))
    return path


def shuffled(rows, rng):
    """Return a table with its rows in another order."""
    header, *others = rows
    return [header, *(others[number] for number in rng.permutation(len(others)))]


def with_columns_shuffled(rows, rng):
    """Return a table with its columns in another order."""
    order = rng.permutation(len(rows[0]))
    return [[row[number] for number in order] for row in rows]


def in_parts(rows, rng):
    """Return tables, up to four, that have the rows of one between them."""
    header, *others = rows
    cuts = sorted(rng.integers(1, len(others), 3).tolist())
    pieces = [others[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True)]
    return [[header, *piece] for piece in pieces if piece]


def respelled(name, rng):
    """Return a name in other letters or with other blanks, or as it is."""
    variants = [
        name.upper() if "ß" not in name else name.title(),
        name.lower(),
        f" {name}\u00a0",
        name.replace(" ", "  "),
        unicodedata.normalize("NFD", name),
        name,
    ]
    return variants[rng.integers(len(variants))]


@pytest.mark.parametrize("rows_of", [wide_rows, long_rows])
def test_order_of_rows_and_columns(records, rows_of, rng, tmp_path):
    expected = counted(records)
    rows = rows_of(records)
    for number in range(4):
        moved = with_columns_shuffled(shuffled(rows, rng), rng)
        assert counted(write(tmp_path / f"{number}.csv", moved)) == expected


@pytest.mark.parametrize("rows_of", [wide_rows, long_rows])
def test_files_split_in_any_order(records, rows_of, rng, tmp_path):
    """Also where the rows of one record lie in several files."""
    expected = counted(records)
    rows = rows_of(records)
    for number in range(4):
        parts = in_parts(shuffled(rows, rng), rng)
        files = [write(tmp_path / f"{number}-{n}.csv", part) for n, part in enumerate(parts)]
        assert counted(files) == expected
        assert counted(files[::-1]) == expected


@pytest.mark.parametrize("rows_of", [wide_rows, long_rows])
def test_names_respelled(records, rows_of, rng, tmp_path):
    expected = counted(records)
    for number in range(6):
        names = [respelled(name, rng) for name in NAMES]
        file = write(tmp_path / f"{number}.csv", rows_of(records, names=names))
        assert counted(file) == expected
        assert counted(file, ignore_unknown=True) == expected


def test_every_finding_respelled_in_its_own_way(records, rng, tmp_path):
    rows = [[id_, respelled(name, rng), state] for id_, name, state in long_rows(records)[1:]]
    file = write(tmp_path / "x.csv", [["record", "symptom", "state"], *rows])
    assert counted(file) == counted(records)
    assert counted(file, ignore_unknown=True) == counted(records)


@pytest.mark.parametrize("rows_of", [wide_rows, long_rows])
@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_and_packing(records, rows_of, packing, delimiter, tmp_path):
    file = write(tmp_path / f"records.csv{packing}", rows_of(records), delimiter)
    assert counted(file) == counted(records)


@pytest.mark.parametrize("rows_of", [wide_rows, long_rows])
@pytest.mark.parametrize("words", WORDS, ids=lambda words: words[1])
def test_words(records, rows_of, words, tmp_path):
    file = write(tmp_path / "records.csv", rows_of(records, words))
    assert counted(file) == counted(records)


@pytest.mark.parametrize("rows_of", [wide_rows, long_rows])
def test_words_given_and_inverted(records, rows_of, tmp_path):
    expected = counted(records)
    file = write(tmp_path / "words.csv", rows_of(records, ("weg", "da", "?")))
    values = {"weg": "absent", "da": "present", "?": "unknown"}
    assert counted(file, values=values) == expected
    file = write(tmp_path / "inverted.csv", rows_of(1.0 - records))
    assert counted(file, invert=True) == expected
    assert counted(file, values={"1": "absent", "0": "present"}) == expected


def nullable(records):
    """Return a pandas frame with True, False and NA."""
    return pd.DataFrame(records, columns=list(NAMES)).astype("boolean")


def in_words(records):
    """Return a pandas frame with words."""
    cells = np.array(["no", "yes", None], dtype=object)
    chosen = cells[np.where(np.isnan(records), 2, records).astype(int)]
    return pd.DataFrame(chosen, columns=list(NAMES))


WIDE_FORMS = {
    "findings": lambda records: Findings.from_numpy(records, STRUCTURE),
    "lists": lambda records: records.tolist(),
    "objects": lambda records: np.where(np.isnan(records), None, records),
    "masked": np.ma.masked_invalid,
    "sparse": scipy.sparse.csr_array,
    "sparse columns": scipy.sparse.csc_array,
    "pandas": lambda records: pd.DataFrame(records, columns=list(NAMES)),
    "pandas with an index": lambda records: pd.DataFrame(
        records, index=pd.Index(ids_of(records), name="case"), columns=list(NAMES)
    ),
    "pandas with times": lambda records: pd.DataFrame(
        records,
        index=pd.date_range("2024-01-01", periods=len(records), name="record"),
        columns=list(NAMES),
    ),
    "pandas nullable": nullable,
    "pandas small numbers": lambda records: nullable(records).astype("Int8"),
    "pandas words": in_words,
    "pandas categories": lambda records: in_words(records).astype("category"),
    "polars": lambda records: pl.from_pandas(nullable(records)),
    "polars categories": lambda records: pl.from_pandas(in_words(records)).cast(pl.Categorical),
    "arrow": lambda records: pa.Table.from_pandas(nullable(records)),
    "arrow dictionaries": lambda records: pa.Table.from_pandas(
        in_words(records).astype("category")
    ),
}


@pytest.mark.parametrize("form", WIDE_FORMS)
def test_wide_forms_in_memory(records, form):
    assert counted(WIDE_FORMS[form](records)) == counted(records)


FRAMES = ["pandas", "pandas with an index", "pandas with times", "pandas nullable", "pandas words"]


@pytest.mark.parametrize("form", [*FRAMES, "pandas categories"])
def test_frames_written_to_parquet_and_csv(records, form, tmp_path):
    frame = WIDE_FORMS[form](records)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "frame.parquet")
    frame.to_csv(tmp_path / "frame.csv")
    assert counted(tmp_path / "frame.parquet") == counted(records)
    assert counted(tmp_path / "frame.csv") == counted(records)


def long_frame(records):
    header, *rows = long_rows(records, ("absent", "present", "unknown"))
    return pd.DataFrame(rows, columns=header)


LONG_FORMS = {
    "pandas": long_frame,
    "pandas categories": lambda records: long_frame(records).astype("category"),
    "pandas with an index": lambda records: long_frame(records).set_index(["record", "symptom"]),
    "polars": lambda records: pl.from_pandas(long_frame(records)),
    "arrow": lambda records: pa.Table.from_pandas(long_frame(records)),
    "numbers as ids": lambda records: long_frame(records).assign(
        record=lambda frame: frame.record.str.split().str[1].astype(int)
    ),
    "times as ids": lambda records: long_frame(records).assign(
        record=lambda frame: pd.to_datetime(frame.record.str.split().str[1].astype(int), unit="D")
    ),
    "pivoted": lambda records: long_frame(records).pivot(
        index="record", columns="symptom", values="state"
    ),
}


@pytest.mark.parametrize("form", LONG_FORMS)
def test_long_forms_in_memory(records, form, tmp_path):
    frame = LONG_FORMS[form](records)
    expected = counted(records)
    assert counted(frame) == expected
    if isinstance(frame, pd.DataFrame):
        pq.write_table(pa.Table.from_pandas(frame), tmp_path / "frame.parquet")
        frame.to_csv(tmp_path / "frame.csv")
        assert counted(tmp_path / "frame.parquet") == expected
        assert counted(tmp_path / "frame.csv") == expected


def test_only_what_is_present_is_listed(rng, tmp_path):
    records = random_records(rng, 90, len(NAMES))
    records[-1] = 0.0
    records[0] = 1.0
    header, *rows = long_rows(records)
    file = write(tmp_path / "x.csv", [header[:2], *(row[:2] for row in rows if row[2] == "1")])
    ids = write(tmp_path / "ids.csv", [["record"], *([id_] for id_ in ids_of(records))])
    assert counted(file, n_records=len(records)) == counted(records)
    assert counted(file, all_records=ids) == counted(records)
    assert counted(file, all_records=ids_of(records)) == counted(records)
    told = pytest.warns(NoisyOrWarning, match="all.records|n.records")
    with told:
        found = count_moments(file, PLAN, n_groups=1)
    assert found == counted(records[records.any(axis=1)])


def test_only_what_is_known_is_listed(rng, tmp_path):
    records = random_records(rng, 90, len(NAMES), unknown=0.3)
    header, *rows = long_rows(records)
    file = write(tmp_path / "x.csv", [header, *(row for row in rows if row[2])])
    found = counted(file, unmentioned="unknown", n_records=len(records))
    assert found == counted(records)


def test_numbers_as_ids_in_one_file_and_texts_in_the_other(records, rng, tmp_path):
    """Records lie across a Parquet file whose ids are numbers and a CSV file."""
    frame = LONG_FORMS["numbers as ids"](records).sample(
        frac=1.0, random_state=int(rng.integers(99))
    )
    pq.write_table(pa.Table.from_pandas(frame[:100]), tmp_path / "one.parquet")
    frame[100:].to_csv(tmp_path / "two.csv", index=False)
    files = [tmp_path / "one.parquet", tmp_path / "two.csv"]
    assert counted(files) == counted(files[::-1]) == counted(records)


def test_names_that_are_numbers(records, tmp_path):
    """Items 1 to 6: a text file and a column of whole numbers mean the same items."""
    names = [str(number) for number in range(1, len(NAMES) + 1)]
    structure = Structure(STRUCTURE.diseases, names, STRUCTURE.edges)
    plan = MomentPlan(structure, pairs=PLAN.pairs)
    header, *rows = long_rows(records, names=names)
    texts = write(tmp_path / "items.csv", [header, *rows])
    numbers = pd.read_csv(texts)
    assert numbers.symptom.dtype == np.int64
    expected = count_moments(records, plan, n_groups=1)
    assert count_moments(texts, plan, n_groups=1) == expected
    assert count_moments(numbers, plan, n_groups=1) == expected


def test_all_changes_together(rng, tmp_path):
    """Layout, words, names, order, parts, delimiters and packing, drawn at random."""
    for number in range(15):
        records = random_records(rng, 70, len(NAMES), rng.choice([0.0, 0.2]))
        rows_of = (wide_rows, long_rows)[rng.integers(2)]
        names = [respelled(name, rng) for name in NAMES]
        words = WORDS[rng.integers(len(WORDS))]
        if "-" in words:  # which a part without + does not explain
            words = WORDS[0]
        rows = rows_of(records, words, names)
        files = []
        for part, table in enumerate(in_parts(shuffled(rows, rng), rng)):
            packing = list(PACKINGS)[rng.integers(len(PACKINGS))]
            path = tmp_path / f"{number}-{part}.csv{packing}"
            files.append(write(path, with_columns_shuffled(table, rng), ",;\t"[rng.integers(3)]))
        assert counted(files) == counted(records)


# --- what must not be equal, or not be taken ---


@pytest.mark.parametrize("word", ["x", "2", "maybe", "0.5", "01", "1 0", "ja"])
@pytest.mark.parametrize("rows_of", [wide_rows, long_rows])
def test_a_word_that_is_not_known_is_never_taken(records, rows_of, word, rng, tmp_path):
    for number in range(3):
        rows = rows_of(records)
        line = int(rng.integers(1, len(rows)))
        column = int(rng.integers(1, len(rows[0]))) if rows_of is wide_rows else 2
        rows[line][column] = word
        file = write(tmp_path / f"{number}.csv", rows)
        with pytest.raises(NoisyOrError, match=rf"{number}.csv, line {line + 1}, .*--values"):
            counted(file)


def test_a_name_that_is_not_known_is_never_taken(records, rng, tmp_path):
    rows = long_rows(records)
    line = int(rng.integers(1, len(rows)))
    name = rows[line][1]
    rows[line][1] = f"{name}s"
    file = write(tmp_path / "x.csv", rows)
    with pytest.raises(NoisyOrError, match=f"x.csv, line {line + 1}.*{name}s"):
        counted(file)
    del rows[line]
    left = write(tmp_path / "left.csv", rows)
    told = pytest.warns(NoisyOrWarning, match=f"{name}s.*{name}")
    with told:
        found = count_moments(file, PLAN, n_groups=1, ignore_unknown=True)
    assert found == counted(left)


def test_one_finding_more_is_seen(records, rng):
    """A negative control: counts are not equal whatever the records."""
    other = records.copy()
    row, column = rng.integers(records.shape[0]), rng.integers(records.shape[1])
    other[row, column] = 1.0 if other[row, column] == 0.0 else 0.0
    assert counted(other) != counted(records)
