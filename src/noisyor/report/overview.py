"""The opening of a page: what was learned and how well, in sentences, figures and a histogram."""

import math

import numpy as np

from noisyor.errors import some_of
from noisyor.learning.estimate import Explained
from noisyor.report.content import ESTIMATE, NETWORK, NEUTRAL, SUMMARY, Content
from noisyor.report.markup import (
    and_so_on,
    bullets,
    counted,
    number,
    paragraph,
    section,
    table,
    text,
)
from noisyor.report.pictures import depth_bars, histogram
from noisyor.structure import Structure


def sentences(content: Content) -> list[str]:
    """Return what is to be known first, in plain sentences."""
    return [_what(content), *_how_well(content), _fit(content)]


def _what(content: Content) -> str:
    structure = content.structure
    size = and_so_on(
        [
            counted(structure.n_diseases, "disease"),
            counted(structure.n_symptoms, "symptom"),
            counted(structure.n_edges, "edge"),
        ]
    )
    if content.estimate is not None:
        records = counted(content.estimate.n_records, "record")
        method = content.estimate.method.replace("_", " ")
        source = f"in which no disease was seen, by the method {method}"
        if method.startswith("observed"):
            source = f"in which the diseases were seen, by the method {method}"
        return f"A network of {size}, learned from {records} {source}."
    if content.made_from == SUMMARY:
        return (
            f"A network of {size}. Its files do not say by which method it was learned, or from "
            "how many records."
        )
    return f"A network of {size}, as it stands in its file."


def _how_well(content: Content) -> list[str]:
    n_all = content.structure.n_parameters
    if content.made_from == NETWORK:
        missing = "flags" if content.knows_errors else "standard errors, intervals and flags"
        return [
            f"How well its {n_all:,} parameters are known is not in the file: {missing} are "
            "unknown here."
        ]
    n_missing = n_all - content.n_learned
    learned = f"All {n_all:,} parameters were learned"
    if n_missing:
        learned = f"{content.n_learned:,} of {n_all:,} parameters were learned"
    errors = [] if content.knows_errors else ["Standard errors are not known."]
    if not content.n_flagged:
        return [f"{learned}, none of them with a doubt.", *errors]
    are = "is" if content.n_flagged == 1 else "are"
    return [f"{learned}; {content.n_flagged:,} {are} flagged, for the reasons below.", *errors]


def _fit(content: Content) -> str:
    found = content.unexplained
    if found is None:
        return "Whether the network explains which symptoms go together was not tested here."
    tested = "" if found.n_tested is None else f" of {found.n_tested:,} tested"
    frequent = ""
    if found.symptoms:
        frequent = (
            f" {counted(found.n_symptoms, 'symptom')} came more, or less, often than the network "
            "says."
        )
    if found.n_tested == 0:
        return f"No pair of symptoms could be tested against the network.{frequent}"
    if not found.n_found:
        return f"No pair of symptoms{tested} contradicts the network.{frequent}"
    are = "is" if found.n_found == 1 else "are"
    return (
        f"{counted(found.n_found, 'pair')} of symptoms{tested} {are} not explained: a disease or "
        f"an edge may be missing.{frequent}"
    )


def cards(content: Content) -> str:
    """Return the numbers that people look for first."""
    estimate, found, unknown = content.estimate, content.unexplained, "unknown"
    knows = content.knows_flags
    shown = {
        "diseases": f"{content.structure.n_diseases:,}",
        "symptoms": f"{content.structure.n_symptoms:,}",
        "edges": f"{content.structure.n_edges:,}",
        "records": unknown if estimate is None else f"{estimate.n_records:,}",
        "parameters learned": f"{content.n_learned:,}" if knows else unknown,
        "parameters flagged": f"{content.n_flagged:,}" if knows else unknown,
        "pairs not explained": f"{found.n_found:,}"
        if found is not None and found.n_tested != 0
        else unknown,
    }
    items = "".join(
        f'<div class="card{" muted" if value == unknown else ""}"><dt>{name}</dt>'
        f"<dd>{value}</dd></div>"
        for name, value in shown.items()
    )
    return f'<dl class="cards">{items}</dl>'


def overview(content: Content) -> str:
    """Return the section on how well everything was learned."""
    depths = histogram(
        depth_bars(content.parts["failure"]),
        label="Histogram of the failures by the depth at which they are learned.",
        axis="depth (none: not learned)",
    )
    legend = (
        '<p class="legend"><span class="key"></span> failures '
        '<span class="key flagged"></span> of them flagged</p>'
    )
    source = paragraph(_about_depths(content), "note")
    pieces = [
        '<div class="columns"><div>',
        _table(content),
        _reasons(content),
        *_more_notes(content),
        f'</div><div><h3 id="depths">Failures by depth</h3>{depths}',
        legend if content.knows_flags else "",
        f"{source}</div></div>",
    ]
    return section("overview", "How well it is known", *pieces)


def _about_depths(content: Content) -> str:
    says = (
        "The depth is the round of the schedule that learns an edge: what is deep rests on what "
        "was learned before, and on its errors."
    )
    if content.made_from == NETWORK:
        says += " These depths are those of the schedule that the structure has by default."
    return says


def _table(content: Content) -> str:
    rows = []
    for name, part in content.parts.items():
        known = part.standard_errors[np.isfinite(part.standard_errors)]
        counts = (int(part.is_learned.sum()), int(part.is_flagged.sum()))
        shown = [f"{n:,}" for n in counts] if content.knows_flags else ["unknown"] * 2
        error = number(float(np.median(known))) if known.size else "unknown"
        rows.append([f"{name}s", f"{len(part.values):,}", *shown, error])
    titles = "parameters", "all", "learned", "flagged", "median standard error"
    return table(titles, rows, caption="What was learned, by kind of parameter")


def _reasons(content: Content) -> str:
    """Return each reason with how many parameters have it."""
    listed = []
    by_kind = {kind: part.reason_counts() for kind, part in content.parts.items()}
    for reason in dict.fromkeys(reason for counts in by_kind.values() for reason in counts):
        which = [counted(n[reason], kind) for kind, n in by_kind.items() if reason in n]
        listed.append(f"{and_so_on(which)}: {reason}.")
    if not listed:
        return ""
    return f'<h3>Why parameters are flagged</h3><div class="reasons">{bullets(listed)}</div>'


def _more_notes(content: Content) -> list[str]:
    notes = []
    if content.n_learned < content.structure.n_parameters:
        notes.append(NEUTRAL)
    if content.made_from == ESTIMATE and content.estimate is not None:
        if content.estimate.trace is not None:
            notes.append(str(content.estimate.trace))
        notes += [fit_in_words(part, content.structure) for part in content.estimate.explained]
    return [paragraph(each, "note") for each in notes]


def fit_in_words(part: Explained, structure: Structure) -> str:
    """Return, in words, how well a part that no schedule learns fits, and what else would."""
    names = some_of(structure.diseases[disease] for disease in part.diseases.tolist())
    fitted = (
        f"No schedule learns {names}: fitted together to {part.n_moments:,} pairs and triplets, "
        f"with a misfit of {part.misfit:,.1f}"
    )
    if part.is_poor:
        return f"{fitted}: a poor fit, not to be trusted."
    if part.second == math.inf:
        return f"{fitted}; all starts led there, or to nothing as good."
    verdict = "as good" if part.is_ambiguous else "worse"
    return f"{fitted}; the next best explanation, {part.second:,.1f}, is {verdict}."


def opening(content: Content) -> str:
    """Return the lines below the title."""
    lines = " ".join(text(sentence) for sentence in sentences(content))
    return f'<p class="lead">{lines}</p>{cards(content)}'
