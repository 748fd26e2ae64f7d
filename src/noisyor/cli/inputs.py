"""What commands take as NETWORK or STRUCTURE: a file, a folder, or the name of a built-in one."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from noisyor.errors import FileError

if TYPE_CHECKING:
    from noisyor.network import NoisyOrNetwork

BUILT_IN = ("clinic", "figure1", "figure2", "qmr_shaped")


def read_network(source: str, seed: int) -> "NoisyOrNetwork":
    """Read a network from a JSON file or a folder of CSV files, or make a built-in one."""
    from noisyor import datasets
    from noisyor.network import NoisyOrNetwork

    name = source.replace("-", "_")
    if name in BUILT_IN and not Path(source).exists():
        if name == "clinic":
            return datasets.clinic()
        makers: dict[str, Callable[[int], NoisyOrNetwork]] = {
            "figure1": datasets.figure1,
            "figure2": datasets.figure2,
            "qmr_shaped": datasets.qmr_shaped,
        }
        return makers[name](seed)
    if Path(source).is_dir():
        return datasets.from_folder(source, seed)
    if not Path(source).exists():
        raise FileError(
            f"{source} does not exist; give a network file, a folder with edges.csv, or one of the "
            f"built-in networks: {', '.join(BUILT_IN)}."
        )
    return NoisyOrNetwork.load(source)
