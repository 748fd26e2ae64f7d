"""What commands take as NETWORK, STRUCTURE or RECORDS: files, folders, or built-in names."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from noisyor.cli.output import note
from noisyor.errors import FileError, nearest_name, some_of
from noisyor.io.paths import existing_file, is_uri

if TYPE_CHECKING:
    from noisyor.network import NoisyOrNetwork
    from noisyor.structure import Structure

BUILT_IN = ("clinic", "figure1", "figure2", "qmr_shaped")


def is_built_in(source: str) -> bool:
    """Return True if a text names a built-in network, and not a file."""
    return source.replace("-", "_") in BUILT_IN and not Path(source).exists()


def existing(source: str, wanted: str) -> Path:
    """Return the path, or say what could be given instead."""
    path = Path(source)
    if not path.exists():
        hint = nearest_name(source, BUILT_IN) or "."
        raise FileError(
            f"{source} does not exist{hint} Give {wanted}, or one of the built-in networks: "
            f"{', '.join(BUILT_IN)}."
        )
    return path


def read_network(source: str, seed: int) -> "NoisyOrNetwork":
    """Read a network from a JSON file or a folder of CSV files, or make a built-in one."""
    from noisyor import datasets
    from noisyor.network import NoisyOrNetwork

    if is_built_in(source):
        name = source.replace("-", "_")
        if name == "clinic":
            return datasets.clinic()
        makers: dict[str, Callable[[int], NoisyOrNetwork]] = {
            "figure1": datasets.figure1,
            "figure2": datasets.figure2,
            "qmr_shaped": datasets.qmr_shaped,
        }
        return makers[name](seed)
    path = existing(source, "a network file (.json) or a folder with edges.csv")
    if path.is_dir():
        network = datasets.from_folder(path, seed)
        _note_what_is_drawn(path)
        return network
    if path.suffix.lower() != ".json":
        raise FileError(
            f"{source} is not a network: give a .json file that noisyor saved, or a folder with "
            "edges.csv (disease, symptom, probability). Of other software's files (.xdsl, .bif, "
            ".uai) `noisyor convert` makes one."
        )
    return NoisyOrNetwork.load(path)


def _note_what_is_drawn(folder: Path) -> None:
    missing = [name for name in ("priors", "leaks") if not (folder / f"{name}.csv").exists()]
    if missing:
        note(f"{folder} has no {' and no '.join(missing)}: they are drawn at random.")


def read_structure(source: str, seed: int = 0) -> "Structure":
    """Read a structure from JSON (a network's too), CSV, Parquet, a folder, or a built-in name."""
    from noisyor.structure import Structure

    if is_built_in(source):
        return read_network(source, seed).structure
    path = existing(source, "a structure or network (.json, .csv, .parquet) or a folder")
    if path.is_dir():
        return Structure.from_csv(path / "edges.csv")
    return Structure.load(path) if path.suffix.lower() == ".json" else Structure.from_arrow(path)


def _relative(path: Path) -> str:
    return str(path.relative_to(path.anchor))


Source = Path | str
"""A file on this machine, or the address of one elsewhere (s3://...)."""


def local_files(sources: Iterable[Source]) -> list[Path]:
    """Return those that are on this machine."""
    return [source for source in sources if isinstance(source, Path)]


def expand_files(patterns: Iterable[str]) -> list[Path]:
    """Return the files on this machine that paths and patterns (*.moments) name."""
    sources = expand_sources(patterns)
    for source in sources:
        if not isinstance(source, Path):
            raise FileError(f"{source} is not on this machine; give a file.")
    return local_files(sources)


def expand_sources(patterns: Iterable[str]) -> list[Source]:
    """Return the files that paths, patterns (*.parquet) and addresses name, each once, in order."""
    files: list[Source] = []
    for pattern in patterns:
        if is_uri(pattern):
            files.append(pattern)
            continue
        path = Path(pattern)
        is_pattern = not path.exists() and any(mark in pattern for mark in "*?[")
        if is_pattern:
            found = sorted(Path(path.anchor).glob(_relative(path)))
        else:
            found = [existing_file(path)]
        if not found:
            raise FileError(f"no file matches {pattern}.")
        files += found
    resolved = Counter(file.resolve() if isinstance(file, Path) else file for file in files)
    twice = [str(file) for file, count in resolved.items() if count > 1]
    if twice:
        raise FileError(f"{some_of(twice)} is named more than once; it would be counted twice.")
    return files
