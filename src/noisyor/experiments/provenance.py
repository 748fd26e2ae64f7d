"""Where results come from: settings, versions, machine and time, kept beside them."""

import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

import numba
import numpy as np

from noisyor._version import __version__
from noisyor.errors import FileError
from noisyor.experiments.settings import ExperimentSettings
from noisyor.io.replacing import replaced_when_done
from noisyor.parallel import n_cores

MADE_WITH = ("noisyor", "python", "numpy", "numba", "machine", "cores")
"""What must be the same when a run goes on."""


class Provenance:
    """What an experiment's results were made with, in a JSON file beside them."""

    def __init__(
        self, name: str, folder: Path, settings: ExperimentSettings, *, is_complete: bool = False
    ) -> None:
        """Take up an earlier run; refuse results of other settings, which would be mixed.

        Results that are complete can be shown on any machine: nothing is measured there.
        """
        self._is_complete = is_complete
        self.path = folder / f"{name}.json"
        self.content: dict[str, Any] = {
            "experiment": name,
            "settings": settings._asdict() | {"structures": list(settings.real_networks())},
            "noisyor": __version__,
            "python": platform.python_version(), "numpy": np.__version__,
            "numba": numba.__version__, "machine": platform.machine(), "cores": n_cores(),
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
            "seconds": 0.0,
        }  # fmt: skip
        results = folder / f"{name}.csv"
        if results.exists():
            self._take_up(results)

    def _take_up(self, results: Path) -> None:
        try:
            earlier = json.loads(self.path.read_text(encoding="utf-8"))
            settings, made_with = earlier["settings"], {name: earlier[name] for name in MADE_WITH}
            for name in ("date", "load", "note", "missing"):
                self.content[name] = earlier.get(name)
            self.content["seconds"] = float(earlier["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            raise FileError(
                f"{results} has results, but {self.path}, which says with what settings they "
                "were made, cannot be read. Choose another --out, or delete both."
            ) from None
        if settings != self.content["settings"]:
            raise FileError(
                f"{results} has results of other settings ({_worded(settings)} instead of "
                f"{_worded(self.content['settings'])}). Choose another --out, or delete it."
            )
        other = {name: each for name, each in made_with.items() if each != self.content[name]}
        if self._is_complete:
            self.content |= made_with
        elif other:
            raise FileError(
                f"{results} has results made elsewhere ({_worded(other)}): times and versions "
                "would be mixed. Choose another --out, or delete it."
            )

    def keep(self, seconds: float = 0.0) -> None:
        """Write the file, with so many seconds more."""
        self.content["seconds"] = round(self.content["seconds"] + seconds, 1)
        content = {name: value for name, value in self.content.items() if value is not None}
        write_text(self.path, json.dumps(content, indent=1) + "\n")

    def tell_missing(self, n_cells: int) -> None:
        """Say how many cells were not measured."""
        self.content["missing"] = n_cells or None
        self.keep()


def write_text(path: Path, text: str) -> None:
    """Write a file, which is as it was before if that fails."""
    with replaced_when_done(path) as part:
        Path(part).write_text(text, encoding="utf-8")


def sentence_of(found: dict[str, Any]) -> str:
    """Return in words what the file of a `Provenance` says: how, with what and when.

    Also beside how much other work: times are to be read with it.
    """
    name, settings, seconds = found["experiment"], found["settings"], found["seconds"]
    options = " --quick" if settings["quick"] else ""
    options += f" --seed {settings['seed']}" if settings["seed"] else ""
    options += " --structures FOLDER" if settings["structures"] else ""
    duration = f" in {seconds:.0f} s" if seconds < 120.0 else f" in {seconds / 60.0:.0f} min"
    circumstances = f", begun on {found['date']}" if found.get("date") else ""
    if found.get("load") is not None:
        circumstances += f" at a load of {found['load']:.1f}"
    circumstances += f"; {found['note']}" if found.get("note") else ""
    if found.get("missing"):
        circumstances += f"; {found['missing']:,} of its cells were not measured yet"
    return (
        f"Made by `noisyor reproduce {name}{options} --out DIR`"
        f"{duration if seconds else ''} with noisyor {found['noisyor']}, Python "
        f"{found['python']}, NumPy {found['numpy']} and Numba {found['numba']} on "
        f"{found['cores']} cores ({found['machine']}){circumstances}. All numbers stand in "
        f"[{name}.csv]({name}.csv), settings in [{name}.json]({name}.json)."
    )


def _worded(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())
