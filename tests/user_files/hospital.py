"""Lists of findings, as hospital systems export them: a row a finding."""

import io
import random
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq

from user_files.cases import Case, Same, refused, same
from user_files.truth import (
    COMPLETE,
    FILLED,
    GAPS,
    SYMPTOMS,
    Rows,
    changed,
    file,
    id_list,
    long,
    number_of,
    wide,
)

LISTED = long()
STATES = long(GAPS, ("absent", "present", "unknown"))
KNOWN = long(COMPLETE, ("absent", "present", "unknown"))
CONTRARY = ["P01", "Fieber", "absent" if KNOWN[1][2] == "present" else "present"]
EXPORT = ("Patient ID", "Finding", "Result")
EVERY = {"all_records": "patients.csv"}
PATIENTS = {"patients.csv": file(id_list())}
WITHOUT_EMPTY = "--n-records|--all-records|no record"


def _export(words: tuple[str, ...], records=GAPS) -> bytes:
    return file(long(records, words, EXPORT), ";", "\r\n", quoted=True)


def parquet(rows: Rows, ids) -> bytes:
    """Return a list of findings as Parquet, its ids converted to what such files hold."""
    header, *lines = rows
    columns = [pa.array([ids(line[0]) for line in lines])]
    columns += [pa.array([line[at] for line in lines]) for at in range(1, len(header))]
    out = io.BytesIO()
    pq.write_table(pa.table(columns, names=header), out)
    return out.getvalue()


def _as_time(id_: str) -> datetime:
    return datetime(2024, 3, 1) + timedelta(minutes=int(id_[1:]))


STATE = [
    Case("states", Same("gaps", is_silent=True), {"findings.csv": file(STATES)}),
    Case(
        "export",
        same("gaps", "Patient ID", "Finding", "Result"),
        {"Befunde.csv": _export(("negative", "positive", "unknown"))},
        {"values": {"positive": "present", "negative": "absent"}},
    ),
    Case(
        "export_unexplained",
        refused("Befunde.csv", "line 2", "column 'Result'", "positive|negative", "--values"),
        {"Befunde.csv": _export(("negative", "positive", "unknown"))},
    ),
    Case(
        "export_ja_nein",
        refused("Befunde.csv", "line 2", "column 'Result'", "Ja|Nein", "--values"),
        {"Befunde.csv": _export(("Nein", "Ja", ""))},
    ),
    Case(
        "export_ja_nein_with_values",
        same("gaps"),
        {"Befunde.csv": _export(("Nein", "Ja", ""))},
        {"values": {"ja": "present", "nein": "absent"}},
    ),
    Case(
        "export_codes",
        refused("Befunde.csv", "line", "'?2'?", "--values"),
        {"Befunde.csv": _export(("2", "1", ""))},
    ),
    Case(
        "export_codes_with_values",
        same("gaps"),
        {"Befunde.csv": _export(("2", "1", ""))},
        {"values": {"1": "present", "2": "absent"}},
    ),
    Case(
        "export_codes_with_9",
        same("gaps"),
        {"Befunde.csv": _export(("2", "1", "9"))},
        {"values": {"1": "present", "2": "absent", "9": "unknown"}},
    ),
    Case("export_signs", same("gaps"), {"Befunde.csv": _export(("-", "+", "NA"))}),
    Case(
        "export_minus_only",
        refused("'-'", "--values"),
        {"Befunde.csv": _export(("-", "1", "NA"))},
    ),
    Case(
        "state_of_another_name",
        refused("Befund", "--state"),
        {"findings.csv": file(long(GAPS, ("0", "1", ""), ("record", "symptom", "Befund")))},
    ),
    Case(
        "state_of_another_name_given",
        same("gaps"),
        {"findings.csv": file(long(GAPS, ("0", "1", ""), ("record", "symptom", "Befund")))},
        {"state": "Befund"},
    ),
    Case(
        "state_in_words_of_another_name",
        refused("xyz", "--state"),
        {"findings.csv": file(long(GAPS, ("no", "yes", ""), ("record", "symptom", "xyz")))},
    ),
    Case(
        "state_that_is_not_there",
        refused("findings.csv", "Befund", "column"),
        {"findings.csv": file(STATES)},
        {"state": "Befund"},
    ),
    Case(
        "a_date_beside",
        same("filled", WITHOUT_EMPTY),
        {
            "findings.csv": file(
                [[*row, "2024-03-01" if at else "date"] for at, row in enumerate(LISTED)]
            )
        },
    ),
    Case(
        "states_and_unmentioned",
        same("gaps"),
        {"findings.csv": file([row for row in STATES if row[2] != "unknown"])},
        {"unmentioned": "unknown", **EVERY},
        beside=PATIENTS,
    ),
    Case(
        "only_what_is_present_and_unmentioned",
        # Then no finding is known to be absent.
        same("ones", "absent"),
        {"findings.csv": file(LISTED)},
        {"unmentioned": "unknown", **EVERY},
        beside=PATIENTS,
    ),
    Case(
        "a_state_that_is_none",
        refused("findings.csv", "line 100", "column 'state'", "perhaps", "--values"),
        {"findings.csv": file(changed(STATES, 100, 2, "perhaps"))},
    ),
    Case(
        "contradiction",
        refused("findings.csv", "line 2", "line 50", "P01", "Fieber"),
        {"findings.csv": file([*KNOWN[:49], CONTRARY, *KNOWN[49:]])},
    ),
    Case(
        "contradiction_between_files",
        refused("one.csv, line 2", "two.csv, line 2", "P01", "Fieber"),
        {"one.csv": file(KNOWN), "two.csv": file([KNOWN[0], CONTRARY])},
    ),
    Case(
        "the_same_said_twice",
        same(),
        {"findings.csv": file([*KNOWN, *KNOWN[7:12]])},
    ),
]

RECORDS = [
    Case(
        "without_empty_records",
        same("filled", WITHOUT_EMPTY),
        {"findings.csv": file(LISTED)},
    ),
    Case(
        "all_records", Same(is_silent=True), {"findings.csv": file(LISTED)}, EVERY, beside=PATIENTS
    ),
    Case("n_records", Same(is_silent=True), {"findings.csv": file(LISTED)}, {"n_records": 48}),
    Case(
        "n_records_too_small",
        refused("30", str(len(FILLED))),
        {"findings.csv": file(LISTED)},
        {"n_records": 30},
    ),
    Case(
        "all_records_of_another_column",
        same(),
        {"findings.csv": file(LISTED)},
        EVERY,
        beside={"patients.csv": file(id_list(column="Patient ID"), ";")},
    ),
    Case(
        "all_records_of_wide_form",
        same(),
        {"findings.csv": file(LISTED)},
        EVERY,
        beside={"patients.csv": file([["record", "Alter"], *([id_, "54"] for id_ in COMPLETE)])},
    ),
    Case(
        "all_records_without_some",
        refused("patients.csv|all.records", next(iter(FILLED))),
        {"findings.csv": file(LISTED)},
        EVERY,
        beside={"patients.csv": file([row for row in id_list() if row[0] != next(iter(FILLED))])},
    ),
    Case(
        "all_records_with_one_twice",
        refused("patients.csv|all.records", "twice|more than once"),
        {"findings.csv": file(LISTED)},
        EVERY,
        beside={"patients.csv": file([*id_list(), ["P07"]])},
    ),
    Case(
        "all_records_as_numbers",
        same(),
        {"findings.parquet": parquet(LISTED, ids=lambda id_: int(number_of(id_)))},
        EVERY,
        beside={"patients.csv": file([["record"], *([number_of(id_)] for id_ in COMPLETE)])},
    ),
    Case(
        "records_with_an_empty_symptom",
        same(),
        {
            "findings.csv": file(
                [*LISTED, *([id_, ""] for id_, record in COMPLETE.items() if not any(record))]
            )
        },
    ),
    Case(
        "sorted_by_symptom",
        same(),
        {"findings.csv": file([LISTED[0], *sorted(LISTED[1:], key=lambda row: row[1])])},
        EVERY,
        beside=PATIENTS,
    ),
    Case(
        "shuffled",
        same("gaps"),
        {"findings.csv": file([STATES[0], *random.Random(1).sample(STATES[1:], len(STATES) - 1)])},
    ),
    Case(
        "an_id_missing",
        refused("findings.csv", "line 8", "id"),
        {"findings.csv": file(changed(LISTED, 8, 0, ""))},
    ),
    Case(
        "padded_ids",
        same("filled"),
        {
            "findings.csv": file(
                [
                    LISTED[0],
                    *(
                        [f"{row[0]} " if at % 2 else f" {row[0]}", row[1]]
                        for at, row in enumerate(LISTED[1:])
                    ),
                ]
            )
        },
    ),
    Case(
        "two_files_with_the_same_patients",
        same("gaps"),
        {"one.csv": file(STATES[::2]), "two.csv": file([STATES[0], *STATES[1::2]])},
    ),
    Case(
        "two_files_with_ids_of_their_own",
        same("twice"),
        {"one.csv": file(KNOWN), "two.csv": file(KNOWN, ";")},
        {"ids_per_file": True},
    ),
    Case(
        "numbers_in_one_file_and_texts_in_the_other",
        same("gaps"),
        {
            "one.parquet": parquet(STATES[::2], ids=lambda id_: int(number_of(id_))),
            "two.csv": file([STATES[0], *([number_of(row[0]), *row[1:]] for row in STATES[1::2])]),
        },
    ),
    Case("times_as_record_ids", same("gaps"), {"findings.parquet": parquet(STATES, ids=_as_time)}),
    Case(
        "days_as_record_ids",
        same("gaps"),
        {
            "findings.parquet": parquet(
                STATES, ids=lambda id_: (_as_time(id_) + timedelta(days=int(id_[1:]))).date()
            )
        },
    ),
    Case(
        "times_as_texts",
        same("gaps"),
        {
            "findings.csv": file(
                [STATES[0], *([_as_time(row[0]).isoformat(), *row[1:]] for row in STATES[1:])]
            )
        },
    ),
]


def _renamed(name: str, must, names: dict[str, str], **options) -> Case:
    """Return all records as findings, some symptoms of which are called otherwise."""
    rows = [[row[0], names.get(row[1], row[1])] for row in LISTED]
    return Case(name, must, {"findings.csv": file(rows)}, {**EVERY, **options}, beside=PATIENTS)


def _sometimes(variant: str) -> bytes:
    """Return findings in which every second fever is written otherwise."""
    fevers = [row for row in LISTED if row[1] == "Fieber"][::2]
    return file([[row[0], variant] if row in fevers else row for row in LISTED])


OTHERS = [["P03", f"Laborwert {number}"] for number in range(12) for _ in range(number + 1)]

NAMES = [
    _renamed(
        "findings_in_capitals",
        same("complete", "FIEBER|case|capital"),
        {n: n.upper() for n in SYMPTOMS},
    ),
    Case(
        "a_name_with_a_blank_now_and_then",
        same("complete", "Fieber "),
        {"findings.csv": _sometimes("Fieber ")},
        EVERY,
        beside=PATIENTS,
    ),
    Case(
        "another_case_is_not_passed_over",
        same("complete", "fieber"),
        {"findings.csv": _sometimes("fieber")},
        {"ignore_unknown": True, **EVERY},
        beside=PATIENTS,
    ),
    _renamed(
        "a_finding_misspelled",
        refused("findings.csv", "line", "Fiber", "Fieber"),
        {"Fieber": "Fiber"},
    ),
    Case(
        "other_findings",
        refused("findings.csv", f"line {len(LISTED) + 1}", "Laborwert 0", "--ignore-unknown"),
        {"findings.csv": file([*LISTED, *OTHERS])},
        EVERY,
        beside=PATIENTS,
    ),
    Case(
        "other_findings_ignored",
        # 78 rows of 12 names, the most frequent ones first, and only ten of them.
        same("complete", "78", "12", "Laborwert 11.*Laborwert 10.*Laborwert 2"),
        {"findings.csv": file([*LISTED, *OTHERS])},
        {"ignore_unknown": True, **EVERY},
        beside=PATIENTS,
    ),
    Case(
        "a_misspelled_finding_ignored",
        same("without_fever", "Fiber", "Fieber", str(sum(row[1] == "Fieber" for row in LISTED))),
        {"findings.csv": file([[row[0], row[1].replace("Fieber", "Fiber")] for row in LISTED])},
        {"ignore_unknown": True, **EVERY},
        beside=PATIENTS,
    ),
    Case(
        "names_of_findings",
        same(),
        {
            "findings.csv": file(
                [[row[0], row[1].replace("Fieber", "R50.9")] for row in [*LISTED, *OTHERS[:1]]]
            )
        },
        {"names": "names.csv", **EVERY},
        beside={
            **PATIENTS,
            "names.csv": b"name;meaning\r\nR50.9;Fieber\r\nLaborwert 0;\r\n",
        },
    ),
]

INVERTED = [
    Case(
        "right_answers_only",
        # Those that are not listed are wrong, or unknown, but not right.
        refused("invert"),
        {"answers.csv": file(LISTED)},
        {"invert": True},
    ),
    Case(
        "inverted_codes",
        same("gaps"),
        {"Befunde.csv": _export(("1", "0", "9"))},
        {"values": {"1": "absent", "0": "present", "9": "unknown"}},
    ),
    Case(
        "inverted_codes_with_decimals",
        same("gaps"),
        {"Befunde.csv": _export(("1.0", "0.0", ""))},
        {"values": {"1": "absent", "0": "present"}},
    ),
    Case(
        "codes_with_decimals",
        same("gaps"),
        {"Befunde.csv": _export(("2.0", "1.0", ""))},
        {"values": {"1": "present", "2": "absent"}},
    ),
]

LAYOUTS = [
    Case(
        "long_as_wide",
        refused("findings.csv", "long|row (per|a) finding"),
        {"findings.csv": file(LISTED)},
        {"layout": "wide"},
    ),
    Case(
        "wide_as_long",
        refused("records.csv", "wide|column (per|a) symptom|symptom"),
        {"records.csv": file(wide())},
        {"layout": "long"},
    ),
    Case(
        "wide_and_long",
        refused("records.csv", "findings.csv", "long", "wide"),
        {"records.csv": file(wide()), "findings.csv": file(LISTED)},
    ),
    Case(
        "columns_given",
        same("gaps"),
        {"findings.csv": file(long(GAPS, ("0", "1", ""), ("Fall", "Was", "Wert")))},
        {"record": "Fall", "symptom": "Was", "state": "Wert"},
    ),
    Case(
        "columns_not_guessed",
        refused("findings.csv", "Fall|Was|Wert", "--record|--symptom"),
        {"findings.csv": file(long(GAPS, ("0", "1", ""), ("Fall", "Was", "Wert")))},
    ),
    Case(
        "columns_in_another_order",
        same("gaps"),
        {"findings.csv": file([[row[2], row[1], row[0]] for row in STATES])},
    ),
    Case(
        "columns_in_another_case",
        same("gaps"),
        {"findings.csv": file([["Record", "SYMPTOM", "State "], *STATES[1:]])},
    ),
    Case(
        "a_column_of_symptoms_in_wide_records",
        same("complete", "'symptom'"),
        {
            "records.csv": file(
                [
                    [*row, "symptom" if at == 0 else "ihm ist schlecht"]
                    for at, row in enumerate(wide())
                ]
            )
        },
        {"ignore_unknown": True},
    ),
    Case(
        "two_columns_of_ids",
        refused("findings.csv", "Patient ID", "Case ID", "--record"),
        {
            "findings.csv": file(
                [["Case ID", "Patient ID", "Finding"], *(["7", *row] for row in LISTED[1:])]
            )
        },
    ),
    Case(
        "numbers_of_rows_and_patients",
        # Which of them is the record? Each row its own one would be a very different answer.
        refused("findings.csv", "'id'", "'patient_id'", "--record"),
        {
            "findings.csv": file(
                [["id", "patient_id", "finding"]]
                + [[str(number), *row] for number, row in enumerate(LISTED[1:])]
            )
        },
    ),
    Case(
        "two_columns_of_states",
        refused("findings.csv", "status", "value", "--state"),
        {
            "findings.csv": file(
                [["record", "symptom", "status", "value"]]
                + [[*row[:2], "1", row[2]] for row in long(GAPS, ("0", "1", ""))[1:]]
            )
        },
    ),
    Case(
        "long_header_only",
        same("none", "no record|no row|header"),
        {"findings.csv": file(LISTED[:1])},
    ),
    Case(
        "long_ragged",
        refused("findings.csv", "line 11", "1 value", "2 columns"),
        {"findings.csv": file([*LISTED[:10], LISTED[10][:1], *LISTED[11:]])},
    ),
    Case(
        "wide_with_options_of_long",
        refused("n.records", "wide"),
        {"records.csv": file(wide())},
        {"n_records": 60},
    ),
]

CASES = [*STATE, *RECORDS, *NAMES, *INVERTED, *LAYOUTS]
