"""What really was the case, as plain lists, and the tables that people make of it.

Nothing here imports the package: the files, and what must come of them, are made without it.
"""

import csv
import io
import random
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from xml.sax.saxutils import escape

EDGES = (
    ("Grippe", "Fieber"),
    ("Grippe", "Husten, trocken"),
    ("Grippe", "Kopfweh"),
    ("Erkältung", "Husten, trocken"),
    ("Erkältung", "laufende Nase"),
    ("Magen-Darm-Infekt", "Übelkeit"),
    ("Magen-Darm-Infekt", "Fieber"),
)
DISEASES = tuple(dict.fromkeys(disease for disease, _ in EDGES))
SYMPTOMS = tuple(dict.fromkeys(symptom for _, symptom in EDGES))

Record = tuple[int | None, ...]
Records = Mapping[str, Record]
Rows = list[list[str]]


def _sampled() -> tuple[dict[str, Record], dict[str, Record]]:
    """Return 48 patients with the diseases and the findings of each."""
    rng = random.Random(20)
    diseases, findings = {}, {}
    for number in range(1, 49):
        ill = tuple(int(rng.random() < 0.3) for _ in DISEASES)
        causes = [[ill[DISEASES.index(d)] for d, s in EDGES if s == name] for name in SYMPTOMS]
        record = tuple(int(rng.random() > 0.9 * 0.3 ** sum(parents)) for parents in causes)
        diseases[f"P{number:02}"], findings[f"P{number:02}"] = ill, record
    return diseases, findings


LABELS, COMPLETE = _sampled()
_HIDDEN = random.Random(21)
GAPS: dict[str, Record] = {
    name: tuple(None if _HIDDEN.random() < 0.15 else value for value in record)
    for name, record in COMPLETE.items()
}
FILLED = {name: record for name, record in COMPLETE.items() if any(record)}
"""Those with at least one finding: all that a list of findings shows."""
ONES = {name: tuple(value or None for value in record) for name, record in COMPLETE.items()}
"""What is known where only what is present was written, and an empty cell means unknown."""
TWICE = {**COMPLETE, **{f"{name}, once more": record for name, record in COMPLETE.items()}}

TWINS = {
    "complete": COMPLETE,
    "gaps": GAPS,
    "filled": FILLED,
    "ones": ONES,
    "twice": TWICE,
    "none": {},
    "two_unknown": {**COMPLETE, "": (None,) * len(SYMPTOMS), " ": (None,) * len(SYMPTOMS)},
    "ones_filled": {name: ONES[name] for name in FILLED},
    "without_fever": {name: (0, *record[1:]) for name, record in COMPLETE.items()},
}


# --- tables, cell by cell ---


def wide(
    records: Records = COMPLETE,
    words: Sequence[str] = ("0", "1", ""),
    record: str | None = "record",
    name: Callable[[str], str] = str,
    ids: Callable[[str], str] = str,
    columns: Sequence[str] = SYMPTOMS,
) -> Rows:
    """Return a row a record; `words` are those for absent, present and unknown."""
    header = [] if record is None else [record]
    rows = [[*header, *(name(symptom) for symptom in columns)]]
    for id_, findings in records.items():
        cells = [words[2 if value is None else value] for value in findings]
        rows.append([*([] if record is None else [ids(id_)]), *cells])
    return rows


def long(
    records: Records = COMPLETE,
    words: Sequence[str] | None = None,
    columns: Sequence[str] = ("record", "symptom", "state"),
    name: Callable[[str], str] = str,
    ids: Callable[[str], str] = str,
) -> Rows:
    """Return a row a finding: those present, or with `words` (absent, present, unknown) all."""
    rows = [list(columns[: 2 if words is None else 3])]
    for id_, findings in records.items():
        for symptom, value in zip(SYMPTOMS, findings, strict=True):
            if words is not None:
                rows.append([ids(id_), name(symptom), words[2 if value is None else value]])
            elif value:
                rows.append([ids(id_), name(symptom)])
    return rows


def edges(
    pairs: Iterable[tuple[str, str]] = EDGES, columns: Sequence[str] = ("disease", "symptom")
) -> Rows:
    """Return the table of a structure."""
    return [list(columns), *map(list, pairs)]


def labels(
    records: Records = LABELS,
    words: Sequence[str] = ("0", "1", ""),
    record: str | None = "record",
    name: Callable[[str], str] = str,
    ids: Callable[[str], str] = str,
) -> Rows:
    """Return which diseases each record had."""
    return wide(records, words, record, name, ids, DISEASES)


def id_list(records: Records = COMPLETE, column: str = "record") -> Rows:
    """Return the ids of all records, one a row."""
    return [[column], *([id_] for id_ in records)]


def number_of(id_: str) -> str:
    """Return the id of a patient as a number, as other systems have it."""
    return str(1000 + int(id_[1:]))


def changed(rows: Rows, line: int, column: int, cell: str) -> Rows:
    """Return a table with another cell; lines count from 1, the header's, columns from 0."""
    copy = [list(row) for row in rows]
    copy[line - 1][column] = cell
    return copy


# --- files ---


def text(rows: Rows, delimiter: str = ",", newline: str = "\n", quoted: bool = False) -> str:
    """Return a table as CSV; cells are quoted where it is needed, or all of them."""
    out = io.StringIO()
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=delimiter, lineterminator=newline, quoting=quoting).writerows(rows)
    return out.getvalue()


def file(rows: Rows, delimiter: str = ",", newline: str = "\n", quoted: bool = False) -> bytes:
    """Return a table as the bytes of a CSV file in UTF-8."""
    return text(rows, delimiter, newline, quoted).encode()


def sheet(*tables: Rows) -> bytes:
    """Return tables as the sheets of an Excel file (.xlsx): numbers as numbers, others as texts."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    packages = "http://schemas.openxmlformats.org/package/2006"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    numbers = range(1, len(tables) + 1)
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{kinds}.worksheet+xml"/>'
        for n in numbers
    )
    names = "".join(f'<sheet name="Tabelle{n}" sheetId="{n}" r:id="rId{n}"/>' for n in numbers)
    links = "".join(
        f'<Relationship Id="rId{n}" Type="{relations}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in numbers
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{packages}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
        f"{overrides}</Types>",
        "_rels/.rels": f'<Relationships xmlns="{packages}/relationships"><Relationship Id="rId1" '
        f'Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets>{names}'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{packages}/relationships">{links}'
        "</Relationships>",
    }
    for number, rows in zip(numbers, tables, strict=True):
        lines = "".join(
            f'<row r="{at}">{"".join(map(_sheet_cell, row))}</row>'
            for at, row in enumerate(rows, start=1)
        )
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'
        )
    return zipped({name: f'<?xml version="1.0"?>{part}'.encode() for name, part in parts.items()})


def _sheet_cell(cell: str) -> str:
    if cell.isdigit():
        return f"<c><v>{cell}</v></c>"
    shown = f"<is><t>{escape(cell)}</t></is>"
    return f'<c t="inlineStr">{shown}</c>' if cell else "<c/>"


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive, the same one every time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), content)
    return out.getvalue()
