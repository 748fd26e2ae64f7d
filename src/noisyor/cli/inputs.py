"""What commands take as NETWORK, STRUCTURE or RECORDS: files, folders, or built-in names."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import noisyor
from noisyor.cli.output import note
from noisyor.errors import FileError, NoisyOrError, ParameterError, nearest_name, some_of
from noisyor.io.paths import check_differ, existing_file, is_uri
from noisyor.io.replacing import check_writable

if TYPE_CHECKING:
    from noisyor.inference import LearnedNetwork

NETWORK_SOURCES = "a network file (.json, .xdsl, .bif, .uai) or a folder with edges.csv"
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
    """Read a network from a file or a folder of CSV files, or make a built-in one.

    Priors and leaks that a folder lacks are drawn only where that may be; a note says so.
    """
    if is_built_in(source):
        make = getattr(noisyor.datasets, source.replace("-", "_"))
        made: noisyor.NoisyOrNetwork = make() if make is noisyor.datasets.clinic else make(seed)
        return made
    path = existing(source, NETWORK_SOURCES)
    if path.is_dir():
        from noisyor.datasets.folders import missing_files

        missing = missing_files(path)
        if missing and may_draw:
            note(f"{path} has no {' and no '.join(missing)}: the numbers are drawn at random.")
        return noisyor.datasets.from_folder(path, seed if may_draw else None)
    return _network_in(path)


def _network_in(path: Path) -> "noisyor.NoisyOrNetwork":
    """Read a network from a file, in any format that `convert` knows."""
    from noisyor.exchange.formats import NETWORK_ENDINGS, STRUCTURE_ENDINGS
    from noisyor.io.tables import open_table
    from noisyor.names import name_key

    if path.name.lower().endswith(".json"):
        return noisyor.NoisyOrNetwork.load(path)
    if path.name.lower().endswith(NETWORK_ENDINGS):
        found = noisyor.read_model(path)
        assert isinstance(found, noisyor.NoisyOrNetwork)
        return found
    why = "give"
    if path.name.lower().endswith(STRUCTURE_ENDINGS):
        names = {name_key(name) for name in open_table(path).column_names}
        has_edges = {"disease", "symptom"} <= names
        what = "holds edges alone" if has_edges else "is a table without edges, of records perhaps"
        why = f"it {what}. Give"
    raise FileError(
        f"{path} is not a network: {why} a .json file that noisyor saved, one of other software "
        "(.xdsl, .bif, .uai), or a folder with edges.csv, priors.csv and leaks.csv."
    )


def read_learned(source: str, seed: int = 0) -> "noisyor.Estimate | noisyor.NoisyOrNetwork":
    """Read an estimate, where a file says how it was learned; else a network."""
    from noisyor.learning.estimate import load_learned

    path = Path(source)
    if is_built_in(source) or path.is_dir() or path.suffix.lower() != ".json":
        return read_network(source, seed)
    return load_learned(existing(source, NETWORK_SOURCES))


def read_with_errors(
    source: str, errors: Path | None, seed: int = 0
) -> "noisyor.NoisyOrNetwork | LearnedNetwork":
    """Read a network with the standard errors and flags of its file, or of a summary."""
    if errors is None:
        return read_learned(source, seed)
    from noisyor.inference.intervals import NetworkWithErrors
    from noisyor.parameters import check_summary, read_parameter_flags, read_standard_errors

    network = read_network(source, seed)
    structure = network.structure
    flags = read_parameter_flags(errors, structure)
    check_summary(errors, structure, network.parameters)
    return NetworkWithErrors(network.with_flags(flags), read_standard_errors(errors, structure))


def read_structure(source: str) -> "noisyor.Structure":
    """Read a structure, or that of a network, from any format that `convert` knows."""
    if is_built_in(source):
        return read_network(source).structure
    path = existing(source, "a structure or network (.json, .csv, .xdsl, ...) or a folder")
    if path.is_dir():
        from noisyor.datasets.folders import structure_from_folder

        return structure_from_folder(path)
    if path.suffix.lower() == ".json":
        return noisyor.Structure.load(path)
    found = noisyor.read_model(path)
    return found if isinstance(found, noisyor.Structure) else found.structure


def check_independent(source: str, command: str) -> None:
    """Refuse a network whose diseases occur together, of which a command would forget that."""
    if not source.lower().endswith(".json") or not Path(source).is_file():
        return
    found = noisyor.read_model(Path(source))
    if isinstance(found, noisyor.NoisyOrNetwork) and found.as_independent() is not found:
        raise ParameterError(
            f"{source}: {command} takes diseases for independent, and in this network they occur "
            "together or depend on covariates, which would look like missing edges. Give the "
            f"structure alone (`noisyor convert {source} edges.csv`) to do so all the same."
        )


def read_beliefs(
    table: Path | str | None, structure: "noisyor.Structure"
) -> "noisyor.Beliefs | None":
    """Read the parameters of --fixed or --beliefs, where it is given."""
    return None if table is None else noisyor.Beliefs.load(table, structure)


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
