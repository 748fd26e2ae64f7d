"""The page: one HTML file with everything in it, that asks nothing of any server."""

import base64
import hashlib
import json
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor._version import __version__
from noisyor.discovery import Suggestions
from noisyor.errors import FileError
from noisyor.evaluation import DiagnosisEvaluation
from noisyor.flags import REASONS
from noisyor.io.paths import PathLike
from noisyor.io.replacing import replaced_when_done
from noisyor.learning import Estimate
from noisyor.learning.misfits import Misfits
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters
from noisyor.report import sections
from noisyor.report.believed import believed, has_beliefs
from noisyor.report.closing import glossary, provenance
from noisyor.report.content import Content, Reported, content_of
from noisyor.report.diagnoses import diagnoses
from noisyor.report.markup import text, texts_translated
from noisyor.report.opening import opening
from noisyor.report.suggestions import drawn_edges, suggested
from noisyor.vocabulary import Vocabulary

SCRIPTS = (
    "parameters.js", "drawing.js", "table.js", "neighbourhood.js", "chooser.js", "disease.js",
)  # fmt: skip
"""The page's script, in parts that need each other in this order."""


def write_report(
    source: Estimate | NoisyOrNetwork,
    path: PathLike,
    *,
    errors: Parameters | PathLike | None = None,
    misfits: Misfits | PathLike | None = None,
    truth: NoisyOrNetwork | None = None,
    evaluation: DiagnosisEvaluation | PathLike | None = None,
    suggestions: Suggestions | PathLike | None = None,
    title: str | None = None,
) -> int:
    """Write one HTML page that shows what was learned, how well, and what is doubtful.

    The page needs no network and no other file. It holds the estimates with intervals, depths and
    flags, a picture of every disease with its symptoms, the misfits and the schedule.

    Parameters
    ----------
    source
        What was learned; or a network, of which the page then says what is unknown.
    path
        The file to write.
    errors
        For a network: the summary that `Estimate.save_summary` or `noisyor fit --summary` wrote,
        with depths and flags too; or standard errors alone.
    misfits
        Pairs that are not explained, or the file that `noisyor fit --misfits` wrote; an estimate
        has its own.
    truth
        The network that the records were sampled from, to compare with.
    evaluation
        What `evaluate_diagnoses` found, or the file that `noisyor evaluate --labels` wrote.
    suggestions
        What `discovery.suggest` found, or the file that `noisyor suggest` wrote.
    title
        What the page is called.

    Returns
    -------
    int
        The size of the file in bytes.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from noisyor import NoisyOrLearner, datasets, write_report
    >>> clinic = datasets.clinic()
    >>> learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(500, rng=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = write_report(learner.estimate_, Path(folder) / "report.html", truth=clinic)
    >>> 50_000 < size < 500_000
    True
    """
    content = content_of(
        source, errors=errors, misfits=misfits, truth=truth, evaluation=evaluation,
        suggestions=suggestions, title=title,
    )  # fmt: skip
    return write_page(content, path)


def write_page(content: Content, path: PathLike) -> int:
    """Write the page of a content, under a temporary name first; return its size in bytes."""
    check_ending(path)
    page = page_of(content).encode()
    with replaced_when_done(path) as part:
        part.write_bytes(page)
    return len(page)


def check_ending(path: PathLike) -> None:
    """Refuse a file that a browser would not open as a page."""
    if not str(path).lower().endswith((".html", ".htm")):
        raise FileError(f"{path}: the ending of a report must be .html.")


def page_of(content: Content) -> str:
    """Return the page as text."""
    data_text = 'document.getElementById("data").textContent'
    script = (
        '"use strict";\n((data) => {\n' + "\n".join(map(_asset, SCRIPTS))
        + f"\n}})(JSON.parse({data_text}));\n"
    )  # fmt: skip
    data = json.dumps(data_of(content), ensure_ascii=False, separators=(",", ":"))
    structure = content.structure
    say = structure.vocabulary.translator([*structure.diseases, *structure.symptoms])
    shown = {
        "opening": opening(content),
        "overview": sections.overview(content),
        "printed": sections.printed_rows(content),
        "together": sections.together(content),
        "together_link": "" if content.dependence is None else '<a href="#together">Together</a>',
        "beliefs": believed(content),
        "beliefs_link": '<a href="#beliefs">Beliefs</a>' if has_beliefs(content) else "",
        "misfits": sections.misfits(content),
        "suggestions": suggested(content.suggestions),
        "suggestions_link": ""
        if content.suggestions is None
        else '<a href="#suggestions">Suggestions</a>',
        "schedule": sections.schedule(content),
        "diagnoses": diagnoses(content),
        "diagnoses_link": '<a href="#diagnoses">Diagnoses</a>' if content.evaluation else "",
        "truth": sections.truth(content),
        "truth_link": '<a href="#truth">Truth</a>' if content.has_truth else "",
        "provenance": provenance(content),
    }
    parts = {name: texts_translated(part, say) for name, part in shown.items()} | {
        "title": text(content.title),
        "policy": _policy(script),
        "style": _asset("report.css"),
        "picture": _asset("picture.html"),
        "glossary": glossary(structure.vocabulary),
        "version": __version__,
        "data": data.replace("<", "\\u003c"),  # so that no name ends the script
        "script": script,
    }
    # The text of a part is not searched for parts again.
    return Template(texts_translated(_asset("page.html"), say)).substitute(parts)


def data_of(content: Content) -> dict[str, Any]:
    """Return what the page's script needs; docs/report.md describes it."""
    structure = content.structure
    sets: dict[tuple[int, tuple[str, ...]], int] = {(0, ()): 0}
    columns = {name: _columns(part, sets) for name, part in content.parts.items()}
    shown = [[*_shown_flags(flags), *(("other", text) for text in texts)] for flags, texts in sets]
    reasons = list(dict.fromkeys(reason for each in shown for reason in each))
    return {
        **_words(structure.vocabulary),
        "diseases": structure.diseases,
        "symptoms": structure.symptoms,
        "children": np.diff(structure.child_offsets).tolist(),
        "edges": structure.edges[:, 1].tolist(),
        "parameters": columns,
        **drawn_edges(content.suggestions, structure),
        "reasons": reasons,
        "flagSets": [[reasons.index(reason) for reason in each] for each in shown],
        "knows": {
            "errors": content.knows_errors,
            "flags": content.knows_flags,
            "truth": content.has_truth,
            "independent": content.dependence is None,
        },
    }


def _words(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return what the script says for our words, where readers have others."""
    if not vocabulary.has_words:
        return {}
    return {"words": vocabulary.words}


def _columns(part: Reported, sets: dict[tuple[int, tuple[str, ...]], int]) -> dict[str, Any]:
    """Return the columns of one kind of parameter; None for a column of which nothing is known.

    Sets of flags that are new are added to those with a number.
    """
    has_errors = bool(np.isfinite(part.standard_errors).any())
    numbers = [
        sets.setdefault((flags, part.unknown_flags.get(index, ())), len(sets))
        for index, flags in enumerate(part.flags.tolist())
    ]
    lower, upper = (_rounded(end, 4) if has_errors else None for end in part.intervals())
    return {
        "values": _rounded(part.values, 4),
        "errors": _rounded(part.standard_errors, 3) if has_errors else None,
        "lower": lower,
        "upper": upper,
        "depths": part.depths.tolist(),
        "flags": numbers if any(numbers) else None,
        "truth": None if part.true_values is None else _rounded(part.true_values, 4),
    }


def _shown_flags(flags: int) -> list[tuple[str, str]]:
    """Return a word or two, where there is little room, and the whole reason of each flag."""
    return [(flag.code.replace("_", " "), text) for flag, text in REASONS.items() if flags & flag]


def _rounded(values: NDArray[np.float64], digits: int) -> list[float | None]:
    """Return numbers with a few significant digits, None for NaN."""
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values.tolist()
    ]


def _policy(script: str) -> str:
    """Allow this script alone, and nothing from elsewhere: names cannot smuggle in another."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return files("noisyor.report").joinpath("assets", name).read_text(encoding="utf-8")
