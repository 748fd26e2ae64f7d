"""The sections of a page that need no script: misfits, schedule, truth, and the rows for print."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.report.content import ESTIMATE, Content, Reported, Unexplained
from noisyor.report.markup import bullets, counted, number, paragraph, section, table
from noisyor.report.pictures import scatter
from noisyor.schedule.unlearned import Subnetwork

MOST_PARTS = 50
"""Parts that are not learned which a page tells of; of the others only the number."""
PRINTED_FIRST, PRINTED_FLAGGED = 40, 400
"""Rows of the table that are printed: the first ones, and flagged ones."""


def misfits(content: Content) -> str:
    """Return what the network does not explain."""
    found = content.unexplained
    if found is None:
        says = (
            "Unknown: misfits are looked for when a network is learned. Give the file that "
            "“noisyor fit --misfits” wrote, or let “fit --report” write the page."
        )
        return section("misfits", "Misfits", paragraph(says, "note"))
    shown = [paragraph(each) for each in _findings(found)]
    if found.n_found:
        shown.append(_pairs(found))
    if found.edges:
        rows = [
            (each["disease"], each["symptom"], f"{each['residual']:+.1f}", f"{each['q_value']:.2g}")
            for each in found.edges
        ]
        titles = "disease", "symptom", "residual", "q-value"
        shown.append(table(titles, rows, caption="Edges that would explain most of them", texts=2))
    return section("misfits", "Misfits", *shown)


def _findings(found: Unexplained) -> Iterator[str]:
    """Yield what the tests found, in sentences."""
    if found.n_tested == 0:
        yield "No pair of symptoms could be tested: no standard errors are known, or no counts."
    elif found.p_value is not None:
        yield (
            f"{counted(found.n_tested or 0, 'pair')} of symptoms were tested, {found.n_found:,} "
            "deviate. If the network is right, the chance of anything as unusual is "
            f"{found.p_value:.2g}."
        )
    elif not found.n_found:
        yield "No pair of symptoms deviates."
    if found.symptoms:
        listed = ", ".join(f"{name} ({residual:+.1f})" for name, residual in found.symptoms)
        more = found.n_symptoms - len(found.symptoms)
        yield (
            f"{counted(found.n_symptoms, 'symptom')} came more, or less, often than the network "
            f"says, in standard deviations: {listed}{f' and {more:,} more' if more else ''}."
        )


def _pairs(found: Unexplained) -> str:
    rows = [
        (
            each["first"],
            each["second"],
            each["shared"] or "none",
            f"{each['observed']:,.0f}",
            f"{each['expected']:,.1f}",
            f"{each['residual']:+.1f}",
            f"{each['q_value']:.2g}",
        )
        for each in found.pairs
    ]
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
        return [paragraph("It learns every edge and every prior: all are identifiable.")]
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


class ErrorRow(NamedTuple):
    """The errors of some parameters of one kind."""

    kind: str
    depth: int | None
    """None for all depths; -1 for what was not learned."""
    n: int
    mean: float
    largest: float
    covered: float
    """The share of 95% intervals that hold the true value; NaN where there is no interval."""


def error_rows(name: str, part: Reported) -> list[ErrorRow]:
    """Return a row for all parameters of a kind and, where there are several, one per depth."""
    rows = [_row(name, None, part, np.ones(len(part.values), dtype=np.bool_))]
    depths = np.unique(part.depths)
    if len(depths) > 1:
        # What was not learned has depth -1, and comes last.
        for depth in sorted(depths.tolist(), key=lambda each: (each < 0, each)):
            rows.append(_row(name, depth, part, part.depths == depth))
    return rows if len(part.values) else []


def _row(name: str, depth: int | None, part: Reported, chosen: NDArray[np.bool_]) -> ErrorRow:
    assert part.true_values is not None
    true = part.true_values[chosen]
    errors = np.abs(part.values[chosen] - true)
    if not errors.size:
        return ErrorRow(name, depth, 0, np.nan, np.nan, np.nan)
    lower, upper = (bound[chosen] for bound in part.intervals())
    known = np.isfinite(lower)
    is_covered = (lower <= true) & (true <= upper)
    covered = float(is_covered[known].mean()) if known.any() else np.nan
    return ErrorRow(
        name, depth, int(chosen.sum()), float(errors.mean()), float(errors.max()), covered
    )


def truth(content: Content) -> str:
    """Return errors by depth and pictures of learned against true values; nothing without them."""
    if not content.has_truth:
        return ""
    rows = [
        _error_cells(row) for name, part in content.parts.items() for row in error_rows(name, part)
    ]
    titles = (
        "parameters",
        "depth",
        "number",
        "mean error",
        "largest error",
        "truth in the 95% interval",
    )
    pictures = "".join(
        scatter(part, name, logarithmic=name != "failure")
        for name, part in content.parts.items()
        if len(part.values)
    )
    return section(
        "truth",
        "Against the truth",
        paragraph("Each value is compared with that of the network given as the truth."),
        table(titles, rows, caption="Errors by depth (absolute differences)"),
        f'<div class="scatters">{pictures}</div>',
    )


def _error_cells(row: ErrorRow) -> tuple[str, ...]:
    depth = "all" if row.depth is None else "none" if row.depth < 0 else str(row.depth)
    covered = "unknown" if math.isnan(row.covered) else f"{row.covered:.0%}"
    return (
        f"{row.kind}s" if row.depth is None else "", depth, f"{row.n:,}", number(row.mean),
        number(row.largest), covered,
    )  # fmt: skip


def printed_rows(content: Content) -> str:
    """Return the rows of the table that paper gets, and browsers without scripts."""
    flagged = list(islice(_rows(content, only_flagged=True), PRINTED_FLAGGED))
    first = list(islice(_rows(content, only_flagged=False), PRINTED_FIRST))
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


def _rows(content: Content, *, only_flagged: bool) -> Iterator[tuple[str, ...]]:
    structure = content.structure
    for name, part in content.parts.items():
        chosen = np.flatnonzero(part.is_flagged) if only_flagged else range(len(part.values))
        for index in map(int, chosen):
            disease = symptom = ""
            if name == "failure":
                i, j = structure.edges[index]
                disease, symptom = structure.diseases[i], structure.symptoms[j]
            elif name == "prior":
                disease = structure.diseases[index]
            else:
                symptom = structure.symptoms[index]
            depth = int(part.depths[index])
            yield (
                name, disease, symptom, "; ".join(part.reasons(index)),
                number(float(part.values[index])), number(float(part.standard_errors[index])),
                "" if depth < 0 else str(depth),
            )  # fmt: skip
