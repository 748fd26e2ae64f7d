"""The networks that experiments run on, by name."""

from pathlib import Path

from noisyor import datasets
from noisyor.errors import FileError
from noisyor.network import NoisyOrNetwork

BUILT_IN = ("figure1", "figure2", "qmr_shaped")
REAL = ("tcc4e", "plants", "ddxplus", "health_knowledge_graph", "orphanet570")


def network_named(name: str, seed: int, structures: Path | None) -> NoisyOrNetwork:
    """Return a network; what is random of it is drawn with the seed."""
    if name == "figure1":
        return datasets.figure1(seed)
    if name == "figure2":
        return datasets.figure2(seed)
    if name == "qmr_shaped":
        return datasets.qmr_shaped(0)
    folder = real_networks(structures).get(name)
    if folder is None:
        raise FileError(f"there is no network {name!r}: give its folder with --structures.")
    return datasets.from_folder(folder, seed=1)


def real_networks(structures: Path | None) -> dict[str, Path]:
    """Return the folders of real networks: those in a folder, or this one itself."""
    if structures is None:
        return {}
    if (structures / "edges.csv").exists():
        return {structures.name: structures}
    found = {path.parent.name: path.parent for path in sorted(structures.glob("*/edges.csv"))}
    if not found:
        raise FileError(
            f"{structures} has no edges.csv, and no folders with one: give a folder of networks."
        )
    return {name: found[name] for name in (*REAL, *found) if name in found}
