"""Files that spreadsheets write: delimiters, decimal commas, encodings, empty rows and columns."""

import unicodedata

from user_files.cases import Case, Same, refused, same
from user_files.truth import GAPS, changed, file, sheet, text, wide

ROWS = wide()
BELOW = [""] * len(ROWS[0])


def _decomposed(name: str) -> str:
    return unicodedata.normalize("NFD", name)


DELIMITERS = [
    Case("clean", Same(is_silent=True), {"records.csv": file(ROWS)}),
    Case("clean_with_gaps", Same("gaps", is_silent=True), {"records.csv": file(wide(GAPS))}),
    Case("clean_without_ids", Same(is_silent=True), {"records.csv": file(wide(record=None))}),
    Case("semicolons", same(), {"Mappe1.csv": file(ROWS, ";")}),
    Case("semicolons_quoted", same(), {"Mappe1.csv": file(ROWS, ";", "\r\n", quoted=True)}),
    Case(
        "semicolons_in_quoted_ids",
        same(),
        {"records.csv": file(wide(ids=lambda id_: f"Müller; Hans; {id_};;;;;;"))},
    ),
    Case("sep_line", same(), {"Mappe1.csv": b"sep=;\r\n" + file(ROWS, ";", "\r\n")}),
    Case("sep_line_quoted", same(), {"Mappe1.csv": b'"sep=;"\r\n' + file(ROWS, ";", "\r\n")}),
    Case(
        "sep_line_behind_a_mark",
        same(),
        {"Mappe1.csv": b"\xef\xbb\xbfsep=;\r\n" + file(ROWS, ";", "\r\n")},
    ),
    Case(
        "a_two_below_a_sep_line",
        refused("Mappe1.csv", "line 13", "column 'Kopfweh'", "'?2'?"),
        {"Mappe1.csv": b"sep=;\r\n" + file(changed(ROWS, 12, 3, "2"), ";", "\r\n")},
    ),
    Case(
        "a_two_below_blank_lines",
        refused("Mappe1.csv", "line 14", "column 'Kopfweh'", "'?2'?"),
        {"Mappe1.csv": b"\n\n" + file(changed(ROWS, 12, 3, "2"), ";")},
    ),
    Case("sep_line_comma", same(), {"Mappe1.csv": b"sep=,\r\n" + file(ROWS, newline="\r\n")}),
    Case(
        "decimal_commas",
        same(),
        {"Mappe1.csv": file(wide(words=("0,0", "1,0", "")), ";", "\r\n")},
    ),
    Case(
        "decimal_commas_with_gaps",
        same("gaps"),
        {"Mappe1.csv": file(wide(GAPS, words=("0,00", "1,00", "")), ";", "\r\n")},
    ),
    Case("tabs_as_csv", same(), {"records.csv": file(ROWS, "\t")}),
    Case("tabs_as_tsv", Same(is_silent=True), {"records.tsv": file(ROWS, "\t")}),
    Case("tabs_as_txt", same(), {"records.txt": file(ROWS, "\t", "\r\n")}),
    Case("tabs_as_tab", same(), {"records.tab": file(ROWS, "\t")}),
    Case("semicolons_as_txt", same(), {"records.txt": file(ROWS, ";")}),
    Case("commas_as_tsv", same(), {"records.tsv": file(ROWS)}),
    Case("capital_ending", same(), {"RECORDS.CSV": file(ROWS)}),
]

ENCODINGS = [
    Case("byte_order_mark", same(), {"records.csv": b"\xef\xbb\xbf" + file(ROWS)}),
    Case(
        "byte_order_mark_quoted",
        same(),
        {"records.csv": b"\xef\xbb\xbf" + file(ROWS, ";", "\r\n", quoted=True)},
    ),
    Case("windows_lines", Same(is_silent=True), {"records.csv": file(ROWS, newline="\r\n")}),
    Case("old_mac_lines", same(), {"records.csv": file(ROWS, newline="\r")}),
    Case(
        "latin_1",
        refused("Mappe1.csv", "line 1", "UTF-8"),
        {"Mappe1.csv": text(ROWS, ";", "\r\n").encode("latin-1")},
    ),
    Case(
        "latin_1_below",
        refused("line 7", "UTF-8"),
        {"records.csv": file(changed(ROWS, 7, 0, "Jörg")).replace("ö".encode(), b"\xf6")},
    ),
    Case(
        "utf_16",
        refused("Unicode.txt", "UTF-8"),
        {"Unicode.txt": text(ROWS, "\t", "\r\n").encode("utf-16")},
    ),
    Case(
        "null_bytes",
        refused("records.csv", "line 9|NUL|null|zero"),
        {"records.csv": file(changed(ROWS, 9, 2, "\0"))},
    ),
]

EMPTY = [
    Case("blank_lines_below", same(), {"records.csv": file(ROWS) + b"\r\n\r\n\n"}),
    Case("blank_lines_above", same(), {"records.csv": b"\n\n" + file(ROWS)}),
    Case(
        "blank_lines_between",
        same(),
        {"records.csv": file(ROWS[:9]) + b"\n\n" + file(ROWS[9:])},
    ),
    Case(
        "empty_rows_below",
        same("complete", "2 (empty|rows|lines)|empty rows"),
        {"Mappe1.csv": file([*ROWS, BELOW, BELOW], ";")},
    ),
    Case("an_empty_row_below", same("complete", "1 "), {"Mappe1.csv": file([*ROWS, BELOW], ";")}),
    Case(
        "empty_rows_below_without_ids",
        # They may be records of which nothing is known.
        same("two_unknown", "2 (records|rows)"),
        {"Mappe1.csv": file([*wide(record=None), BELOW[1:], BELOW[1:]], ";")},
    ),
    Case(
        "empty_columns",
        same(),
        {"Mappe1.csv": file([[*row, "", ""] for row in ROWS], ";", "\r\n")},
    ),
    Case(
        "empty_columns_of_commas",
        same(),
        {"Mappe1.csv": file([[*row, ""] for row in ROWS])},
    ),
    Case(
        "cells_without_a_name",
        same("complete", "passed over.*column 7"),
        {
            "Mappe1.csv": file(
                [[*row, "1" if number == 4 else ""] for number, row in enumerate(ROWS)]
            )
        },
    ),
    Case(
        "padded_cells",
        same(),
        {"records.csv": file([[f"  {cell} " for cell in row] for row in ROWS])},
    ),
    Case(
        "padded_with_gaps",
        same("gaps"),
        {"records.csv": file(wide(GAPS, (" no", "Yes ", "   ")))},
    ),
    Case(
        "non_breaking_cells",
        same(),
        {"records.csv": file(wide(words=("\u00a00", "1\u00a0", "")))},
    ),
    Case(
        "title_above",
        refused("Mappe1.csv", "header|first line|no column"),
        {"Mappe1.csv": b"Auswertung 2024;;;;;\r\n" + file(ROWS, ";", "\r\n")},
    ),
    Case("empty_file", refused("records.csv", "empty"), {"records.csv": b""}),
    Case("byte_order_mark_only", refused("records.csv", "empty"), {"records.csv": b"\xef\xbb\xbf"}),
    Case("blank_lines_only", refused("records.csv", "empty"), {"records.csv": b"\n\r\n \n"}),
    Case(
        "header_only",
        same("none", "no record|no row|header"),
        {"records.csv": file(ROWS[:1])},
    ),
    Case("bars", same(), {"Mappe1.csv": file(ROWS, "|")}),
    Case("carets", refused("Mappe1.csv", "column"), {"Mappe1.csv": file(ROWS, "^")}),
]

WORKBOOKS = [
    Case("workbook", same(), {"Mappe1.xlsx": sheet(ROWS)}),
    Case("workbook_with_gaps", same("gaps"), {"Mappe1.xlsx": sheet(wide(GAPS))}),
    Case(
        "old_workbook", refused("Mappe1.xls", r"\.csv|\.xlsx"), {"Mappe1.xls": b"\xd0\xcf\x11\xe0"}
    ),
    Case("open_document", refused("Mappe1.ods", r"\.csv|\.xlsx"), {"Mappe1.ods": b"PK\x03\x04"}),
    Case("workbook_named_csv", refused("Mappe1.csv", "UTF-8"), {"Mappe1.csv": sheet(ROWS)}),
    Case("csv_named_workbook", refused("Mappe1.xlsx", "not|cannot"), {"Mappe1.xlsx": file(ROWS)}),
]


def _words(name: str, absent: str, present: str, unknown: str = "") -> Case:
    return Case(
        f"words_{name}",
        same("gaps"),
        {"records.csv": file(wide(GAPS, (absent, present, unknown)))},
    )


WORDS = [
    _words("true", "FALSE", "TRUE", "NA"),
    _words("yes", "No", "Yes", "unknown"),
    _words("y", "n", "Y", "N/A"),
    _words("plus", "-", "+", "Null"),
    _words("present", "Absent", "PRESENT", "Unknown"),
    _words("decimal", "0.0", "1.0", "nan"),
    _words("more_decimals", "0.00", "1.00"),
    _words("formulas", "0", "1", "#N/A"),
    _words("none", "false", "tRUE", "NONE"),
    Case(
        "words_of_several_kinds",
        same(),
        {
            "records.csv": file(
                [ROWS[0]]
                + [
                    [
                        row[0],
                        *(
                            words[int(cell)]
                            for words, cell in zip(
                                (
                                    ("no", "yes"),
                                    "01",
                                    ("FALSE", "TRUE"),
                                    "-+",
                                    ("absent", "present"),
                                ),
                                row[1:],
                                strict=True,
                            )
                        ),
                    ]
                    for row in ROWS[1:]
                ]
            )
        },
    ),
    Case(
        "german_truth",
        refused("line 2", "column 'Fieber'", "WAHR|FALSCH", "--values"),
        {"Mappe1.csv": file(wide(words=("FALSCH", "WAHR", "")), ";")},
    ),
    Case(
        "german_truth_with_values",
        same(),
        {"Mappe1.csv": file(wide(words=("FALSCH", "WAHR", "")), ";")},
        {"values": {"WAHR": "present", "FALSCH": "absent"}},
    ),
    Case(
        "values_in_another_case",
        same("gaps"),
        {"records.csv": file(wide(GAPS, ("Neg ", " POS", "?")))},
        {"values": {"pos": "present", "neg": "absent", "?": "unknown"}},
    ),
    Case(
        "values_with_one_missing",
        refused(r"line \d+", "neg", "--values"),
        {"records.csv": file(wide(words=("neg", "pos", "")))},
        {"values": {"pos": "present"}},
    ),
    Case(
        "values_of_no_state",
        refused("--values|values", "maybe", "present"),
        {"records.csv": file(ROWS)},
        {"values": {"pos": "maybe"}},
    ),
    Case(
        "crosses",
        refused("line 2|line 3|line 4", "'x'", "--values"),
        {"records.csv": file(wide(words=("", "x", "")))},
    ),
    Case(
        "crosses_with_values",
        same(),
        {"records.csv": file(wide(words=("", "x", "")))},
        {"values": {"x": "present", "": "absent"}},
    ),
    Case(
        "crosses_and_unknown",
        same("ones", "absent"),
        {"records.csv": file(wide(words=("", "x", "")))},
        {"values": {"x": "present"}},
    ),
    Case(
        "ones_and_nothing",
        same("ones", "absent"),
        {"records.csv": file(wide(words=("", "1", "")))},
    ),
    Case(
        "inverted_by_values",
        same(),
        {"records.csv": file(wide(words=("1", "0", "")))},
        {"values": {"0": "present", "1": "absent"}},
    ),
    Case(
        "inverted_by_values_with_decimals",
        same("gaps"),
        {"records.csv": file(wide(GAPS, ("1.0", "0.0", "")))},
        {"values": {"0": "present", "1": "absent"}},
    ),
    Case(
        "values_for_words_that_are_known",
        same("gaps"),
        {"records.csv": file(wide(GAPS, ("Yes", "No", "")))},
        {"values": {"no": "present", "YES": "absent"}},
    ),
    Case(
        "inverted",
        same("gaps"),
        {"answers.csv": file(wide(GAPS, ("1", "0", "")))},
        {"invert": True},
    ),
    Case(
        "minus_without_plus",
        refused("'-'", "--values"),
        {"records.csv": file(wide(words=("-", "1", "")))},
    ),
    Case(
        "minus_without_plus_with_values",
        same(),
        {"records.csv": file(wide(words=("-", "1", "")))},
        {"values": {"-": "absent"}},
    ),
    Case(
        "minus_for_unknown_with_values",
        same("gaps"),
        {"records.csv": file(wide(GAPS, ("0", "1", "-")))},
        {"values": {"-": "unknown"}},
    ),
    Case(
        "a_two",
        refused("records.csv", "line 12", "column 'Kopfweh'", "'?2'?", "--values"),
        {"records.csv": file(changed(ROWS, 12, 3, "2"))},
    ),
    Case(
        "a_probability",
        refused("line 30", "column 'Übelkeit'", r"0\.7", "--values"),
        {"records.csv": file(changed(ROWS, 30, 5, "0.7"))},
    ),
    Case(
        "a_formula_error",
        refused("line 49", "column 'Fieber'", "#REF!", "--values"),
        {"records.csv": file(changed(ROWS, 49, 1, "#REF!"))},
    ),
    Case(
        "a_date",
        refused("line 3", "column 'Fieber'", "01.02.2024", "--values"),
        {"records.csv": file(changed(ROWS, 3, 1, "01.02.2024"))},
    ),
    Case(
        "ragged_short",
        refused("line 21", "5 values", "6 columns"),
        {"records.csv": file([*ROWS[:20], ROWS[20][:-1], *ROWS[21:]])},
    ),
    Case(
        "ragged_long",
        refused("line 21", "7 values", "6 columns"),
        {"records.csv": file([*ROWS[:20], [*ROWS[20], "1"], *ROWS[21:]])},
    ),
    Case(
        "quote_left_open",
        refused("records.csv", "line"),
        {"records.csv": file(ROWS[:20]) + b'"P20,0,0,0,0,0\n' + file(ROWS[21:])},
    ),
    Case(
        "line_break_in_a_cell",
        same("complete", "Bemerkung"),
        {
            "records.csv": file(
                [[*ROWS[0], "Bemerkung"], *([*row, 'krank,\n"sehr"'] for row in ROWS[1:])]
            )
        },
        {"ignore_unknown": True},
    ),
]

CASES = [*DELIMITERS, *ENCODINGS, *EMPTY, *WORKBOOKS, *WORDS]
