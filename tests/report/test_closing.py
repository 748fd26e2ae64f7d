"""The end of a page: where a network comes from, and what words mean."""

from dataclasses import replace

from noisyor import Vocabulary
from noisyor.learning import Lineage
from noisyor.report.closing import GLOSSARY, glossary, provenance
from noisyor.report.content import content_of

LINEAGE = Lineage(
    {"shrink": True, "tol": None, "causes": "trait", "max_operations": 1e6}, 7, "0.1.0",
    "2026-01-02T10:20:30+00:00",
)  # fmt: skip


def test_where_a_network_comes_from(flagged):
    said = provenance(content_of(replace(flagged, lineage=LINEAGE)))
    for cells in (
        ("learned on", "2026-01-02 10:20 UTC"), ("by", "noisyor 0.1.0"), ("seed", "7"),
        ("method", "sequential"), ("records", "500"), ("how diseases occur together", "trait"),
        ("shrinks what is weakly identified", "yes"),
        ("operations that a record may take to be solved exactly", "1,000,000"),
    ):  # fmt: skip
        assert "".join(f"<td>{cell}</td>" for cell in cells) in said
    assert "stops at a rise" not in said  # left to the method


def test_what_a_file_does_not_say(clinic):
    assert "does not say how it came about" in provenance(content_of(clinic))


def test_words_are_told():
    page = glossary(Vocabulary())
    for word in GLOSSARY:
        assert f"<dt>{word}</dt>" in page


def test_the_reader_s_words_are_told_with_ours():
    page = glossary(Vocabulary("skill", "item"))
    assert "<dt>skill</dt><dd>what papers call a disease" in page
    assert "<dt>disease</dt>" not in page
    assert "<dt>prior</dt>" in page
