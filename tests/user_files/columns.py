"""Names that are not quite those of the structure: of columns, of symptoms and of ids."""

import unicodedata

from user_files.cases import Case, Link, refused, same
from user_files.truth import COMPLETE, SYMPTOMS, TWICE, changed, file, number_of, wide

ROWS = wide()


def _named(name: str, must, header: dict[str, str], **options) -> Case:
    """Return clean records in which some columns are called otherwise."""
    rows = [[header.get(cell, cell) for cell in ROWS[0]], *ROWS[1:]]
    return Case(name, must, {"records.csv": file(rows)}, options)


def _with_columns(cells: dict[str, str]) -> bytes:
    """Return clean records with further columns, each with one value."""
    return file([[*ROWS[0], *cells], *([*row, *cells.values()] for row in ROWS[1:])])


def _names(pairs: dict[str, str]) -> dict[str, bytes]:
    return {"names.csv": file([["name", "meaning"], *map(list, pairs.items())])}


SPELLING = [
    _named(
        "capitals",
        same("complete", "FIEBER|case|capital"),
        {name: name.upper() for name in SYMPTOMS},
    ),
    _named("blanks_around", same(), {"Fieber": " Fieber", "Kopfweh": "Kopfweh  "}),
    _named("blanks_inside", same("complete", "laufende"), {"laufende Nase": "laufende   Nase"}),
    _named(
        "non_breaking_blank", same("complete", "laufende"), {"laufende Nase": "laufende\u00a0Nase"}
    ),
    _named(
        "decomposed_letters",
        same("complete", "belkeit"),
        {"Übelkeit": unicodedata.normalize("NFD", "Übelkeit")},
    ),
    _named(
        "underscore",
        same("complete", "laufende_Nase"),
        {"laufende Nase": "laufende_Nase"},
    ),
    _named("misspelled", refused("records.csv", "Fiber", "Fieber"), {"Fieber": "Fiber"}),
    _named("zero_width_blank", refused("records.csv", "Fieber"), {"Fieber": "Fie\u200bber"}),
    _named("a_symptom_missing", refused("records.csv", "Kopfweh", "column"), {"Kopfweh": "Alter"}),
    _named(
        "a_symptom_missing_ignored",
        refused("records.csv", "Kopfweh", "column"),
        {"Kopfweh": "Alter"},
        ignore_unknown=True,
    ),
    _named(
        "a_column_twice",
        refused("records.csv", "Fieber", "more than one|twice"),
        {"Kopfweh": "Fieber"},
    ),
    Case(
        "two_columns_for_one_symptom",
        refused("records.csv", "FIEBER", "Fieber"),
        {"records.csv": _with_columns({"FIEBER": "1"})},
    ),
    Case(
        "two_columns_for_one_symptom_ignored",
        refused("records.csv", "Fieber", "more than one column|both mean"),
        {"records.csv": _with_columns({"Fieber ": "1"})},
        {"ignore_unknown": True},
    ),
    Case(
        "two_variants_for_one_symptom",
        refused("records.csv", "FIEBER", "fieber"),
        {
            "records.csv": file(
                [[*(cell.replace("Fieber", "FIEBER") for cell in ROWS[0]), "fieber"]]
                + [[*row, "1"] for row in ROWS[1:]]
            )
        },
    ),
    Case(
        "further_columns",
        refused("records.csv", "Alter", "Geschlecht", "--ignore-unknown"),
        {"records.csv": _with_columns({"Alter": "54", "Geschlecht": "w"})},
    ),
    Case(
        "further_columns_ignored",
        same("complete", "2 columns|Alter.*Geschlecht"),
        {"records.csv": _with_columns({"Alter": "54", "Geschlecht": "w"})},
        {"ignore_unknown": True},
    ),
    Case(
        "names_given",
        same(),
        {"records.csv": file([["record", *"abcde"], *ROWS[1:]])},
        {"names": "names.csv"},
        beside=_names(dict(zip("abcde", SYMPTOMS, strict=True))),
    ),
    Case(
        "names_without_a_meaning",
        same(),
        {"records.csv": _with_columns({"Alter": "54", "Puls": "80"})},
        {"names": "names.csv"},
        beside=_names({"Alter": "", "Puls": ""}),
    ),
    Case(
        "names_of_nothing",
        refused("names", "temp", "Fiebr", "did you mean 'Fieber'"),
        {"records.csv": _with_columns({"temp": "1"})},
        {"names": "names.csv"},
        beside=_names({"temp": "Fiebr"}),
    ),
    Case(
        "names_that_meet",
        refused("Fieber", "temp"),
        {"records.csv": _with_columns({"temp": "1"})},
        {"names": "names.csv"},
        beside=_names({"temp": "Fieber"}),
    ),
    Case(
        "names_given_twice",
        refused("names.csv", "line 3", "temp"),
        {"records.csv": _with_columns({"temp": "1"})},
        {"names": "names.csv"},
        beside={"names.csv": b"name,meaning\ntemp,Kopfweh\ntemp,\n"},
    ),
]

IDS = [
    Case(
        "patient_id",
        same("complete", "Patient ID"),
        {"records.csv": file(wide(record="Patient ID"))},
    ),
    Case("id_in_lower_case", same("complete", "'id'"), {"records.csv": file(wide(record="id"))}),
    Case(
        "id_of_another_name",
        refused("Fallnummer", "--record|--ignore-unknown"),
        {"records.csv": file(wide(record="Fallnummer"))},
    ),
    Case(
        "id_of_another_name_given",
        same(),
        {"records.csv": file(wide(record="Fallnummer"))},
        {"record": "Fallnummer"},
    ),
    Case(
        "id_column_that_is_not_there",
        refused("records.csv", "Fallnummer", "record"),
        {"records.csv": file(ROWS)},
        {"record": "Fallnummer"},
    ),
    Case(
        "id_missing",
        same(),
        {"records.csv": file(changed(ROWS, 14, 0, ""))},
    ),
    Case(
        "id_twice",
        same("complete", "1 row with an id"),
        {"records.csv": file(changed(ROWS, 14, 0, "P05"))},
    ),
    Case(
        "ids_in_two_files",
        same("twice", "48|P01"),
        {"one.csv": file(ROWS), "two.csv": file(ROWS, ";")},
    ),
    Case(
        "ids_in_two_files_meant",
        same("twice"),
        {"one.csv": file(ROWS), "two.csv": file(ROWS, ";")},
        {"ids_per_file": True},
    ),
    Case(
        "numbers_and_texts_as_ids",
        same("twice"),
        {"one.csv": file(wide(ids=number_of)), "two.csv": file(ROWS)},
    ),
    Case(
        "times_as_ids",
        same(),
        {"records.csv": file(wide(ids=lambda id_: f"2024-03-01 08:{id_[1:]}:00"))},
    ),
    Case(
        "without_ids_and_with",
        same("twice"),
        {"one.csv": file(wide(record=None)), "two.csv": file(ROWS)},
        in_python=refused("one.csv", "two.csv", "id"),
    ),
    Case(
        "the_same_file_twice",
        refused("records.csv", "twice|once"),
        {"records.csv": file(ROWS), "./records.csv": file(ROWS)},
    ),
    Case(
        "a_hard_link",
        refused("records.csv", "twice|once"),
        {"records.csv": file(ROWS), "other.csv": Link("records.csv", is_hard=True)},
    ),
    Case(
        "a_hard_link_without_ids",
        refused("records.csv", "twice|once"),
        {"records.csv": file(wide(record=None)), "other.csv": Link("records.csv", is_hard=True)},
    ),
    Case(
        "a_symbolic_link",
        refused("records.csv", "twice|once"),
        {"records.csv": file(ROWS), "other.csv": Link("records.csv", is_hard=False)},
    ),
    Case(
        "two_halves",
        same(),
        {"one.csv": file(ROWS[:21]), "two.csv": file([ROWS[0], *ROWS[21:]], ";")},
    ),
    Case(
        "halves_with_other_columns",
        same(),
        {
            "one.csv": file(ROWS[:21]),
            "two.csv": file([row[:1] + row[:0:-1] for row in [ROWS[0], *ROWS[21:]]]),
        },
    ),
]

assert len(TWICE) == 2 * len(COMPLETE)
CASES = [*SPELLING, *IDS]
