"""What commands take as NETWORK, STRUCTURE or RECORDS: files, folders, or built-in names."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import noisyor
from noisyor.cli.output import note
from noisyor.errors import FileError, NoisyOrError, nearest_name, some_of
from noisyor.io.paths import check_differ, existing_file, is_uri
from noisyor.io.replacing import check_writable

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


def read_network(source: str, seed: int = 0, *, may_draw: bool = False) -> "noisyor.NoisyOrNetwork":
    """Read a network from a JSON file or a folder of CSV files, or make a built-in one.

    Priors and leaks that a folder lacks are drawn only where that may be; a note says so.
    """
    if is_built_in(source):
        make = getattr(noisyor.datasets, source.replace("-", "_"))
        made: noisyor.NoisyOrNetwork = make() if make is noisyor.datasets.clinic else make(seed)
        return made
    path = existing(source, "a network file (.json) or a folder with edges.csv")
    if path.is_dir():
        from noisyor.datasets.folders import missing_files

        missing = missing_files(path)
        if missing and may_draw:
            note(f"{path} has no {' and no '.join(missing)}: the numbers are drawn at random.")
        return noisyor.datasets.from_folder(path, seed if may_draw else None)
    if path.suffix.lower() != ".json":
        raise FileError(
            f"{source} is not a network: give a .json file that noisyor saved, or a folder with "
            "edges.csv (disease, symptom, probability). Of other software's files (.xdsl, .bif, "
            ".uai) `noisyor convert` makes one."
        )
    return noisyor.NoisyOrNetwork.load(path)


def read_structure(source: str) -> "noisyor.Structure":
    """Read a structure from JSON (a network's too), CSV, Parquet, a folder, or a built-in name."""
    if is_built_in(source):
        return read_network(source).structure
    path = existing(source, "a structure or network (.json, .csv, .parquet) or a folder")
    if path.is_dir():
        from noisyor.datasets.folders import structure_from_folder

        return structure_from_folder(path)
    is_document = path.suffix.lower() == ".json"
    return noisyor.Structure.load(path) if is_document else noisyor.Structure.from_arrow(path)


def read_fixed(table: Path | str | None, structure: "noisyor.Structure") -> "noisyor.Fixed | None":
    """Read the parameters of --fixed, where it is given."""
    return None if table is None else noisyor.Fixed.load(table, structure)


def check_files(
    outputs: Iterable[Path | None],
    inputs: Iterable[Path | str | None] = (),
    tables: Iterable[Path | None] = (),
    endings: Mapping[Any, tuple[str, ...]] = MappingProxyType({}),
) -> None:
    """Raise an error, before the work is done, where a file that is asked for cannot be written.

    The tables among the outputs must have the ending of one, others those given. Of inputs, only
    those are protected that are on this machine; where a file is not asked for it is None.
    """
    from noisyor.io.tables import table_kind

    check_writable(filter(None, outputs), inputs=filter(None, inputs))
    for path in filter(None, tables):
        table_kind(path)
    for output, allowed in endings.items():
        if output is not None and not output.name.lower().endswith(allowed):
            raise FileError(f"{output}: the file must end in {' or '.join(allowed)}.")


Source = Path | str
"""A file on this machine, or the address of one elsewhere (s3://...)."""


def local_files(sources: Iterable[Source]) -> list[Path]:
    """Return those that are on this machine."""
    return [source for source in sources if isinstance(source, Path)]


@contextmanager
def errors_naming(files: Iterable[Source]) -> Iterator[None]:
    """Let errors say which files they are about."""
    try:
        yield
    except NoisyOrError as error:
        raise type(error)(f"{some_of(map(str, files))}: {error}") from None


def expand_files(patterns: Iterable[str]) -> list[Path]:
    """Return the files on this machine that paths and patterns (*.moments) name."""
    sources = expand_sources(patterns)
    elsewhere = [source for source in sources if isinstance(source, str)]
    if elsewhere:
        raise FileError(f"{elsewhere[0]} is not on this machine; give a file.")
    return local_files(sources)


def expand_sources(patterns: Iterable[str]) -> list[Source]:
    """Return the files that paths, patterns (*.parquet) and addresses name, each once, in order."""
    files: list[Source] = []
    for pattern in patterns:
        if is_uri(pattern):
            files.append(pattern)
            continue
        path = Path(pattern)
        if path.exists() or not any(mark in pattern for mark in "*?["):
            found = [existing_file(path)]
        else:
            found = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
        if not found:
            raise FileError(f"no file matches {pattern}.")
        files += found
    check_differ(files)
    return files
