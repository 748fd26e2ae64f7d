"""Rules of the house that no other test would notice being broken."""

import ast
import functools
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import noisyor

SOURCE = Path(noisyor.__file__).parent

# From the foundation up: a room imports from the rooms before it, never from those after it.
ROOMS = [
    "_version",
    "errors",
    "flags",
    "immutable",
    "kernels",
    "memory",
    "parallel",
    "drawing",
    "io",
    "cluster",
    "gpu",
    "names",
    "vocabulary",
    "structure",
    "parameters",
    "miss_rates",
    "cause_beliefs",
    "beliefs",
    "findings",
    "network",
    "datasets",
    "exchange",
    "inference",
    "moments",
    "schedule",
    "identifiability",
    "em",
    "learning",
    "learner",
    "discovery",
    "comparison",
    "education",
    "evaluation",
    "report",
    "app",
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


def test_a_room_imports_only_from_rooms_before_it():
    wrong = []
    for path in source_files():
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        allowed = ROOMS[: ROOMS.index(room) + 1]
        if room == "cli":
            allowed.append("")  # the package itself: its public names, loaded when they are used
        ours = (name for name in imports_of(path) if name.split(".")[0] == "noisyor")
        wrong += [f"{path} imports {name}" for name in ours if room_of(name) not in allowed]
    assert not wrong


def test_every_room_stands_in_the_order():
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in source_files()}
    assert rooms == set(ROOMS)


def test_no_pickle():
    for path in source_files():
        modules = {module.split(".")[0] for module in imports_of(path)}
        assert not modules & {"pickle", "cloudpickle", "joblib", "shelve", "marshal"}, path


def test_what_workers_run_warns_by_notices():
    """A warning of Python stays where a worker is; notices come to who asked for the work."""
    for path in source_files():
        if path.relative_to(SOURCE).parts[0] in ("io", "findings", "moments"):
            assert "warnings" not in set(imports_of(path)), path


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
    described = "from noisyor.cli.info import info; info('clinic', as_json=True)"
    assert "noisyor.learning" not in modules_loaded_by(described)
    everything = "import noisyor.cli.info, noisyor.learning, noisyor.evaluation"
    assert "scipy.stats" not in modules_loaded_by(everything)  # as slow as all else together


# --- imports in functions ---

# What makes an import slow, so that it may wait until a function needs it.
HEAVY = {
    "anyio", "corextopic", "dask", "distributed", "matplotlib", "numba", "numpy", "openpyxl",
    "pandas", "pgmpy",
    "polars", "pyagrum", "pyarrow", "rich", "scipy", "sklearn", "starlette", "uvicorn",
}  # fmt: skip

# Still to be moved to the top of their files.
LIGHT_IMPORTS_LEFT = {
    "cli/__init__.py": {"noisyor.cli.app"},
}  # fmt: skip


def name_of(path):
    """Return the name of a module of the package."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules_named(node):
    """Return the modules that an import statement loads."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    named = (f"{node.module}.{alias.name}" for alias in node.names)
    return {name if name in module_files() else node.module for name in named}


@functools.cache
def module_files():
    return {name_of(path): path for path in SOURCE.rglob("*.py")}


@functools.cache
def imports_by_place(path):
    """Return the modules that a file imports at its top, and those that its functions import."""
    at_top, in_functions = set(), set()

    def look_at(node, names):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.update(modules_named(node))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.FunctionDef):
            names = in_functions
        for child in ast.iter_child_nodes(node):
            look_at(child, names)

    look_at(ast.parse(path.read_text(encoding="utf-8")), at_top)
    return at_top, in_functions


@functools.cache
def loaded_with(module):
    """Return all that is imported when a module of the package is, packages around it included."""
    seen, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in module_files():
            waiting += imports_by_place(module_files()[name])[0]
            waiting += [name.rpartition(".")[0]] if "." in name else []
    return frozenset(seen)


def heavy_with(module):
    return {name.split(".")[0] for name in loaded_with(module)} & HEAVY


def light_imports():
    """Return the imports in functions that load nothing heavy."""
    return {
        (str(path.relative_to(SOURCE)), target)
        for path in source_files()
        for target in imports_by_place(path)[1]
        if not may_wait(target, name_of(path))
    }


def may_wait(target, module):
    """Whether a module is heavy, compiled, or loads something heavy that is not loaded already."""
    is_heavy = target.split(".")[0] in HEAVY or target.endswith("kernels")
    return is_heavy or bool(heavy_with(target) - heavy_with(module))


def light_imports_left():
    return {(path, target) for path, targets in LIGHT_IMPORTS_LEFT.items() for target in targets}


def test_only_heavy_modules_are_imported_in_functions():
    assert not light_imports() - light_imports_left()


def test_no_exception_outlives_its_reason():
    assert not light_imports_left() - light_imports()
    assert not MANY_PARAMETERS - functions_with_many_parameters()
    assert not SHARED_CLASS_NAMES - shared_class_names()


# --- functions and classes ---

MOST_PARAMETERS = 8

# An estimator's parameters are all arguments: so scikit-learn wants it. What is known of the
# records besides their findings are arguments of `fit`. Who counts many records, or answers
# questions about them, and how long that may take, are arguments, too. What a question is about,
# what it costs and what it saves are three things, and each has the name that people look for.
MANY_PARAMETERS = {
    ("learner.py", "__init__"),
    ("learner.py", "fit"),
    ("inference/posterior.py", "posteriors"),
    ("inference/questions.py", "best_questions"),
    ("moments/counting.py", "count_moments"),
}

SHARED_CLASS_NAMES: set[str] = set()


def nodes_of(kind):
    for path in source_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kind):
                yield str(path.relative_to(SOURCE)), node


def is_command(function):
    """Whether a function is a command of the command line: its options are its parameters."""
    return any("typer." in ast.unparse(each) for each in parameters_of(function))


def parameters_of(function):
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [each for each in named if each.arg not in ("self", "cls")]


def functions_with_many_parameters():
    return {
        (path, function.name)
        for path, function in nodes_of(ast.FunctionDef)
        if len(parameters_of(function)) > MOST_PARAMETERS
        and not (path.startswith("cli/") and is_command(function))
    }


def test_no_function_has_too_many_parameters():
    assert not functions_with_many_parameters() - MANY_PARAMETERS


def shared_class_names():
    counts = Counter(node.name for _, node in nodes_of(ast.ClassDef))
    return {name for name, count in counts.items() if count > 1}


def test_no_two_classes_share_a_name():
    assert not shared_class_names() - SHARED_CLASS_NAMES


# --- tests mirror modules ---

TESTS = Path(__file__).parent

# Modules without a file of tests of their own, and where they are tested instead.
TESTED_ELSEWHERE: dict[str, str] = {
    "cli/options.py": "every command's tests: it declares the options that commands share",
    "inference/answers_on_card.py": "tests/gpu/simulated/test_answers.py",
    "em/sampled_on_card.py": "tests/gpu/simulated/test_sampling.py",
    "experiments/gpu.py": "tests/gpu/simulated/test_experiment.py",
    "gpu/arrays.py": "tests/gpu/simulated, where numba simulates a card",
    "gpu/simulated_lanes.py": "tests/gpu/simulated, where numba simulates a card",
    "gpu/translating.py": "tests/gpu/simulated, where numba simulates a card",
    "moments/sets_on_card.py": "tests/gpu/simulated/test_counting.py",
    "moments/tally_on_card.py": "tests/gpu/simulated/test_counting.py",
}


def modules_with_work():
    """Return the modules that define a function or class; compiled ones are tested by callers."""
    for path in source_files():
        name = path.stem
        if name.startswith("__") or name == "_version" or name.endswith("_kernels"):
            continue
        body = ast.parse(path.read_text(encoding="utf-8")).body
        if any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in body):
            yield path.relative_to(SOURCE)


def untested_modules():
    return {
        path.as_posix()
        for path in modules_with_work()
        if not (TESTS / path.parent / f"test_{path.name}").exists()
    }


def test_every_module_has_its_file_of_tests():
    assert untested_modules() == set(TESTED_ELSEWHERE)


def test_every_public_name_is_there():
    assert not [name for name in noisyor.__all__ if not hasattr(noisyor, name)]
    assert sorted(noisyor.__all__) == dir(noisyor)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = noisyor.nothing


def test_version_stands_in_one_place():
    from importlib.metadata import version

    assert version("noisyor") == noisyor.__version__
    citation = (SOURCE.parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {noisyor.__version__}\n" in citation


def test_importing_needs_no_package_of_developers_alone():
    """A stranger has neither pandas nor polars: `noisyor reproduce --list` imports every module."""
    names = {"pandas", "polars", "networkx", "duckdb", "hypothesis", "pgmpy", "pyagrum", "openpyxl"}
    at_once = {
        (path.relative_to(SOURCE).as_posix(), node.names[0].name)
        for path in source_files()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Import) and node.names[0].name.split(".")[0] in names
    }
    assert not at_once
