"""Make the pictures of docs/app.md: the page of `noisyor app` in Chromium.

`python scripts/photograph_app.py --structures ../shared/structures` needs what `make browser` gets.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np

from noisyor import NoisyOrLearner, NoisyOrNetwork, datasets
from noisyor.experiments.settings import real_network

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
DRIVER = ROOT / "tests" / "app" / "drive.cjs"
BROWSER = os.environ.get("NOISYOR_BROWSER") or shutil.which("chromium") or "chromium"


@contextmanager
def served(*arguments: object) -> Iterator[str]:
    """Run the command; give its address."""
    command = [sys.executable, "-m", "noisyor", "app", *map(str, arguments)]
    options = ["--port", "0", "--no-browser", "--json"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["address"]
    finally:
        process.terminate()
        process.communicate()


def photograph(address: str, fragment: str, **shots: tuple[int, int, str]) -> None:
    """Save pictures of a case: a name each, with the width, the height and the scheme."""
    listed = [
        {"path": str(IMAGES / f"{name.replace('_', '-')}.png"), "width": width, "height": height,
         "colorScheme": scheme}
        for name, (width, height, scheme) in shots.items()
    ]  # fmt: skip
    task = json.dumps({"hash": fragment, "shots": listed})
    subprocess.run(["node", str(DRIVER), "shots", address, BROWSER, task], check=True)


def fragment_of(present: list[str], absent: list[str]) -> str:
    """Return a case as the part of an address after its #."""
    return "&".join([f"p={quote(x)}" for x in present] + [f"a={quote(x)}" for x in absent])


def clinic(folder: Path) -> None:
    """Photograph a clinic that was learned, beside the true one in the dark."""
    truth = datasets.clinic()
    learner = NoisyOrLearner(truth.structure, method="pooled").fit(truth.sample(3000, rng=2))
    truth.save(folder / "truth.json")
    learner.network_.save(folder / "clinic.json")
    learner.estimate_.save_summary(folder / "clinic.csv")
    models = folder / "clinic.json", folder / "truth.json"
    case = fragment_of(["fever", "cough"], ["runny nose"])
    with served(models[0], "--errors", folder / "clinic.csv") as address:
        photograph(address, f"{case}&disease=influenza", app=(1360, 900, "light"))
    with served(*models, "--errors", folder / "clinic.csv") as address:
        photograph(address, f"beside=truth&{case}", app_beside=(1360, 900, "dark"))


def large(folder: Path, structures: Path) -> None:
    """Photograph a real structure of QMR's size, at a desk and on a telephone."""
    network: NoisyOrNetwork = real_network(structures / "orphanet570")
    path = folder / "orphanet570.json"
    network.save(path)
    row = np.flatnonzero(network.sample(20, rng=3).to_numpy()[0])[:8]
    case = fragment_of([network.structure.symptoms[j] for j in row.tolist()], [])
    with served(path) as address:
        sizes = {"app_large": (1360, 900, "light"), "app_phone": (390, 1250, "dark")}
        photograph(address, case, **sizes)


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--structures", type=Path, required=True)
    structures = parser.parse_args().structures
    with tempfile.TemporaryDirectory() as folder:
        clinic(Path(folder))
        large(Path(folder), structures)


if __name__ == "__main__":
    main()
