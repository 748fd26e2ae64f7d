"""Networks and structures in any format: which one a file is in, what is kept and what is lost."""

import warnings
from collections.abc import Callable
from pathlib import Path

from noisyor.errors import ExchangeError, FileError, NoisyOrWarning, some_of
from noisyor.io.documents import read_document
from noisyor.io.paths import PathLike, check_writable
from noisyor.network import NoisyOrNetwork
from noisyor.structure import FORMATS, NETWORK_FORMAT, Structure

Model = NoisyOrNetwork | Structure

ENDINGS = {
    ".json": "json",
    ".csv": "edges",
    ".csv.gz": "edges",
    ".tsv": "edges",
    ".tsv.gz": "edges",
    ".parquet": "edges",
    ".pq": "edges",
    ".xdsl": "xdsl",
    ".bif": "bif",
    ".uai": "uai",
}
FILE_FORMATS = ("json", "edges", "folder", "xdsl", "bif", "uai", "q-matrix")
STRUCTURE_FORMATS = ("edges", "q-matrix")
"""These hold no parameters."""


def read_model(path: PathLike, file_format: str | None = None) -> Model:
    """Read a network, or a structure where the file holds no parameters.

    Parameters
    ----------
    path
        `.json`, `.xdsl` (GeNIe), `.bif`, `.uai`, a table of edges (`.csv`, `.parquet`), or a folder
        with edges.csv, priors.csv and leaks.csv.
    file_format
        One of json, edges, folder, xdsl, bif, uai and q-matrix; by default the ending tells. A
        Q-matrix is a .csv too, so its format has to be given.

    Examples
    --------
    >>> import tempfile
    >>> from noisyor import datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(datasets.clinic(), f"{folder}/clinic.xdsl")
    ...     read_model(f"{folder}/clinic.xdsl") == datasets.clinic()
    True
    """
    from noisyor.exchange.bif_reading import read_bif
    from noisyor.exchange.q_matrix import read_q_matrix
    from noisyor.exchange.uai import read_uai
    from noisyor.exchange.xdsl_reading import read_xdsl

    readers: dict[str, Callable[[PathLike], Model]] = {
        "json": _read_json,
        "edges": _read_edges,
        "folder": _read_folder,
        "xdsl": read_xdsl,
        "bif": read_bif,
        "uai": read_uai,
        "q-matrix": read_q_matrix,
    }
    if not Path(path).exists():
        raise FileError(f"{path} does not exist.")
    return readers[format_of(path, file_format)](path)


def write_model(model: Model, path: PathLike, file_format: str | None = None) -> None:
    """Write a network or structure; a `NoisyOrWarning` tells what the format cannot hold.

    Parameters
    ----------
    model
        A network; or a structure, for formats that hold no parameters, and json.
    path
        As for `read_model`. A path without an ending is a folder, made where it is missing.
    file_format
        As for `read_model`.

    Examples
    --------
    >>> import tempfile
    >>> from noisyor import Structure
    >>> needs = Structure.from_edges([("fractions", "q1"), ("borrowing", "q2")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(needs, f"{folder}/skills.csv", "q-matrix")
    ...     print(Path(f"{folder}/skills.csv").read_text().strip())
    "item","fractions","borrowing"
    "q1",1,0
    "q2",0,1
    """
    from noisyor.exchange.bif_writing import write_bif
    from noisyor.exchange.q_matrix import write_q_matrix
    from noisyor.exchange.uai import write_uai
    from noisyor.exchange.xdsl_writing import write_xdsl

    chosen = format_of(path, file_format)
    network_writers: dict[str, Callable[[NoisyOrNetwork, PathLike], None]] = {
        "folder": _write_folder,
        "xdsl": write_xdsl,
        "bif": write_bif,
        "uai": write_uai,
    }
    if chosen in network_writers and not isinstance(model, NoisyOrNetwork):
        raise ExchangeError(
            f"{path} cannot be written: a structure has no priors, failures and leaks, which "
            f"{chosen} needs. Give a network, or write json, edges or q-matrix."
        )
    _warn_of_losses(model, chosen, path)
    if isinstance(model, NoisyOrNetwork):
        if chosen in network_writers:
            network_writers[chosen](model, path)
            return
        if chosen in STRUCTURE_FORMATS:
            model = model.structure
    if chosen == "json":
        model.save(path)
    elif isinstance(model, Structure):
        (write_q_matrix if chosen == "q-matrix" else _write_edges)(model, path)


def format_of(path: PathLike, file_format: str | None = None) -> str:
    """Return the format of a file: as given, or by its ending.

    >>> format_of("alarms.xdsl")
    'xdsl'
    """
    if file_format is not None:
        if file_format not in FILE_FORMATS:
            raise ExchangeError(
                f"there is no format {file_format!r}; formats are {', '.join(FILE_FORMATS)}."
            )
        return file_format
    file = Path(path)
    name = file.name.lower()
    for ending, found in ENDINGS.items():
        if name.endswith(ending) and not file.is_dir():
            return found
    if file.is_dir() or not file.suffix:
        return "folder"
    raise FileError(
        f"{path}: the ending {file.suffix!r} is unknown; use {', '.join(ENDINGS)} or a folder, or "
        f"give the format: {', '.join(FILE_FORMATS)}."
    )


def _read_json(path: PathLike) -> Model:
    kind = read_document(path, FORMATS)["format"]
    return NoisyOrNetwork.load(path) if kind == NETWORK_FORMAT else Structure.load(path)


def _read_edges(path: PathLike) -> Structure:
    from noisyor.io.tables import open_table

    ignored = {"probability", "failure"} & set(open_table(path).column_names)
    if ignored:
        warnings.warn(
            f"{path}: the column {min(ignored)!r} is not read: edges alone give a structure. A "
            "folder with edges.csv, priors.csv and leaks.csv gives a network.",
            NoisyOrWarning,
            stacklevel=2,
        )
    return Structure.from_arrow(path)


def _read_folder(path: PathLike) -> NoisyOrNetwork:
    folder = Path(path)
    if not folder.is_dir():
        raise FileError(f"{folder} is not a directory with edges.csv, priors.csv and leaks.csv.")
    missing = [
        name for name in ("edges", "priors", "leaks") if not (folder / f"{name}.csv").exists()
    ]
    if missing:
        raise FileError(
            f"{folder} has no {missing[0]}.csv; a network needs edges.csv, priors.csv and "
            "leaks.csv. Give edges.csv itself to read the structure only."
        )
    return NoisyOrNetwork.from_csv(
        folder / "edges.csv", priors=folder / "priors.csv", leaks=folder / "leaks.csv"
    )


def _write_folder(network: NoisyOrNetwork, path: PathLike) -> None:
    folder = Path(path)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be made: {error.strerror}.") from None
    files = [folder / f"{name}.csv" for name in ("edges", "priors", "leaks")]
    check_writable(files)
    network.to_csv(files[0], priors=files[1], leaks=files[2])


def _write_edges(structure: Structure, path: PathLike) -> None:
    import pyarrow as pa

    from noisyor.io.tables import write_table

    write_table(path, pa.table(structure.edge_names()))


def _names_without_edges(structure: Structure) -> list[str]:
    kinds = zip((structure.diseases, structure.symptoms), structure.edges.T, strict=True)
    return [names[i] for names, used in kinds for i in sorted(set(range(len(names))) - set(used))]


def _lost_in_tables(network: NoisyOrNetwork, chosen: str) -> list[str]:
    """Name what a table of probabilities does not tell."""
    structure, lost = network.structure, []
    diseases, symptoms = structure.edges.T
    loud = sorted({structure.symptoms[j] for j in symptoms[network.leaks[symptoms] == 1.0]})
    if loud:
        lost.append(f"failures of symptoms that are always present ({some_of(loud)})")
    childless = [
        name for i, name in enumerate(structure.diseases) if i not in set(diseases.tolist())
    ]
    if chosen == "uai" and childless:
        lost.append(f"that {some_of(childless)}, without edges, are diseases")
    return lost


def _warn_of_losses(model: Model, chosen: str, path: PathLike) -> None:
    structure = model.structure if isinstance(model, NoisyOrNetwork) else model
    lost = []
    if isinstance(model, NoisyOrNetwork) and chosen in STRUCTURE_FORMATS:
        lost.append("priors, failures and leaks")
    if chosen == "uai":
        lost.append("names")
    lone = _names_without_edges(structure)
    if chosen == "edges" and lone:
        lost.append(f"the names without edges ({some_of(lone)})")
    if isinstance(model, NoisyOrNetwork) and chosen in ("bif", "uai"):
        lost += _lost_in_tables(model, chosen)
    if lost:
        warnings.warn(
            f"{path} ({chosen}) does not hold {' and '.join(lost)}: they are lost.",
            NoisyOrWarning,
            stacklevel=3,
        )
