"""The files of several passes: what was written to in between is named."""

import os

import pytest

from noisyor.errors import ChangedFileError
from noisyor.io.manifest import Manifest, check_unchanged, state_of


@pytest.fixture
def files(tmp_path):
    found = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in found:
        path.write_text("a,b\n1,0\n")
    return found


def grow(path):
    path.write_text(path.read_text() + "1,1\n")


def repair(path):
    """Another value, as many bytes."""
    path.write_text(path.read_text().replace("1,0", "0,1"))
    os.utime(path, ns=(0, state_of(path).modified + 1000))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (grow, r"b\.csv was changed .*it had 8 bytes and has 12.*Start again"),
        (repair, r"b\.csv was changed .*another time of modification"),
        (os.unlink, r"b\.csv does not exist.*It was there when the work began"),
    ],
)
def test_a_file_that_was_changed_is_named(files, change, reason):
    manifest = Manifest([str(files[0]), files[1]])
    manifest.end_pass(2)
    change(files[1])
    with pytest.raises(ChangedFileError, match=reason):
        manifest.end_pass(2)


def test_addresses_have_states_too(files):
    address = files[0].as_uri()
    state = state_of(address)
    assert state == state_of(files[0])
    check_unchanged(address, state)
    grow(files[0])
    with pytest.raises(ChangedFileError, match=r"file:///.*a\.csv was changed"):
        check_unchanged(address, state)
    files[0].unlink()
    with pytest.raises(ChangedFileError, match="does not exist"):
        check_unchanged(address, state)


def test_passes_have_as_many_records(files):
    manifest = Manifest([*files, object()])  # tables in memory have no state
    manifest.check_files()
    manifest.end_pass(10)
    manifest.end_pass(10)
    with pytest.raises(ChangedFileError, match=r"there are 11 records .* were 10 in the first"):
        manifest.end_pass(11)
