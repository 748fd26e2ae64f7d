"""The sections of a page that need no script.

How well everything was learned, how diseases occur together, misfits, schedule, truth, and the rows
for print.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from noisyor.errors import some_of
from noisyor.learning.learned import Explained
from noisyor.learning.verdicts import Verdict
from noisyor.report.content import (
    ESTIMATE,
    NETWORK,
    NEUTRAL,
    Content,
    Dependence,
    Reported,
)
from noisyor.report.markup import (
    and_so_on,
    bullets,
    counted,
    number,
    paragraph,
    section,
    table,
)
from noisyor.report.opening import listed_in_words
from noisyor.report.pictures import depth_histogram, scatter
from noisyor.schedule.unlearned import Subnetwork
from noisyor.structure import Structure

MOST_ROWS = 400
"""Effects and prevalences that a page lists."""
MOST_PARTS = 50
"""Parts that are not learned that a page lists; of the others it says only the number."""


def overview(content: Content) -> str:
    """Return the section on how well everything was learned."""
    depths = depth_histogram(content.parts["failure"])
    legend = (
        '<p class="legend"><span class="key"></span> failures '
        '<span class="key flagged"></span> of them flagged</p>'
    )
    about = (
        "The depth is the round of the schedule that learns an edge: what is deep rests on what "
        "was learned before, and on its errors."
    )
    if content.made_from == NETWORK:
        about += " These depths are those of the schedule that the structure has by default."
    pieces = [
        '<div class="columns"><div>',
        _table(content),
        _reasons(content),
        *_more_notes(content),
        f'</div><div><h3 id="depths">Failures by depth</h3>{depths}',
        legend if content.knows_flags else "",
        f"{paragraph(about, 'note')}</div></div>",
    ]
    return section("overview", "How well it is known", *pieces)


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


KINDS_IN_WORDS = {
    "independent": "Diseases are independent of each other, given what is known of a person.",
    "joint": "Diseases have a joint distribution.",
    "trait": "Diseases depend on hidden traits of a person.",
}


def together(content: Content) -> str:
    """Return how diseases occur together, and depend on covariates; nothing where they do not."""
    found = content.dependence
    if found is None:
        return ""
    says = f"{KINDS_IN_WORDS[found.kind]} {counted(found.n_parameters, 'parameter')} say how."
    unknown = "Intervals are unknown: the summary that “noisyor fit --summary” writes has them."
    note = "" if found.rows else paragraph(unknown, "note")
    shown = [
        table(titles, rows[:MOST_ROWS], caption=_cut(caption, rows), texts=texts)
        for titles, rows, caption, texts in _tables_of(found)
        if rows
    ]
    return section("together", "Diseases together", paragraph(says), note, *shown)


Listing = tuple[tuple[str, ...], list[tuple[str, ...]], str, int]
"""Titles, rows, caption of a table, and how many columns are texts."""


def _tables_of(found: Dependence) -> Iterator[Listing]:
    moves = [
        (row["disease"], row["parameter"], row["name"], *_ends(row))
        for row in found.rows
        if row["parameter"] in ("loading", "effect")
    ]
    titles: tuple[str, ...] = ("disease", "parameter", "of", "log odds", "from", "to")
    yield titles, moves, "What traits and covariates do to the log odds", 3
    shares = [
        (row["disease"], row["name"], *_ends(row))
        for row in found.rows
        if row["parameter"] == "prevalence"
    ]
    titles = ("disease", "of people with", "prevalence", "from", "to")
    yield titles, shares, "Prevalence, with 95% intervals", 2
    states = [(name, *map(number, numbers)) for name, *numbers in found.states]
    yield ("diseases of a person", "share", "from", "to"), states, "The most frequent sets", 1
    pairs: list[tuple[str, ...]] = [
        (one, other, f"{value:+.2f}") for one, other, value in found.correlations
    ]
    yield ("disease", "and disease", "correlation"), pairs, "The strongest correlations", 2


def _ends(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a value and its interval; nothing where that is not known."""
    values = (row[name] for name in ("value", "lower", "upper"))
    return tuple("" if value is None else f"{value:.3g}" for value in values)


def _cut(caption: str, rows: Sequence[object]) -> str:
    more = len(rows) - MOST_ROWS
    return f"{caption}; {more:,} more are in the summary" if more > 0 else caption


def misfits(content: Content) -> str:
    """Return what the network does not explain."""
    found = content.unexplained
    if found is None:
        says = (
            "Unknown: misfits are looked for when a network is learned. Give the file that "
            "“noisyor fit --misfits” wrote, or let “fit --report” write the page."
        )
        return section("misfits", "Misfits", paragraph(says, "note"))
    shown = [paragraph(each) for each in found.sentences or [listed_in_words(found)]]
    if found.causes:
        shown.append(_causes(found))
    if found.n_found:
        shown.append(_pairs(found))
    if found.edges:
        edges = [
            (each["disease"], each["symptom"], f"{each['residual']:+.1f}", f"{each['q_value']:.2g}")
            for each in found.edges
        ]
        titles = "disease", "symptom", "residual", "q-value"
        shown.append(table(titles, edges, caption="Edges that would explain pairs", texts=2))
    if found.tests:
        tests = [(name, f"{p_value:.2g}") for name, p_value in found.tests]
        shown.append(table(("test", "p-value"), tests, caption="The tests, one by one", texts=1))
    return section("misfits", "Misfits", *shown)


def _causes(found: Verdict) -> str:
    rows = []
    for each in found.causes:
        names = each["diseases"] or "none", each["symptoms"] or "none"
        rows.append((each["kind"], *names, f"{each['residual']:+.1f}", f"{each['share']:.0%}"))
    titles = "likely cause", "diseases", "symptoms", "residual", "explains"
    return table(titles, rows, caption="What would explain the deviation", texts=3)


def _pairs(found: Verdict) -> str:
    rows = []
    for each in found.pairs:
        counts = f"{each['observed']:,.0f}", f"{each['expected']:,.1f}"
        score = f"{each['residual']:+.1f}", f"{each['q_value']:.2g}"
        rows.append((each["first"], each["second"], each["shared"] or "none", *counts, *score))
    titles = (
        "symptom", "and symptom", "diseases in common", "together", "expected", "residual",
        "q-value",
    )  # fmt: skip
    more = found.n_found - len(rows)
    note = f" {more:,} more are not shown." if more else ""
    caption = f"Pairs that are not explained, the clearest first.{note}"
    return table(titles, rows, caption=caption, texts=3)


def schedule(content: Content) -> str:
    """Return the rounds of the schedule, and what it leaves."""
    plan = content.schedule
    source = "Which triplets and pairs of symptoms teach which edges, round by round."
    if content.made_from != ESTIMATE:
        source += (
            " It was found from the structure, with default options: which values were fixed, "
            "or what was chosen otherwise in learning, is not in the files."
        )
    taught, from_pairs = plan.edges_per_round, plan.pairs_per_round
    sums = np.cumsum(taught).tolist()
    n_edges = max(content.structure.n_edges, 1)
    rows = [
        (number, f"{n:,}", f"{pairs:,}", f"{total:,}", f"{total / n_edges:.1%}")
        for number, (n, pairs, total) in enumerate(zip(taught, from_pairs, sums, strict=True))
    ]
    titles = "round", "edges", "from pairs", "edges so far", "share of all"
    rounds = table(titles, rows, caption="Edges that each round learns") if rows else ""
    return section("schedule", "Schedule", paragraph(source), rounds, *_left(plan.unlearned()))


def _left(parts: list[Subnetwork]) -> list[str]:
    if not parts:
        return [
            paragraph(
                "It reaches every edge and every prior: all are identifiable. How well they are "
                "known from these records is another matter, which the standard errors and flags "
                "tell."
            )
        ]
    n_edges = sum(len(part.edges) for part in parts)
    listed = bullets(
        f"{counted(len(part.diseases), 'disease')}, {counted(len(part.symptoms), 'symptom')}, "
        f"{counted(len(part.edges), 'edge')}: {part.reason}"
        for part in parts[:MOST_PARTS]
    )
    more = len(parts) - MOST_PARTS
    return [
        paragraph(
            f"It leaves {counted(n_edges, 'edge')} in {counted(len(parts), 'part')}; these can "
            "still be learned by a joint fit (the clean-up), where the moments tell enough."
        ),
        listed,
        paragraph(f"And {counted(more, 'smaller part')}.", "note") if more > 0 else "",
    ]


def truth(content: Content) -> str:
    """Return errors by depth and pictures of learned against true values; nothing without them."""
    if not content.has_truth:
        return ""
    parts = {name: part for name, part in content.parts.items() if len(part.values)}
    rows = [row for name, part in parts.items() for row in _error_rows(name, part)]
    titles = (
        "parameters", "depth", "number", "mean error", "largest error", "truth in the 95% interval"
    )  # fmt: skip
    pictures = "".join(
        scatter(part, name, logarithmic=name != "failure") for name, part in parts.items()
    )
    return section(
        "truth",
        "Against the truth",
        paragraph("Each value is compared with that of the network given as the truth."),
        table(titles, rows, caption="Errors by depth (absolute differences)"),
        f'<div class="scatters">{pictures}</div>',
    )


def _error_rows(name: str, part: Reported) -> Iterator[tuple[str, ...]]:
    """Yield a row for all parameters of a kind and, where there are several, one per depth."""
    assert part.true_values is not None
    errors = np.abs(part.values - part.true_values)
    lower, upper = part.intervals()
    is_covered = (lower <= part.true_values) & (part.true_values <= upper)
    depths = part.depths_in_order
    for depth in [None, *(depths if len(depths) > 1 else [])]:
        chosen = np.full(len(errors), True) if depth is None else part.depths == depth
        shown = "all" if depth is None else "none" if depth < 0 else str(depth)
        covered = is_covered[chosen & np.isfinite(lower)]
        yield (
            f"{name}s" if depth is None else "", shown, f"{int(chosen.sum()):,}",
            number(float(errors[chosen].mean())), number(float(errors[chosen].max())),
            f"{float(covered.mean()):.0%}" if covered.size else "unknown",
        )  # fmt: skip


def printed_rows(content: Content) -> str:
    """Return the rows of the table that paper gets, and browsers without scripts."""
    is_flagged = np.concatenate([part.is_flagged for part in content.parts.values()])
    flagged = list(_rows(content, np.flatnonzero(is_flagged)[:400].tolist()))
    first = list(_rows(content, range(min(40, len(is_flagged)))))
    titles = "parameter", "disease", "symptom", "flags", "value", "standard error", "depth"
    pieces = []
    if flagged:
        more = content.n_flagged - len(flagged)
        note = f"; {more:,} more are not printed" if more else ""
        pieces.append(table(titles, flagged, caption=f"Flagged parameters{note}", texts=4))
    more = content.structure.n_parameters - len(first)
    note = f"; {more:,} more are in the page itself" if more else ""
    pieces.append(table(titles, first, caption=f"The first parameters{note}", texts=4))
    return f'<div class="only-print">{"".join(pieces)}</div>'


def _rows(content: Content, chosen: Iterable[int]) -> Iterator[tuple[str, ...]]:
    """Yield rows of some parameters, numbered through all kinds."""
    names = list(zip(*content.structure.parameter_names().values(), strict=True))
    own = [(part, index) for part in content.parts.values() for index in range(len(part.values))]
    for row in chosen:
        part, index = own[row]
        depth = int(part.depths[index])
        yield (
            *(name or "" for name in names[row]), "; ".join(part.reasons(index)),
            number(float(part.values[index])), number(float(part.standard_errors[index])),
            "" if depth < 0 else str(depth),
        )  # fmt: skip
