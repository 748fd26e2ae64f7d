"""Where compiled kernels are kept: beside the package, in the user's folder, or in a temporary one.

Numba takes the first place that can be written: `NUMBA_CACHE_DIR`, the package's `__pycache__`, the
user's cache. In a container none of them may be writable; then it is a folder that only this user
can write, among the temporary files, or none.
"""

import functools
import hashlib
import os
import stat
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core import caching

from noisyor.errors import NoisyOrWarning
from noisyor.kernels import Kernel
from noisyor.kernels.turns import begin_turn, end_turn


def cache_of(kernel: Kernel) -> Any:
    """Return where a kernel is kept; None where it cannot be, or has no file that could change."""
    module = sys.modules.get(kernel.__module__)
    if module is None or not Path(kernel.py_func.__code__.co_filename).is_file():
        return None
    try:
        return KernelCache(kernel)
    except RuntimeError:  # numba's: no place can be written
        tell_once(None)
        return None


class _TemporaryLocator(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
    """A place among the temporary files, where there is no better one."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno
        self._folder = private_folder()

    def get_cache_path(self) -> str:
        if self._folder is None:
            raise OSError("there is no folder for temporary files")
        tell_once(self._folder)
        return str(self._folder / self.get_suitable_cache_subpath(self._py_file))


class _KernelFiles(caching.CompileResultCacheImpl):
    _locator_classes = [  # noqa: RUF012 numba has a list too
        *caching.CompileResultCacheImpl._locator_classes,
        _TemporaryLocator,
    ]


class _KernelIndex(caching.IndexDataCacheFile):
    """The list of a kernel's machine code, by the types of its arguments."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (AttributeError, ImportError):  # of an older version, whose types are gone
            return {}


class KernelCache(caching.FunctionCache):
    """A cache of machine code that holds as long as no file changes of which it is made."""

    _impl_class = _KernelFiles

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel.py_func)
        stamp = stamp_of(kernel.py_func.__module__)
        self._cache_file = _KernelIndex(self._cache_path, self._impl.filename_base, stamp)
        self._turn = Path(self._cache_path, f"{self._impl.filename_base}.turn")

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return machine code; if there is none, the next that happens is compiling it."""
        found = super().load_overload(signature, target)
        if found is None:
            begin_turn(self._turn)
            found = super().load_overload(signature, target)  # another process may have had a turn
            if found is not None:
                end_turn()
        return found

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep machine code; a full disk is no reason not to run it."""
        try:
            super().save_overload(signature, result)
        except OSError:
            tell_once(None)
        finally:
            end_turn()


@functools.cache
def stamp_of(module: str) -> str:
    """Return what changes with a module of kernels, one that it calls, or how they are compiled."""
    digest = hashlib.sha256()
    compilers = "noisyor.kernels.compiling", "noisyor.kernels.borrowing"
    for name in [*sorted(_modules_below(module, {module})), *compilers]:
        digest.update(_source_of(name))
    return digest.hexdigest()


def _modules_below(module: str, found: set[str]) -> set[str]:
    for value in vars(sys.modules[module]).values():
        name = value.__name__ if isinstance(value, ModuleType) else None
        if isinstance(value, Kernel):
            name = value.__module__
        if name is not None and name.endswith("_kernels") and name not in found:
            found.add(name)
            _modules_below(name, found)
    return found


def _source_of(module: str) -> bytes:
    return Path(str(sys.modules[module].__file__)).read_bytes()


@functools.cache
def private_folder() -> Path | None:
    """Return a folder among the temporary files that nobody else can write, if there can be one.

    What lies in it is run: a folder that another user has made is not taken.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    try:
        folder = Path(tempfile.gettempdir(), f"noisyor-kernels-{user}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022
    return folder if is_ours or os.name == "nt" else None


@functools.cache
def tell_once(folder: Path | None) -> None:
    """Say where compiled code is kept, where it is not where one would look for it."""
    where = f"it is kept in {folder}" if folder else "it is not kept: each run compiles it anew"
    warnings.warn(
        "neither the package's folder nor that of the user can be written, where compiled code "
        f"would stay; {where}. NUMBA_CACHE_DIR=folder names another place.",
        NoisyOrWarning,
        stacklevel=2,
    )
