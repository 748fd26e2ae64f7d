"""`noisyor skills`: what a test tells of its items, of skills and of persons."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import check_files, expand_sources, local_files, read_structure
from noisyor.cli.output import say, show, show_json, text_table, working
from noisyor.io.replacing import replaced_together

if TYPE_CHECKING:
    from noisyor.education import SkillAnalysis
    from noisyor.findings import ReadOptions

MOST_CLASSES = 16
"""Patterns of skills that are shown, the most frequent ones."""


@options.reads_records
def skills(
    structure: options.StructureFile,
    answers: Annotated[
        list[str], typer.Argument(help="Files of answers, of which 1 is wrong; see --invert.")
    ],
    causes: Annotated[
        str,
        typer.Option(
            help="How lacks of skills occur together: joint (any distribution of up to 12), trait "
            "(a hidden ability) or independent."
        ),
    ] = "joint",
    items: Annotated[
        Path | None,
        typer.Option(help="Also write pi* and r* of all items (.csv, .parquet)."),
    ] = None,
    persons: Annotated[
        Path | None,
        typer.Option(help="Also write the pattern and skills of each person (.csv, .parquet)."),
    ] = None,
    jobs: options.Jobs = 0,
    seed: options.Seed = 0,
    spreadsheet_safe: options.SpreadsheetSafe = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Analyse a test by the reduced RUM: items, skill classes, how well persons are classified.

    The structure says which skill an item needs; `noisyor convert --from q-matrix` makes one of a
    Q-matrix. A disease is a skill that is lacking, a symptom a wrong answer.

    Example: noisyor skills needs.json answers.csv --invert --persons persons.csv
    """
    from noisyor.findings.findings import read_findings
    from noisyor.findings.reading import record_format

    files, tables = expand_sources(answers), [items, persons]
    options.check_spreadsheet_safe(spreadsheet_safe, tables)
    check_files(tables, [*local_files(files), structure], tables=tables)
    graph = read_structure(structure)
    findings = read_findings(files, graph, record_format(reading))
    learner = noisyor.NoisyOrLearner(graph, causes=causes, random_state=seed, n_jobs=jobs or None)
    with working("learning", quiet or as_json):
        found = noisyor.analyse_skills(learner.fit(findings).estimate_, findings)
    with replaced_together():
        for path, table in zip(tables, (found.items, found.persons), strict=True):
            if path is not None:
                table.save(path, spreadsheet_safe=spreadsheet_safe)
    if as_json:
        show_json(_facts(found))
    elif not quiet:
        _show(found, items is None)
        if not reading.get("invert"):  # taken the wrong way round, answers may fit as well
            show("1 was taken for a wrong answer. If it stands for a right one, say --invert.")
        if any(tables):
            say(f"Written: {', '.join(str(path) for path in tables if path)}")


def _facts(found: "SkillAnalysis") -> dict[str, Any]:
    return {
        "persons": len(found.persons),
        "items": found.items.to_pylist(),
        "classes": found.classes.to_pylist(),
        "correlations": found.correlations.to_pylist(),
        "classification": found.classification.to_pylist(),
        "srmsr": found.srmsr,
        "max_x2": found.max_x2,
    }


def _show(found: "SkillAnalysis", has_items: bool) -> None:
    if has_items:
        show(_table("Items", found.items.to_pylist(), ("item", "parameter", "skill"), "value"))
    classes = sorted(found.classes.to_pylist(), key=lambda row: -float(row["share"]))
    show(_table("Skill classes", classes[:MOST_CLASSES], ("pattern", "mastered"), "share"))
    if len(classes) > MOST_CLASSES:
        show(f"... and {len(classes) - MOST_CLASSES:,} more; --json has all.")
    pairs, title = found.correlations.to_pylist(), "Tetrachoric correlations of skills"
    show(_table(title, pairs, ("skill", "other"), "correlation"))
    rows = [
        [row["skill"], f"{row['accuracy']:.3f}", f"{row['consistency']:.3f}"]
        for row in found.classification.to_pylist()
    ]
    titles = "skill", "accuracy", "consistency"
    show(text_table(titles, rows, left=("skill",), title="Classification of persons"))
    show(_fit_in_words(found))


def _table(title: str, rows: list[dict[str, Any]], names: tuple[str, ...], value: str) -> Any:
    """Return what is known of some values with standard errors."""
    shown = [
        [row[name] or "" for name in names]
        + ["-" if row[each] is None else f"{row[each]:.3f}" for each in (value, "standard_error")]
        for row in rows
    ]
    return text_table((*names, value, "standard error"), shown, left=names, title=title)


def _fit_in_words(found: "SkillAnalysis") -> str:
    worst = found.max_x2
    if worst is None:
        return "There is no pair of items by which the fit could be judged."
    return (
        f"SRMSR {found.srmsr:.4f}. The pair of items that is explained worst: {worst['item']} and "
        f"{worst['other']}, X2 {worst['x2']:.1f}, adjusted p {worst['p_adjusted']:.3g}."
    )
