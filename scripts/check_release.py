"""Build the wheel and the source archive, and try both in clean environments: `make release`.

What is tried is what a stranger does: install it from the file, in an environment that has nothing
else, and call the command from another folder. Nothing is uploaded.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
KINDS = (".html", ".css", ".js", ".md", ".typed")
"""Files of the package that are not Python, which a wheel can forget."""
COMMANDS = (
    ("--version",),
    ("info", "clinic"),
    ("sample", "clinic", "--records", "500", "-o", "records.parquet", "--save-network", "n.json"),
    ("fit", "n.json", "records.parquet", "-o", "learned.json", "--method", "pooled", "--quiet"),
    ("diagnose", "learned.json", "--present", "fever", "--json"),
    ("report", "learned.json", "-o", "report.html"),
    ("reproduce", "--list"),
)


def main() -> int:
    """Build, compare, install, try; end with what was tried, or with the first thing that fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the files go")
    out = parser.parse_args().out
    wheel, archive = built(out)
    missing = forgotten(wheel)
    if missing:
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}.")
    again = from_archive(archive)
    if again != contents(wheel):
        sys.exit(f"{archive.name} builds another wheel: {sorted(again ^ contents(wheel))}.")
    for file, extra in ((wheel, ""), (archive, "[app]")):
        say(f"trying {file.name}{extra}")
        tried(file, extra)
    say(f"{wheel} and {archive} are as they should be; Python {sys.version.split()[0]}.")
    return 0


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def built(out: Path) -> tuple[Path, Path]:
    """Return the wheel and the source archive of the tree as it stands."""
    out.mkdir(parents=True, exist_ok=True)
    for old in (*out.glob("*.whl"), *out.glob("*.tar.gz")):
        old.unlink()
    run([sys.executable, "-m", "hatchling", "build", "-d", str(out)], ROOT)
    (wheel,), (archive,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, archive


def contents(wheel: Path) -> set[str]:
    """Return the files of a wheel."""
    with zipfile.ZipFile(wheel) as opened:
        return set(opened.namelist())


def forgotten(wheel: Path) -> list[str]:
    """Return files of the package that are not in the wheel."""
    source = ROOT / "src"
    wanted = [
        path.relative_to(source).as_posix()
        for path in (source / "noisyor").rglob("*")
        if path.suffix in (".py", *KINDS)
    ]
    return sorted(set(wanted) - contents(wheel))


def from_archive(archive: Path) -> set[str]:
    """Return the files of the wheel that the source archive builds, elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        (tree,) = Path(folder).iterdir()
        out = Path(folder) / "out"
        run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)], tree)
        (wheel,) = out.glob("*.whl")
        return contents(wheel)


def tried(file: Path, extra: str) -> None:
    """Install a file into a new environment and do what a stranger does first."""
    with tempfile.TemporaryDirectory() as folder:
        environment, work = Path(folder) / "env", Path(folder) / "work"
        work.mkdir()
        venv.create(environment, with_pip=False)
        python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        quiet = ["--disable-pip-version-check", "-c", str(CONSTRAINTS)]
        run([*pip, *quiet, f"{file}{extra}"], work)
        for arguments in COMMANDS:
            printed = run([str(python.with_name("noisyor")), *arguments], work)
            if "--json" in arguments:
                json.loads(printed)
        run([str(python), "-c", "import noisyor; noisyor.posterior; noisyor.write_report"], work)
        if extra:
            run([str(python), "-c", "from noisyor.app import make_app"], work)


def run(command: list[str], folder: Path) -> str:
    """Run a command; where it fails, end with what it said."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
