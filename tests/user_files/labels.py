"""Which diseases each record had: joined to the records by id, or refused."""

import random

from user_files.cases import Case, refused, same
from user_files.hospital import KNOWN, parquet
from user_files.truth import (
    COMPLETE,
    DISEASES,
    LABELS,
    changed,
    file,
    id_list,
    labels,
    long,
    number_of,
    wide,
)

RECORDS = {"records.csv": file(wide())}
ROWS = labels()
SHUFFLED = [ROWS[0], *random.Random(2).sample(ROWS[1:], len(ROWS) - 1)]


def _case(
    name: str, must, content: bytes, records=RECORDS, file_name="diseases.csv", **more
) -> Case:
    return Case(f"labels_{name}", must, records, labels={file_name: content}, **more)


CASES = [
    _case("clean", same(), file(ROWS)),
    _case("shuffled", same(), file(SHUFFLED)),
    _case(
        "shuffled_semicolons", same(), b"\xef\xbb\xbf" + file(SHUFFLED, ";", "\r\n", quoted=True)
    ),
    _case(
        "under_another_id",
        same(),
        file([["Patient ID", *DISEASES], *SHUFFLED[1:]]),
    ),
    _case(
        "both_under_another_id",
        same(),
        file([["Patient ID", *DISEASES], *SHUFFLED[1:]]),
        {"records.csv": file(wide(record="Patient ID"))},
    ),
    _case("in_words", same(), file(labels(words=("no", "Yes", "")))),
    _case(
        "unexplained",
        refused("diseases.csv", "line 2", "Ja|Nein", "--values"),
        file(labels(words=("Nein", "Ja", ""))),
    ),
    _case(
        "with_values",
        same(),
        file(labels(words=("Nein", "Ja", ""))),
        options={"values": {"Ja": "present", "Nein": "absent"}},
    ),
    _case("in_capitals", same(), file(labels(name=str.upper))),
    _case(
        "padded_ids",
        same(),
        file([SHUFFLED[0], *([f"{row[0]} ", *row[1:]] for row in SHUFFLED[1:])]),
    ),
    _case("with_ids_missing", refused("diseases.csv", "P48"), file(ROWS[:-1])),
    _case(
        "with_ids_too_many", refused("diseases.csv", "P99"), file([*ROWS, ["P99", "0", "1", "0"]])
    ),
    _case("with_other_ids", refused("diseases.csv", "P01|1001"), file(labels(ids=number_of))),
    _case("with_an_id_twice", refused("diseases.csv", "P07"), file([*ROWS, ROWS[7]])),
    _case(
        "with_an_id_twice_and_one_missing",
        refused("diseases.csv", "P07"),
        file([*ROWS[:-1], ROWS[7]]),
    ),
    _case("without_ids", same("complete", "row|order"), file(labels(record=None))),
    _case(
        "without_ids_and_one_missing",
        refused("diseases.csv", "47", "48"),
        file(labels(record=None)[:-1]),
    ),
    _case(
        "without_any_ids",
        same(),
        file(labels(record=None)),
        {"records.csv": file(wide(record=None))},
    ),
    _case(
        "with_ids_that_records_lack",
        refused("records.csv|records", "id"),
        file(SHUFFLED),
        {"records.csv": file(wide(record=None))},
    ),
    _case(
        "of_a_disease_missing",
        refused("diseases.csv", "Grippe", "column"),
        file([row[:1] + row[2:] for row in ROWS]),
    ),
    _case(
        "with_a_gap",
        refused("diseases.csv", "line 9", "Erkältung", "empty|unknown"),
        file(changed(ROWS, 9, 2, "")),
    ),
    _case(
        "with_a_two",
        refused("diseases.csv", "line 9", "Erkältung", "2", "--values"),
        file(changed(ROWS, 9, 2, "2")),
    ),
    _case(
        "as_numbers",
        same(),
        file(labels(dict(reversed(LABELS.items())), ids=number_of)),
        {"records.csv": file(wide(ids=number_of))},
    ),
    _case(
        "with_zeros_lost",
        refused("diseases.csv", "'001'", "'1'"),
        file(labels(ids=lambda id_: str(int(id_[1:])))),
        {"records.csv": file(wide(ids=lambda id_: id_[1:].zfill(3)))},
    ),
    _case(
        "of_findings",
        same(),
        file(SHUFFLED),
        {"findings.csv": file(long())},
        options={"all_records": "patients.csv"},
        beside={"patients.csv": file(id_list())},
    ),
    _case(
        "of_two_files",
        same(),
        file(SHUFFLED),
        {"two.csv": file([wide()[0], *wide()[21:]]), "one.csv": file(wide()[:21])},
    ),
    _case(
        "as_a_list",
        refused("diseases.csv", "column"),
        file(
            [
                ["record", "disease"],
                *(
                    [id_, d]
                    for id_, ill in LABELS.items()
                    for d, is_ill in zip(DISEASES, ill, strict=True)
                    if is_ill
                ),
            ]
        ),
    ),
    _case(
        "beside_inverted_records",
        same(),
        file(SHUFFLED),
        {"answers.csv": file(wide(words=("1", "0", "")))},
        options={"invert": True},
    ),
    _case(
        "of_records_with_an_id_twice",
        refused("diseases.csv", "P13"),
        file(ROWS),
        {"records.csv": file(changed(wide(), 14, 0, "P05"))},
    ),
    _case(
        "of_records_with_an_id_missing",
        refused("diseases.csv", "P13"),
        file(ROWS),
        {"records.csv": file(changed(wide(), 14, 0, ""))},
    ),
    _case(
        "of_numbers_in_parquet",
        same(),
        file(labels(dict(reversed(LABELS.items())), ids=number_of)),
        {"findings.parquet": parquet(KNOWN, ids=lambda id_: int(number_of(id_)))},
    ),
    _case("header_only", refused("diseases.csv", "P01|48|no "), file(ROWS[:1])),
    _case("with_further_columns", same(), file([[*row, "w"] for row in ROWS])),
    _case(
        "latin_1", refused("diseases.csv", "line 1", "UTF-8"), file(ROWS).decode().encode("latin-1")
    ),
]

assert LABELS.keys() == COMPLETE.keys()
