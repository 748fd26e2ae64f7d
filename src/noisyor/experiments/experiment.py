"""Experiments: cells that are measured one by one, then a page, its tables and its pictures.

An experiment is a module of this room. The first line of its docstring says in a sentence what it
shows, LASTS how long that takes on two cores; `cells(settings)` lists what is to be measured, the
quickest first, `measure(cell, settings)` measures one cell. From the results alone
`draw(results, folder)`, where there is something to see, makes pictures and returns their names,
`page(results)` makes numbers and tables, and chooses the runs of those tables whose columns stand
in the text of the page, by the names that this text, in `pages/`, has for them.
"""

import importlib
import multiprocessing
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType

from noisyor.errors import NoisyOrWarning, ParameterError, quoted
from noisyor.experiments.provenance import Provenance, sentence_of, write_text
from noisyor.experiments.results import Cell, Quantities, Results
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.tables import filled, markdown_table

QUESTIONS = {
    "Does it do what the paper says?": ("table1", "figure3", "figure4", "timings", "sequential"),
    "Does it learn well?": ("scoreboard", "accuracy", "labels", "together", "baselines"),
    "Does it know what it does not know?": (
        "maximum", "draws", "identifiability", "robustness", "misfits",
    ),
    "Can the structure itself be found?": ("discovery",),
    "Does it diagnose?": ("diagnosis", "app"),
    "Is it fast?": ("speed", "first-minute", "cores", "gpu"),
}  # fmt: skip
"""Which experiments answer which question of a reader."""
EXPERIMENTS = tuple(name for names in QUESTIONS.values() for name in names)
IN_SHORT = "**In short:**"
"""Begins the paragraph of a page that stands in the index too."""
TIMED = ("timings", "baselines", "diagnosis", "app", "speed", "first-minute", "cores", "gpu")
"""These are measured one cell at a time: side by side they would disturb each other."""


def experiment_named(name: str) -> ModuleType:
    """Return an experiment by name."""
    if name not in EXPERIMENTS:
        raise ParameterError(
            f"there is no experiment {name!r}; known: {', '.join(EXPERIMENTS)}, all."
        )
    return importlib.import_module(f"noisyor.experiments.{name.replace('-', '_')}")


def summary_of(name: str) -> str:
    """Return what an experiment shows, in a sentence."""
    return (experiment_named(name).__doc__ or "").partition("\n")[0]


def reproduce(
    name: str,
    folder: Path,
    settings: ExperimentSettings,
    *,
    jobs: int = 1,
    only: Collection[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Path:
    """Measure what is missing of an experiment, draw it, and write its page, which is returned.

    With `only` no other cells are measured than those of these patterns, and the page says how many
    are missing. `progress` is called with numbers of finished cells.
    """
    experiment_named(name)
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(folder / f"{name}.csv")
    missing = missing_cells(name, folder, settings, only)
    provenance = Provenance(name, folder, settings, is_complete=not missing)
    provenance.keep()
    start = time.perf_counter()
    try:
        for cell, found in _measured(name, missing, settings, jobs):
            results.add(cell, found)
            if progress is not None:
                progress(1)
    finally:
        provenance.keep(time.perf_counter() - start if missing else 0.0)
    n_missing = len(missing_cells(name, folder, settings))
    provenance.tell_missing(n_missing)
    page = folder / f"{name}.md"
    try:
        text = made_page(name, results, sentence_of(provenance.content), folder)
    except (ValueError, IndexError) as error:
        if not n_missing:
            raise
        raise ParameterError(
            f"{results.path} has too few cells for a page: {n_missing:,} were not measured yet. "
            f"What was measured is kept there. ({type(error).__name__}: {error})"
        ) from error
    write_text(page, text)
    write_text(folder / "index.md", made_index(folder))
    return page


def made_page(name: str, results: Results, provenance: str, folder: Path) -> str:
    """Return a page: its pictures, which are drawn into the folder, stand below the title."""
    experiment = experiment_named(name)
    pictures = experiment.draw(results, folder) if hasattr(experiment, "draw") else []
    text = (Path(__file__).parent / "pages" / f"{name}.md").read_text(encoding="utf-8")
    title, *paragraphs = filled(text, results, experiment.page(results))
    images = [f"![{picture}]({picture}.png)" for picture in pictures]
    short = [paragraphs.pop(0)] if paragraphs[0].startswith(IN_SHORT) else []
    parts = [title, *short, *images, *paragraphs, provenance]
    return "\n\n".join(filter(None, parts)) + "\n"


def made_index(folder: Path) -> str:
    """Return a page that leads to all pages of a folder: what each found, in a sentence."""
    parts = [
        "# Results",
        "What was found, in a sentence each. Every page was measured and written by a command, "
        "which it names at its end, with the machine; the numbers stand in a CSV file beside it.",
    ]
    for question, names in (QUESTIONS | {"Does it hold?": ("attacks",)}).items():
        pages = [folder / f"{name}.md" for name in names]
        rows = [_row_of_index(page) for page in pages if page.exists()]
        if rows:
            parts.append(f"## {question}")
            parts.append(markdown_table([["page", "what was found"], *rows]))
    return "\n\n".join(parts) + "\n"


def _row_of_index(page: Path) -> list[str]:
    """Return a link to a page, and what it says in short."""
    lines = page.read_text(encoding="utf-8").splitlines()
    said = next((line for line in lines if line.startswith(IN_SHORT)), "")
    said = said.removeprefix(IN_SHORT).strip()
    return [f"[{lines[0].removeprefix('# ')}]({page.name})", said[:1].upper() + said[1:]]


def missing_cells(
    name: str, folder: Path, settings: ExperimentSettings, only: Collection[str] = ()
) -> list[Cell]:
    """Return the cells that are not in the results of an earlier run, all or those of patterns.

    A pattern (`*` stands for anything) is compared with network/records/seed/method.
    """
    results, cells = Results(folder / f"{name}.csv"), experiment_named(name).cells(settings)
    for pattern in only:
        if not any(fnmatchcase(cell.path, pattern) for cell in cells):
            example = f", as {quoted(cells[0].path)}" if cells else ""
            raise ParameterError(
                f"no cell of {name} is like {quoted(pattern)}; they are called "
                f"network/records/seed/method{example}."
            )
    chosen = [
        cell for cell in cells if not only or any(fnmatchcase(cell.path, each) for each in only)
    ]
    return [cell for cell in chosen if cell not in results]


def _measured(
    name: str, cells: list[Cell], settings: ExperimentSettings, jobs: int
) -> Iterator[tuple[Cell, Quantities]]:
    """Give each cell with what was measured, in processes of their own if there are several."""
    if jobs < 2 or name in TIMED:
        yield from ((cell, _measure(name, cell, settings)) for cell in cells)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        futures = {pool.submit(_measure, name, cell, settings): cell for cell in cells}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _measure(name: str, cell: Cell, settings: ExperimentSettings) -> Quantities:
    with warnings.catch_warnings():
        # What could not be learned shows in the errors; a notice for each cell would not be read.
        warnings.simplefilter("ignore", NoisyOrWarning)
        found: Quantities = experiment_named(name).measure(cell, settings)
        return found
