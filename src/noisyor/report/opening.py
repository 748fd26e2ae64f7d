"""The beginning of a page: the verdict, what it rests on, and the numbers people look for first."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from noisyor.learning.learned import Learned
from noisyor.learning.verdicts import Verdict
from noisyor.report.content import SUMMARY, Content, Reported
from noisyor.report.markup import counted, number, text
from noisyor.structure import Structure


def opening(content: Content) -> str:
    """Return the lines below the title."""
    standing = verdict_of(content)
    lines = " ".join(text(sentence) for sentence in _grounds(content))
    return (
        f'<p class="verdict {standing.level}">{text(standing.sentence)}</p>'
        f'<p class="lead">{lines}</p>{cards(content)}'
    )


def sentences(content: Content) -> list[str]:
    """Return what is to be known first, in plain sentences: the verdict, then what it rests on."""
    return [verdict_of(content).sentence, *_grounds(content)]


def _grounds(content: Content) -> list[str]:
    return [_what(content), *_how_well(content), _fit(content)]


class Standing(NamedTuple):
    """How far a network can be relied on."""

    level: str
    """good, care, bad or unknown."""
    sentence: str


def verdict_of(content: Content) -> Standing:
    """Return the one verdict of a page, from the fit and the flags together."""
    found = content.unexplained
    fits = None if found is None else found.fits
    if found is not None and fits is None and found.n_found:
        fits = False  # a file of pairs, which lists those that deviate
    labels = None if content.estimate is None else content.estimate.label_check
    if labels is not None and labels.sentence:
        wrong = f"Do not rely on it before its labels are looked at. {labels.sentence}"
        return Standing("bad", wrong)
    if content.doubt:
        says_little = " That it fits says little then." if fits else ""
        return Standing("bad", f"Do not rely on its numbers. {content.doubt}{says_little}")
    if fits is False:
        remedy = f" {found.remedy}" if found is not None and found.remedy else ""
        wrong = "Do not rely on it as it is: it does not explain the records."
        return Standing("bad", f"{wrong}{remedy}")
    if not content.knows_flags:
        return Standing("unknown", "How far it can be relied on is not known.")
    fit = "It explains the records" if fits else "Whether it explains the records is not known"
    n_missing = content.structure.n_parameters - content.n_learned
    n_doubtful = max(content.n_flagged, n_missing)
    if n_doubtful:
        which = counted(n_doubtful, "parameter")
        return Standing("care", f"{fit}; do not rely on {which} of {_all(content)}: see the flags.")
    cautions = _cautions(content)
    level = "good" if fits and not cautions else "care"
    text = f"{fit}, and none of its {_all(content)} parameters is flagged."
    return Standing(level, " ".join([text, *cautions]))


def _cautions(content: Content) -> tuple[str, ...]:
    """Return what is doubtful of how diseases occur together, in sentences."""
    learned = None if content.estimate is None else content.estimate.learned_causes
    return () if learned is None else learned.cautions


def _all(content: Content) -> str:
    return f"{content.structure.n_parameters:,}"


def _what(content: Content) -> str:
    structure = content.structure
    diseases, symptoms = structure.n_diseases, structure.n_symptoms
    layers = f"{counted(diseases, 'disease')}, {counted(symptoms, 'symptom')}"
    size = f"{layers} and {counted(structure.n_edges, 'edge')}"
    if content.estimate is not None:
        records = counted(content.estimate.n_records, "record")
        method = content.estimate.method.replace("_", " ")
        # Other methods may have had labels of some records: of these nothing is said here.
        seen = " in which the diseases were seen" if method.startswith("observed") else ""
        return f"A network of {size}, learned from {records}{seen}, by the method {method}."
    if content.made_from == SUMMARY:
        return (
            f"A network of {size}. Its files do not say by which method it was learned, or from "
            "how many records."
        )
    return f"A network of {size}, as it stands in its file."


def _how_well(content: Content) -> list[str]:
    n_all = content.structure.n_parameters
    if not content.knows_flags:
        missing = "flags" if content.knows_errors else "standard errors, intervals and flags"
        return [
            f"How well its {n_all:,} parameters are known is not in the file: {missing} are "
            "unknown here."
        ]
    n_missing = n_all - content.n_learned
    learned = f"All {n_all:,} parameters were learned"
    if n_missing:
        learned = f"{content.n_learned:,} of {n_all:,} parameters were learned"
    errors = widest_in_words(content.parts, content.structure)
    if not content.knows_errors:
        errors = ["Standard errors are not known."]
    if not content.n_flagged:
        return [f"{learned}, and none is flagged.", *errors]
    are = "is" if content.n_flagged == 1 else "are"
    return [f"{learned}; {content.n_flagged:,} {are} flagged, for the reasons below.", *errors]


def widest_in_words(parts: Mapping[str, Learned | Reported], structure: Structure) -> list[str]:
    """Return a sentence on the least exact of the parameters without a flag, if there are any."""
    intervals = [np.array(part.intervals()) for part in parts.values()]
    is_good = np.concatenate([part.flags == 0 for part in parts.values()])
    lower, upper = np.concatenate(intervals, axis=1)
    widths = np.where(is_good, upper - lower, np.nan)
    if not np.isfinite(widths).any():
        return []
    row = int(np.nanargmax(widths))
    kind, disease, symptom = (names[row] for names in structure.parameter_names().values())
    name = " on ".join(filter(None, (disease, symptom)))
    return [
        f"Of those that are not flagged the {kind} of {name} is known least: its 95% interval is "
        f"{number(float(lower[row]))} to {number(float(upper[row]))}."
    ]


def _fit(content: Content) -> str:
    found = content.unexplained
    if found is None:
        return "Whether the network explains which symptoms go together was not tested here."
    return found.sentences[0] if found.sentences else listed_in_words(found)


def listed_in_words(found: Verdict) -> str:
    """Say what a file of pairs says."""
    if not found.n_found:
        return "No pair of symptoms deviates."
    return (
        f"{counted(found.n_found, 'pair')} of symptoms {'is' if found.n_found == 1 else 'are'} "
        "not explained: a disease or an edge may be missing."
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
        "fits": {True: "yes", False: "no", None: unknown}[found.fits if found else None],
    }
    items = "".join(
        f'<div class="card{" muted" if value == unknown else ""}"><dt>{name}</dt>'
        f"<dd>{value}</dd></div>"
        for name, value in shown.items()
    )
    return f'<dl class="cards">{items}</dl>'
