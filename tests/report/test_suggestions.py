"""The section on suggestions, and the edges that pictures show of them."""

import numpy as np
import pytest

from noisyor.discovery import Suggestion, Suggestions
from noisyor.errors import FileError, ParameterError
from noisyor.io.tables import write_table

NAN = float("nan")


@pytest.fixture
def found(clinic):
    structure = clinic.structure
    edges = {(int(i), int(j)) for i, j in structure.edges}
    missing = next((0, j) for j in range(structure.n_symptoms) if (0, j) not in edges)
    names = structure.diseases[0], (structure.symptoms[missing[1]],)
    there = structure.diseases[0], (structure.symptoms[int(structure.edges[0, 1])],)
    hidden = tuple(structure.symptoms[3:6])
    return Suggestions(
        (
            Suggestion("add edge", *names, 40.0, 31.0, 1e-9, 1e-7, 0.37),
            Suggestion("drop edge", *there, -0.4, 3.9, 0.2, NAN, 0.01),
            Suggestion("add disease", "", hidden, 80.0, 50.0, 1e-12, NAN, NAN),
        ),
        1000, 500,
    )  # fmt: skip


def test_suggestions_are_listed_and_drawn(page_of, clinic, found, tmp_path):
    write_table(tmp_path / "found.csv", found.table())
    for source in (found, tmp_path / "found.csv"):
        page = page_of(clinic, suggestions=source)
        assert "#suggestions" in page.links
        assert "1 edge to add, 1 edge to drop, 1 disease to add" in page.text
        structure = clinic.structure
        [[disease, symptom, strength]] = page.data["added"]
        assert (disease, structure.symptoms[symptom], strength) == (
            0,
            found.rows[0].symptoms[0],
            0.37,
        )
        [edge] = page.data["dropped"]
        assert structure.edges[edge].tolist() == [0, int(structure.edges[0, 1])]


def test_nothing_to_change_is_said(page_of, clinic):
    page = page_of(clinic, suggestions=Suggestions((), 1000, 500))
    assert "Records ask for no change" in page.text
    assert page.data["added"] == page.data["dropped"] == []


def test_a_page_without_suggestions_has_no_such_section(page_of, clinic):
    assert "#suggestions" not in page_of(clinic).links


def test_suggestions_on_another_network_are_refused(page_of, clinic, found):
    row = found.rows[0]
    others = {
        "no disease": row._replace(disease="nonsense"),
        "already has the edge": row._replace(symptoms=found.rows[1].symptoms),
        "does not have the edge": row._replace(kind="drop edge"),
        "is none of": row._replace(kind="nonsense"),
    }
    for message, other in others.items():
        with pytest.raises(FileError, match=message):
            page_of(clinic, suggestions=Suggestions((other,), 1000, 500))
    with pytest.raises(ParameterError, match="suggest found"):
        page_of(clinic, suggestions=np.zeros(3))


def test_diseases_to_split_and_to_merge_are_listed(page_of, clinic, found, tmp_path):
    names, structure = clinic.structure.diseases, clinic.structure
    own = tuple(structure.symptoms[j] for j in structure.children(0))
    split = Suggestion("split disease", names[0], own[:3], 90.0, 60.0, 1e-9, NAN, NAN)
    merge = Suggestion("merge diseases", names[1], own, -2.0, 20.0, 0.4, NAN, NAN, other=names[2])
    both = Suggestions((split._replace(shared=own[:1]), merge), 1000, 500)
    write_table(tmp_path / "both.csv", both.table())
    for source in (both, tmp_path / "both.csv"):
        page = page_of(clinic, suggestions=source)
        assert "1 disease to split, 1 pair of diseases to merge" in page.text
        assert f"{names[1]} + {names[2]}" in page.text
        assert page.data["added"] == page.data["dropped"] == []
    with pytest.raises(FileError, match="no disease"):
        page_of(clinic, suggestions=Suggestions((merge._replace(other="nonsense"),), 1000, 500))


def test_files_of_before_are_read(page_of, clinic, found, tmp_path):
    write_table(tmp_path / "old.csv", found.table().drop_columns(["other", "shared"]))
    page = page_of(clinic, suggestions=tmp_path / "old.csv")
    assert "1 edge to add, 1 edge to drop, 1 disease to add" in page.text
