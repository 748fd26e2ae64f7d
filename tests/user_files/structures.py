"""Structures as people write them: a table of edges, with the mistakes of tables."""

import unicodedata

from user_files.cases import Case, Same, refused, same
from user_files.truth import DISEASES, EDGES, SYMPTOMS, edges, file, sheet, text, wide

RECORDS = {"records.csv": file(wide())}


def _case(name: str, must, content: bytes, file_name: str = "edges.csv") -> Case:
    return Case(f"structure_{name}", must, RECORDS, structure={file_name: content})


def _variant(disease: str, at: int) -> list[tuple[str, str]]:
    """Return the edges, one of them with another spelling of its disease."""
    return [(disease, pair[1]) if number == at else pair for number, pair in enumerate(EDGES)]


MATRIX = [["", *SYMPTOMS]] + [
    [disease, *(str(int((disease, symptom) in EDGES)) for symptom in SYMPTOMS)]
    for disease in DISEASES
]

CASES = [
    _case("clean", Same(is_silent=True), file(edges())),
    _case("semicolons", same(), file(edges(), ";", "\r\n")),
    _case("byte_order_mark", same(), b"\xef\xbb\xbf" + file(edges(), ";", "\r\n", quoted=True)),
    _case("sep_line", same(), b"sep=;\n" + file(edges(), ";")),
    _case("tabs", same(), file(edges(), "\t"), "edges.txt"),
    _case("workbook", same(), sheet(edges()), "edges.xlsx"),
    _case("blank_lines", same(), file(edges()) + b"\n\n"),
    _case(
        "empty_rows",
        refused("edges.csv", "line 9", "empty"),
        file([*edges(), ["", ""], ["", ""]], ";"),
    ),
    _case("capital_columns", same(), file(edges(columns=("Disease", "Symptom")))),
    _case("padded_columns", same(), file(edges(columns=(" disease", "symptom ")))),
    _case(
        "other_columns",
        refused("edges.csv", "disease", "Krankheit|Befund"),
        file(edges(columns=("Krankheit", "Befund"))),
    ),
    _case("further_columns", same(), file([[*row, "x"] for row in edges()])),
    _case("disease_with_a_blank", same("complete", "Grippe "), file(edges(_variant("Grippe ", 1)))),
    _case("disease_in_lower_case", same("complete", "grippe"), file(edges(_variant("grippe", 2)))),
    _case(
        "disease_decomposed",
        same("complete", "Erk"),
        file(edges(_variant(unicodedata.normalize("NFD", "Erkältung"), 4))),
    ),
    _case(
        "symptom_with_a_blank",
        same("complete", "Fieber"),
        file(edges([*EDGES[:-1], ("Magen-Darm-Infekt", "Fieber\u00a0")])),
    ),
    _case(
        "everything_decomposed",
        same("complete", "belkeit"),
        unicodedata.normalize("NFD", text(edges())).encode(),
    ),
    _case(
        "edge_twice",
        refused("edges.csv", "line 9", "line 2", "Grippe"),
        file(edges([*EDGES, EDGES[0]])),
    ),
    _case(
        "edge_twice_with_a_blank",
        refused("edges.csv", "line 9", "line 2", "Grippe"),
        file(edges([*EDGES, ("Grippe ", "Fieber")])),
    ),
    _case(
        "name_missing",
        refused("edges.csv", "line 5", "disease", "empty"),
        file(edges(_variant("", 3))),
    ),
    _case(
        "name_of_blanks",
        refused("edges.csv", "line 5", "disease", "empty"),
        file(edges(_variant("  ", 3))),
    ),
    _case("header_only", refused("edges.csv", "no edges"), file(edges([]))),
    _case("without_header", refused("edges.csv", "disease", "column"), file([*map(list, EDGES)])),
    _case("matrix", refused("edges.csv", "disease", "column"), file(MATRIX)),
    _case("latin_1", refused("edges.csv", "line 5", "UTF-8"), text(edges()).encode("latin-1")),
    _case("ragged", refused("edges.csv", "line 4"), file([*edges()[:3], ["Grippe"], *edges()[3:]])),
    _case(
        "missing_symptom",
        refused("records.csv", "Schnupfen"),
        file(edges([*EDGES, ("Erkältung", "Schnupfen")])),
    ),
]
