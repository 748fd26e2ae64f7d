"""Experiments: cells that are measured one by one, then a page, its tables and its pictures."""

import importlib
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Protocol

from noisyor.errors import NoisyOrWarning, ParameterError
from noisyor.experiments.provenance import Provenance
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.io.paths import replaced_when_done

EXPERIMENTS = ("table1", "figure3", "figure4", "timings", "scoreboard")


class Experiment(Protocol):
    """A module of this room."""

    def cells(self, settings: Settings) -> list[Cell]:
        """List what is to be measured, the quickest first."""
        ...

    def measure(self, cell: Cell, settings: Settings) -> dict[str, float]:
        """Measure one cell."""
        ...

    def draw(self, results: Results, settings: Settings, folder: Path) -> list[str]:
        """Draw pictures; return their names without ending."""
        ...

    def page(self, results: Results, settings: Settings) -> str:
        """Return what the paper reports, what was found, and where they differ, in Markdown."""
        ...


def experiment_named(name: str) -> Experiment:
    """Return an experiment by name."""
    if name not in EXPERIMENTS:
        raise ParameterError(
            f"there is no experiment {name!r}; known: {', '.join(EXPERIMENTS)}, all."
        )
    module: Experiment = importlib.import_module(f"noisyor.experiments.{name}")
    return module


def reproduce(
    name: str,
    folder: Path,
    settings: Settings,
    *,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Path:
    """Measure what is missing of an experiment, draw it, and write its page, which is returned.

    `progress` is called with numbers of finished cells.
    """
    experiment = experiment_named(name)
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(folder / f"{name}.csv")
    provenance = Provenance(name, folder, settings)
    provenance.keep()
    missing = missing_cells(name, folder, settings)
    start = time.perf_counter()
    try:
        for cell, found in _measured(name, missing, settings, jobs):
            results.add(cell, found)
            if progress is not None:
                progress(1)
    finally:
        provenance.keep(time.perf_counter() - start if missing else 0.0)
    pictures = experiment.draw(results, settings, folder)
    text = assembled(experiment.page(results, settings), pictures, provenance.sentence())
    page = folder / f"{name}.md"
    with replaced_when_done(page) as part:
        Path(part).write_text(text, encoding="utf-8")
    return page


def assembled(page: str, pictures: list[str], provenance: str) -> str:
    """Return a page with its pictures below the title, and where it comes from at the end."""
    title, _, rest = page.strip().partition("\n\n")
    shown = [f"![{picture}]({picture}.png)" for picture in pictures]
    return "\n\n".join([title, *shown, rest, provenance]) + "\n"


def missing_cells(name: str, folder: Path, settings: Settings) -> list[Cell]:
    """Return the cells that are not in the results of an earlier run."""
    results = Results(folder / f"{name}.csv")
    return [cell for cell in experiment_named(name).cells(settings) if cell not in results]


def _measured(
    name: str, cells: list[Cell], settings: Settings, jobs: int
) -> Iterator[tuple[Cell, dict[str, float]]]:
    """Give each cell with what was measured, in processes of their own if there are several.

    Timings are taken one at a time: side by side they would disturb each other.
    """
    if jobs < 2 or name == "timings":
        for cell in cells:
            yield cell, _measure(name, cell, settings)
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


def _measure(name: str, cell: Cell, settings: Settings) -> dict[str, float]:
    with warnings.catch_warnings():
        # What could not be learned shows in the errors; a notice for each cell would not be read.
        warnings.simplefilter("ignore", NoisyOrWarning)
        return experiment_named(name).measure(cell, settings)
