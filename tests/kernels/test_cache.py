"""Where compiled kernels are kept, also where nothing can be written."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import noisyor
from noisyor import NoisyOrWarning
from noisyor.inference import mixture_kernels, piece_kernels
from noisyor.io import hash_kernels
from noisyor.kernels import cache

SOURCE = Path(noisyor.__file__).parent
SCRIPT = """
import numpy as np
from noisyor.io.hash_kernels import hash_numbers
found = hash_numbers(np.arange(3, dtype=np.uint64))
print(hash_numbers.outer.stats.cache_hits != {}, len(found))
"""


@pytest.fixture
def nowhere(tmp_path):
    """A copy of the package beside which, as in the home folder, nothing can be written."""
    shutil.copytree(SOURCE, tmp_path / "noisyor", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [tmp_path / "noisyor", *(tmp_path / "noisyor").rglob("*/")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("a file: root could write into any folder")
    (tmp_path / "temporary").mkdir()
    home = str(tmp_path / "noisyor" / "__pycache__" / "home")

    def run():
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("NUMBA", "XDG"))}  # fmt: skip
        environment |= {"HOME": home, "XDG_CACHE_HOME": home, "PYTHONPATH": str(tmp_path),
                        "PYTHONDONTWRITEBYTECODE": "1",
                        "TMPDIR": str(tmp_path / "temporary")}  # fmt: skip
        return subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, cwd=tmp_path, text=True,
            capture_output=True, check=True,
        )  # fmt: skip

    return run


def test_where_nothing_can_be_written_a_temporary_folder_serves(nowhere, tmp_path):
    first, second = nowhere(), nowhere()
    assert first.stdout.split() == ["False", "3"]
    assert second.stdout.split() == ["True", "3"]
    assert first.stderr.count("NoisyOrWarning") == 1
    assert str(tmp_path / "temporary") in first.stderr
    assert "NUMBA_CACHE_DIR" in first.stderr
    (folder,) = (tmp_path / "temporary").iterdir()
    assert list(folder.rglob("hash_kernels.hash_numbers*.nbi"))
    assert folder.stat().st_mode & 0o077 == 0


def test_without_any_folder_all_is_compiled_anew(nowhere, tmp_path):
    """What stands where the temporary folder should is not ours: it is not taken."""
    (tmp_path / "temporary" / f"noisyor-kernels-{os.getuid()}").write_text("not a folder")
    for _ in range(2):
        done = nowhere()
        assert done.stdout.split() == ["False", "3"]
        assert "compiles it anew" in done.stderr


def test_a_folder_that_others_can_write_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"noisyor-kernels-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    assert cache.private_folder.__wrapped__() is None
    folder.chmod(0o700)
    assert cache.private_folder.__wrapped__() == folder


def test_a_full_disk_is_told_and_does_no_harm(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.caching.FunctionCache, "save_overload", full)
    cache.tell_once.cache_clear()
    with pytest.warns(NoisyOrWarning, match="compiles it anew"):
        cache.KernelCache(piece_kernels.new_piece).save_overload(None, None)


def test_a_stamp_covers_the_modules_whose_kernels_are_called(monkeypatch):
    stamp = cache.stamp_of.__wrapped__
    before = stamp(mixture_kernels.__name__), stamp(hash_kernels.__name__)
    source_of = cache._source_of

    def changed(name):
        return source_of(name) + (b"#" if name == piece_kernels.__name__ else b"")

    monkeypatch.setattr(cache, "_source_of", changed)
    assert stamp(mixture_kernels.__name__) != before[0]
    assert stamp(hash_kernels.__name__) == before[1]


def test_a_list_with_types_that_are_gone_is_as_good_as_none(tmp_path):
    """Numba reads the types before it looks whether the list is still of this source."""
    index = cache._KernelIndex(str(tmp_path), "some", "stamp")
    gone = b"cnoisyor.kernels.cache\nGone\n."  # a pickle that names a class
    (tmp_path / "some.nbi").write_bytes(pickle.dumps(index._version) + gone)
    assert index.load("key") is None
    index.save("key", [1, 2])
    assert index.load("key") == [1, 2]
