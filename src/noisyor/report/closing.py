"""The end of a page: where the network comes from, and what the words mean."""

from typing import Any

from noisyor.report.content import SUMMARY, Content
from noisyor.report.markup import paragraph, section, table, text
from noisyor.vocabulary import Vocabulary

SETTINGS = {
    "pairs": "learns from pairs where no triplet suffices",
    "choice": "choice of triplets",
    "n_groups": "groups of records, for standard errors",
    "shrink": "shrinks what is weakly identified",
    "n_chains": "chains of draws",
    "n_init": "random starts",
    "max_iter": "steps at most",
    "tol": "stops at a rise below",
    "max_operations": "operations that a record may take to be solved exactly",
    "robust": "standard errors that hold in a wrong network",
    "causes": "how diseases occur together",
    "labelled_records": "records with a label",
    "n_traits": "traits",
    "covariates": "covariates",
    "pseudo_counts": "pseudo-counts",
    "blocks": "blocks of diseases",
}
"""What settings are, in words; others stand by their name."""


def provenance(content: Content) -> str:
    """Return when, from what, by which version and with which settings it was learned."""
    estimate = content.estimate
    if estimate is None:
        says = "Its file does not say how it came about."
        if content.made_from == SUMMARY:
            says = "Its files do not say by which method it was learned, when, or from what."
        return section("provenance", "Where it comes from", paragraph(says, "note"))
    rows: list[tuple[str, Any]] = [
        ("method", estimate.method.replace("_", " ")),
        ("records", f"{estimate.n_records:,}"),
    ]
    lineage = estimate.lineage
    if lineage is not None:
        rows += [("learned on", _date(lineage.date)), ("by", f"noisyor {lineage.version}")]
        rows += [("seed", "none" if lineage.seed is None else lineage.seed)]
        rows += [(SETTINGS.get(name, name.replace("_", " ")), _setting(value))
                 for name, value in lineage.settings.items()]  # fmt: skip
    rows = [row for row in rows if row[1] != ""]
    made = table(("what", "value"), rows, caption="How it was learned", texts=2)
    return section("provenance", "Where it comes from", made)


def _date(date: str) -> str:
    """Return a date for readers: 2026-03-01T12:00:00+00:00 is 2026-03-01 12:00 UTC."""
    return f"{date[:10]} {date[11:16]} UTC" if date[10:11] == "T" else date


def _setting(value: Any) -> str:
    """Return a setting for readers; nothing where it is left to the method."""
    if value is None or value in ([], {}, ""):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:,.12g}" if isinstance(value, int | float) else str(value)


GLOSSARY = {
    "disease": "a hidden cause: of a test a skill that is lacking, of a machine a fault",
    "symptom": "what is observed and a disease can cause: a wrong answer, an alarm",
    "prior": "how frequent a disease is",
    "failure": "how often a disease that is there does not cause the symptom; 1 - failure is how "
    "often it does",
    "leak": "how often a symptom comes without any of the diseases",
    "95% interval": "where the true value lies in 95 of 100 such studies, if the network is right",
    "flag": "a reason not to rely on a value, in words where it stands",
    "depth": "the round of the schedule in which a parameter is learned; later rounds rest on "
    "earlier ones",
    "misfit": "two symptoms that come together more often, or less often, than the network says",
}


def glossary(words: Vocabulary) -> str:
    """Return what the words of the page mean; the reader's own ones stand for ours."""
    say = words.translator()
    said = {}
    for word, meaning in GLOSSARY.items():
        own = getattr(words, word, word)
        ours = "" if own == word else f"what papers call a {word}: "
        said[own] = f"{ours}{say(meaning)}"
    items = "".join(
        f"<dt>{text(word)}</dt><dd>{text(meaning)}</dd>" for word, meaning in said.items()
    )
    return section("words", "Words", f'<dl class="words">{items}</dl>')
