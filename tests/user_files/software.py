"""Files that R and pandas write, with their indices, and Q-matrices of tests."""

import io

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from user_files.cases import Case, refused, same
from user_files.truth import (
    COMPLETE,
    EDGES,
    GAPS,
    SYMPTOMS,
    changed,
    file,
    long,
    wide,
)

ROWS = wide()
QUOTED_R = [
    [f'"{cell}"' if at == 0 or line == 0 else cell for at, cell in enumerate(row)]
    for line, row in enumerate(wide(GAPS, ("FALSE", "TRUE", "NA"), record=""))
]


def _r_table(delimiter: str, rows: list[list[str]] = QUOTED_R, short: bool = True) -> bytes:
    """Return what write.table writes: names of rows in quotes, and none above them."""
    lines = [rows[0][1:] if short else rows[0], *rows[1:]]
    return "".join(delimiter.join(line) + "\n" for line in lines).encode()


def _r_name(name: str) -> str:
    """Return a name as data.frame makes it."""
    return "".join(letter if letter.isalnum() else "." for letter in name)


R = [
    Case("r_write_csv", same("gaps", "column"), {"records.csv": _r_table(",", short=False)}),
    Case(
        "r_write_csv2",
        same(),
        {"records.csv": _r_table(";", wide(words=("0", "1", "NA"), record='""'), short=False)},
    ),
    Case(
        "r_write_table_of_tabs",
        refused("records.txt", "line 2", "one|5 columns|6 values"),
        {"records.txt": _r_table("\t")},
    ),
    Case(
        "r_write_table",
        refused("records.txt", "column|blank|delimiter"),
        {"records.txt": _r_table(" ")},
    ),
    Case("r_write_table_as_csv", refused("records.csv", "line 2"), {"records.csv": _r_table(",")}),
    Case(
        "r_factors",
        same(),
        {"records.csv": file(wide(words=("1", "2", "NA")))},
        {"values": {"1": "absent", "2": "present"}},
    ),
    Case(
        "r_factors_unexplained",
        refused("line", "column", "2", "--values"),
        {"records.csv": file(wide(words=("1", "2", "NA")))},
    ),
    Case(
        "r_names",
        refused("records.csv", r"Husten\.\.trocken", "--names|did you mean"),
        {"records.csv": file(wide(name=_r_name))},
    ),
    Case(
        "r_names_given",
        same(),
        {"records.csv": file(wide(name=_r_name))},
        {"names": "names.csv"},
        beside={
            "names.csv": file([["name", "meaning"], *([_r_name(name), name] for name in SYMPTOMS)])
        },
    ),
    Case(
        "r_row_numbers_beside_ids",
        same("complete", "passed over 1 column: the one without a name"),
        {
            "records.csv": file([["" if not at else str(at), *row] for at, row in enumerate(ROWS)]),
        },
    ),
]

# --- pandas ---

LISTED = pd.DataFrame(long()[1:], columns=["record", "symptom"])
STATES = pd.DataFrame(
    [[id_, name, word == "1"] for id_, name, word in long(GAPS, ("0", "1", ""))[1:] if word],
    columns=["record", "symptom", "state"],
)
WIDE = pd.DataFrame(COMPLETE.values(), index=list(COMPLETE), columns=list(SYMPTOMS))
WITH_GAPS = pd.DataFrame(GAPS.values(), index=list(GAPS), columns=list(SYMPTOMS), dtype="float64")
CROSSED = pd.crosstab(LISTED.record, LISTED.symptom).rename_axis(index="patient")
PIVOT = LISTED.assign(n=1).pivot(index="record", columns="symptom", values="n")


def _csv(frame: pd.DataFrame, **options) -> bytes:
    return frame.to_csv(**options).encode()


def _parquet(frame: pd.DataFrame, **options) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(frame, **options), out)
    return out.getvalue()


PANDAS = [
    Case("pandas_csv", same("complete", "column"), {"frame.csv": _csv(WIDE)}),
    Case("pandas_csv_without_index", same(), {"frame.csv": _csv(WIDE, index=False)}),
    Case("pandas_csv_named", same("complete", "'id'"), {"frame.csv": _csv(WIDE, index_label="id")}),
    Case(
        "pandas_csv_read_and_written",
        same("complete", "Unnamed: 0"),
        {"frame.csv": _csv(WIDE.rename_axis("Unnamed: 0"))},
    ),
    Case(
        "pandas_csv_with_two_indices",
        same("complete", "Unnamed: 0", "passed over 1 column: the one without a name"),
        {"frame.csv": _csv(WIDE.rename_axis("Unnamed: 0").reset_index())},
    ),
    Case("pandas_csv_gaps", same("gaps"), {"frame.csv": _csv(WITH_GAPS)}),
    Case("pandas_booleans", same("gaps"), {"frame.csv": _csv(WITH_GAPS.astype("boolean"))}),
    Case("pandas_parquet", same(), {"frame.parquet": _parquet(WIDE)}),
    Case("pandas_parquet_named", same(), {"frame.parquet": _parquet(WIDE.rename_axis("id"))}),
    Case(
        "pandas_parquet_booleans",
        same("gaps"),
        {"frame.parquet": _parquet(WITH_GAPS.astype("boolean"))},
    ),
    Case(
        "pandas_parquet_categories",
        same("gaps"),
        {"frame.parquet": _parquet(WITH_GAPS.replace({0.0: "no", 1.0: "yes"}).astype("category"))},
    ),
    Case(
        "pandas_parquet_small_numbers",
        same("gaps"),
        {"frame.parquet": _parquet(WITH_GAPS.astype("Int8"))},
    ),
    Case(
        "pandas_parquet_days",
        same(),
        {
            "frame.parquet": _parquet(
                WIDE.set_index(pd.date_range("2024-01-01", periods=len(WIDE), name="record"))
            )
        },
    ),
    Case(
        "pandas_floats_inverted_by_values",
        same("gaps"),
        {"frame.parquet": _parquet(1.0 - WITH_GAPS)},
        {"values": {"0": "present", "1": "absent"}},
    ),
    Case(
        "pandas_booleans_inverted",
        same("gaps"),
        {"frame.parquet": _parquet((1.0 - WITH_GAPS).astype("boolean"))},
        {"invert": True},
    ),
    Case("pandas_crosstab", same("filled", "patient"), {"crosstab.csv": _csv(CROSSED)}),
    Case("pandas_crosstab_parquet", same("filled"), {"crosstab.parquet": _parquet(CROSSED)}),
    Case(
        "pandas_crosstab_of_visits",
        refused("crosstab.csv", "line", "column", "'?2'?", "--values"),
        {
            "crosstab.csv": _csv(
                pd.crosstab(*pd.concat([LISTED, LISTED[:9]]).to_numpy().T, rownames=["record"])
            )
        },
    ),
    Case("pandas_pivot", same("ones_filled", "absent"), {"pivot.csv": _csv(PIVOT)}),
    Case("pandas_pivot_filled", same("filled"), {"pivot.csv": _csv(PIVOT.fillna(0))}),
    Case(
        "pandas_melt",
        same("gaps"),
        {
            "melt.csv": _csv(
                WITH_GAPS.rename_axis("record").reset_index().melt("record"), index=False
            )
        },
        {"symptom": "variable", "state": "value"},
    ),
    Case(
        "pandas_melt_unexplained",
        refused("melt.csv", "variable", "--symptom"),
        {
            "melt.csv": _csv(
                WITH_GAPS.rename_axis("record").reset_index().melt("record"), index=False
            )
        },
    ),
    Case(
        "pandas_dummies",
        refused("dummies.csv", "Symptom_Fieber", "Fieber"),
        {"dummies.csv": _csv(WIDE.add_prefix("Symptom_"), index=False)},
    ),
    Case(
        "pandas_states",
        same("gaps"),
        {"states.parquet": _parquet(STATES)},
        {"unmentioned": "unknown", "n_records": len(GAPS)},
    ),
    Case(
        "pandas_index_of_a_list",
        same("gaps"),
        {
            "findings.csv": _csv(
                pd.DataFrame(long(GAPS, ("0", "1", ""))[1:], columns=["record", "symptom", "state"])
            )
        },
    ),
]

# --- tests: items need skills, and 1 is a right answer ---

Q_MATRIX = [["item", *dict.fromkeys(d for d, _ in EDGES)]] + [
    [name, *(str(int((d, name) in EDGES)) for d in dict.fromkeys(d for d, _ in EDGES))]
    for name in SYMPTOMS
]

TESTS = [
    Case(
        "q_matrix_as_structure",
        same("complete", "Q.csv is read as a Q-matrix"),
        {"answers.csv": file(ROWS)},
        structure={"Q.csv": file(Q_MATRIX)},
        in_python=refused("Q.csv", "Q-matrix|q-matrix", "convert"),
    ),
    Case(
        "right_answers",
        same(),
        {"answers.csv": file(wide(words=("1", "0", "")))},
        {"invert": True},
    ),
    Case(
        "right_answers_in_words",
        same(),
        {"answers.csv": file(wide(words=("right", "wrong", "")))},
        {"values": {"right": "absent", "wrong": "present"}},
    ),
    Case(
        "right_answers_listed",
        same("gaps"),
        {"answers.csv": file(long(GAPS, ("1", "0", "")))},
        {"invert": True},
    ),
    Case(
        "points",
        refused("answers.csv", "line 6", "column 'Kopfweh'", "3", "--values"),
        {"answers.csv": file(changed(ROWS, 6, 3, "3"))},
    ),
]

CASES = [*R, *PANDAS, *TESTS]
