"""Networks and structures in any format: which one a file is in, what is kept and what is lost."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from noisyor.datasets.folders import from_folder
from noisyor.errors import (
    ExchangeError,
    FileError,
    ParameterError,
    give_notice,
    quoted,
    some_of,
)
from noisyor.exchange.bif import read_bif, write_bif
from noisyor.exchange.q_matrix import read_q_matrix, write_q_matrix
from noisyor.exchange.uai import read_uai, write_uai
from noisyor.exchange.xdsl import read_xdsl, write_xdsl
from noisyor.io.documents import read_document
from noisyor.io.paths import PathLike, as_path
from noisyor.io.replacing import check_writable
from noisyor.io.tables import open_table, write_table
from noisyor.network import NoisyOrNetwork
from noisyor.structure import FORMATS, NETWORK_FORMAT, USUAL_WORDS, Structure

Model = NoisyOrNetwork | Structure


def read_model(path: PathLike, file_format: str | None = None) -> Model:
    """Read a network, or a structure where the file holds no parameters.

    Parameters
    ----------
    path
        `.json`, `.xdsl` (GeNIe), `.bif`, `.uai`, a table of edges (`.csv`, `.parquet`), or a folder
        with edges.csv, priors.csv and leaks.csv.
    file_format
        One of json, edges, folder, xdsl, bif, uai and q-matrix; by default the ending tells. A
        Q-matrix is a .csv too: it is known by its first column, if that is called item.

    Examples
    --------
    >>> import tempfile
    >>> from noisyor import datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(datasets.clinic(), f"{folder}/clinic.xdsl")
    ...     read_model(f"{folder}/clinic.xdsl") == datasets.clinic()
    True
    """
    if not as_path(path).exists():
        raise FileError(f"{path} does not exist.")
    return MODEL_FORMATS[format_of(path, file_format)].read(path)


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
    if not isinstance(model, NoisyOrNetwork | Structure):
        raise ParameterError(
            f"expected a NoisyOrNetwork or a Structure, not {type(model).__name__}."
        )
    chosen = format_of(path, file_format)
    holds = MODEL_FORMATS[chosen].holds
    if isinstance(model, Structure) and holds is NoisyOrNetwork:
        raise ExchangeError(
            f"{path} cannot be written: a structure has no priors, failures and leaks, which "
            f"{chosen} needs. Give a network, or write json, edges or q-matrix."
        )
    if isinstance(model, NoisyOrNetwork) and holds is NoisyOrNetwork and chosen != "json":
        model.check_plain(f"{path} ({chosen})")
    lost = _losses(model, chosen)
    if lost:
        give_notice(
            f"{path} ({chosen}) does not hold {' and '.join(lost)}: they are lost.",
            stacklevel=2,
        )
    if isinstance(model, NoisyOrNetwork) and holds is Structure:
        model = model.structure
    MODEL_FORMATS[chosen].write(model, path)


def format_of(path: PathLike, file_format: str | None = None) -> str:
    """Return the format of a file: as given, or by its ending.

    >>> format_of("alarms.xdsl")
    'xdsl'
    """
    if file_format is not None:
        if file_format not in MODEL_FORMATS:
            raise ExchangeError(
                f"there is no format {quoted(file_format)}; formats are {', '.join(MODEL_FORMATS)}."
            )
        return file_format
    file = as_path(path)
    if file.is_dir():
        return "folder"
    for name, known in MODEL_FORMATS.items():
        if file.name.lower().endswith(known.endings):
            return name
    if not file.suffix:
        return "folder"
    endings = [
        ending
        for known in MODEL_FORMATS.values()
        for ending in known.endings
        if not ending.endswith(PACKED)
    ]
    raise FileError(
        f"{path}: the ending {quoted(file.suffix)} is unknown; use {', '.join(endings)} or a "
        f"folder, or give the format: {', '.join(MODEL_FORMATS)}."
    )


def format_read(path: PathLike, file_format: str | None = None) -> str:
    """Return the format that `read_model` reads a file in: of tables the columns tell."""
    found = format_of(path, file_format)
    is_q_matrix = found == "edges" and are_of_q_matrix(open_table(path).column_names)
    return "q-matrix" if is_q_matrix else found


def are_of_q_matrix(columns: Sequence[str]) -> bool:
    """Return True if a table with these columns is a Q-matrix: the first holds items.

    >>> are_of_q_matrix(["Item", "fractions"]), are_of_q_matrix(["item", "disease", "symptom"])
    (True, False)
    """
    has_items = bool(columns) and columns[0].casefold() == "item"
    return has_items and not {"disease", "symptom"} & set(columns)


def _read_json(path: PathLike) -> Model:
    kind = read_document(path, FORMATS)["format"]
    return NoisyOrNetwork.load(path) if kind == NETWORK_FORMAT else Structure.load(path)


def _read_edges(path: PathLike) -> Structure:
    columns = open_table(path).column_names
    if are_of_q_matrix(columns):
        give_notice(f"{path} is read as a Q-matrix: its first column holds items.", stacklevel=2)
        return read_q_matrix(path)
    ignored = {"probability", "failure"} & set(columns)
    if ignored and "weight" not in columns:  # with weights they are beliefs, which learning reads
        give_notice(
            f"{path}: the column {quoted(min(ignored))} is not read: edges alone give a structure. "
            "A folder with edges.csv, priors.csv and leaks.csv gives a network.",
            stacklevel=2,
        )
    return Structure.from_arrow(path)


def folder_files(folder: Path) -> list[Path]:
    """Return the files that a folder has for a network."""
    return [folder / f"{name}.csv" for name in ("edges", "priors", "leaks")]


def _write_folder(network: NoisyOrNetwork, path: PathLike) -> None:
    folder = Path(path)
    is_new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be made: {error.strerror}.") from None
    edges, priors, leaks = files = folder_files(folder)
    try:
        check_writable(files)
        network.to_csv(edges, priors=priors, leaks=leaks)
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _write_edges(structure: Structure, path: PathLike) -> None:
    write_table(path, pa.table(structure.edge_names()))


def _losses(model: Model, chosen: str) -> list[str]:
    """Return what a format does not hold of a model, in words."""
    structure = model.structure if isinstance(model, NoisyOrNetwork) else model
    layers = zip((structure.diseases, structure.symptoms), structure.edges.T, strict=True)
    childless, parentless = (
        [names[index] for index in np.setdiff1d(np.arange(len(names)), used)]
        for names, used in layers
    )
    lost = []
    if isinstance(model, NoisyOrNetwork) and MODEL_FORMATS[chosen].holds is Structure:
        lost.append("priors, failures and leaks")
    elif isinstance(model, NoisyOrNetwork) and chosen != "json" and model.flags is not None:
        n_flagged = int(np.count_nonzero(model.flags.vector))
        if n_flagged:
            lost.append(f"the flags of {n_flagged:,} parameters")
    if chosen == "uai":
        lost.append("names")
    if chosen != "json" and structure.vocabulary != USUAL_WORDS:
        lost.append("the reader's words and synonyms")
    if chosen == "edges" and childless + parentless:
        lost.append(f"the names without edges ({some_of(childless + parentless)})")
    if isinstance(model, NoisyOrNetwork) and chosen in ("bif", "uai"):
        symptoms = structure.edges[:, 1]
        always = sorted({structure.symptoms[j] for j in symptoms[model.leaks[symptoms] == 1.0]})
        if always:
            lost.append(f"failures of symptoms that are always present ({some_of(always)})")
    if chosen == "uai" and childless:
        lost.append(f"that {some_of(childless)}, without edges, are diseases")
    return lost


class ModelFormat(NamedTuple):
    """A format that models are read from and written to."""

    holds: type[NoisyOrNetwork] | type[Structure] | None
    """What a file of it is; None: either."""
    read: Callable[[PathLike], Model]
    write: Callable[[Any, PathLike], None]
    endings: tuple[str, ...] = ()
    """Endings that files of it have."""


TEXTS, PACKED = (".csv", ".tsv", ".txt", ".tab"), (".gz", ".bz2", ".zst", ".xz", ".zip")
TABLE_ENDINGS = (
    *TEXTS, ".parquet", ".pq", ".xlsx", ".xlsm", *(text + end for text in TEXTS for end in PACKED),
)  # fmt: skip
"""Of tables that can be read."""
MODEL_FORMATS = {
    "json": ModelFormat(None, _read_json, lambda model, path: model.save(path), (".json",)),
    "edges": ModelFormat(Structure, _read_edges, _write_edges, TABLE_ENDINGS),
    "folder": ModelFormat(NoisyOrNetwork, from_folder, _write_folder),
    "xdsl": ModelFormat(NoisyOrNetwork, read_xdsl, write_xdsl, (".xdsl",)),
    "bif": ModelFormat(NoisyOrNetwork, read_bif, write_bif, (".bif",)),
    "uai": ModelFormat(NoisyOrNetwork, read_uai, write_uai, (".uai",)),
    "q-matrix": ModelFormat(Structure, read_q_matrix, write_q_matrix),
}
NETWORK_ENDINGS = ".json", ".xdsl", ".bif", ".uai"
"""Of files that have all of a network."""
STRUCTURE_ENDINGS = TABLE_ENDINGS
"""Of files that have a structure alone."""
