"""Rules of the house that no other test would notice being broken."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import noisyor

SOURCE = Path(noisyor.__file__).parent

# From the foundation up: a room imports from the rooms before it, never from those after it.
ROOMS = [
    "_version",
    "errors",
    "immutable",
    "parallel",
    "io",
    "cluster",
    "names",
    "structure",
    "findings",
    "network",
    "parameters",
    "datasets",
    "exchange",
    "inference",
    "moments",
    "schedule",
    "identifiability",
    "learning",
    "baselines",
    "learner",
    "evaluation",
    "report",
    "experiments",
    "cli",
    "__main__",
]


def room_of(module):
    return module.removeprefix("noisyor").strip(".").split(".")[0]


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "noisyor":
                yield from (f"noisyor.{alias.name}" for alias in node.names)
            else:
                yield node.module


def source_files():
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_from_rooms_before_it(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    allowed = ROOMS[: ROOMS.index(room) + 1]
    for module in imports_of(path):
        if module.split(".")[0] == "noisyor":
            assert room_of(module) in allowed, f"{path} imports {module}"


def test_every_room_stands_in_the_order():
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in source_files()}
    assert rooms == set(ROOMS)


def test_no_pickle():
    for path in source_files():
        modules = {module.split(".")[0] for module in imports_of(path)}
        assert not modules & {"pickle", "cloudpickle", "joblib", "shelve", "marshal"}, path


def modules_loaded_by(code):
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_is_cheap():
    heavy = {"numpy", "numba", "pyarrow", "scipy", "sklearn", "matplotlib", "rich", "pandas"}
    assert not modules_loaded_by("import noisyor") & heavy
    assert not modules_loaded_by("import noisyor.cli.app") & (heavy - {"rich"})
    assert not modules_loaded_by("from noisyor import Structure") & {"numba", "pyarrow", "scipy"}


def test_every_public_name_is_there():
    for name in noisyor.__all__:
        assert getattr(noisyor, name) is not None
    assert sorted(noisyor.__all__) == dir(noisyor)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = noisyor.nothing


def test_version_stands_in_one_place():
    from importlib.metadata import version

    assert version("noisyor") == noisyor.__version__
    citation = (SOURCE.parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {noisyor.__version__}\n" in citation
