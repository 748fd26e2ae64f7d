"""Sheets of Excel are tables."""

import datetime

import numpy as np
import pytest

from noisyor import Findings, NoisyOrError, NoisyOrWarning, Structure

openpyxl = pytest.importorskip("openpyxl", reason="the extra noisyor[excel] is not there")
STRUCTURE = Structure.from_edges([("A", letter) for letter in "abc"])


def write(path, rows, more=()):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title, others in more:
        sheet = book.create_sheet(title)
        for row in others:
            sheet.append(row)
    book.save(path)
    return path


def test_a_sheet_is_read_as_its_cells_show(tmp_path):
    when = datetime.datetime(2026, 11, 16)
    rows = [
        [], ["id", "a", "b ", "c", None], [1.0, True, "yes", 0], ["x", 1, "NA", None],
        [when, False, "-", "+"],
    ]  # fmt: skip
    with pytest.warns(NoisyOrWarning):
        findings = Findings.read(write(tmp_path / "x.xlsx", rows), STRUCTURE)
    assert findings.record_ids.to_pylist() == ["1", "x", "2026-11-16"]
    expected = np.array([[1, 1, 0], [1, np.nan, np.nan], [0, 0, 1]])
    assert np.array_equal(findings.to_numpy(), expected, equal_nan=True)


def test_the_first_sheet_with_content_is_read_and_others_are_told(tmp_path):
    edges = [["disease", "symptom"], ["A", "a"]]
    path = write(tmp_path / "x.xlsx", [], [("edges", edges), ("notes", [["by", "hand"]])])
    with pytest.warns(NoisyOrWarning, match="the sheet 'edges' is read; 'notes' is not"):
        structure = Structure.from_csv(path)
    assert structure.n_edges == 1


def test_what_is_wrong_with_a_sheet_is_named(tmp_path):
    path = write(tmp_path / "x.xlsx", [["a", "b", "c"], [1, 0, "maybe"]])
    with pytest.raises(NoisyOrError, match=r"x.xlsx, sheet 'Sheet', row 2, column 'c': 'maybe'"):
        Findings.read(path, STRUCTURE)
    with pytest.raises(NoisyOrError, match="has no sheet with a header"):
        Findings.read(write(tmp_path / "empty.xlsx", []), STRUCTURE)
    (tmp_path / "no.xlsx").write_text("a,b,c\n1,0,0\n")
    with pytest.raises(NoisyOrError, match=r"no.xlsx cannot be read"):
        Findings.read(tmp_path / "no.xlsx", STRUCTURE)
