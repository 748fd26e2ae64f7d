"""Write requirements.lock: every pinned version of constraints.txt, with the hashes of its files.

The hashes are those that the index (PIP_INDEX_URL, or PyPI) tells of all files of a version, for
every platform. pip refuses any other file:

    pip install --require-hashes --no-deps -r requirements.lock
"""

import os
import re
import urllib.request
from pathlib import Path
from urllib.parse import unquote, urldefrag

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[1]
INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
INTERPRETERS = re.compile(r"py3|cp31[1-9]")
HEAD = """\
# What constraints.txt pins, with the hashes of its files; made by `make lock`, not by hand.
# pip install --require-hashes --no-deps -r requirements.lock
"""


def pinned() -> list[tuple[str, str]]:
    """Return the names and versions of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [tuple(line.split("==")) for line in lines if line and not line.startswith("#")]


def hashes_of(name: str, version: str) -> list[str]:
    """Return the hashes of the files of a version that a supported Python could install."""
    request = urllib.request.Request(
        f"{INDEX}/{canonicalize_name(name)}/", headers={"Accept": "text/html"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        page = answer.read().decode()
    found = set()
    for address in re.findall(r'href="([^"]+)"', page):
        path, fragment = urldefrag(address)
        file = unquote(path.rsplit("/", 1)[-1])
        if fragment.startswith("sha256=") and is_of(file, Version(version)):
            found.add(fragment.removeprefix("sha256="))
    if not found:
        raise SystemExit(f"{INDEX} has no file of {name} {version} with a hash.")
    return sorted(found)


def is_of(file: str, version: Version) -> bool:
    """Return True if a file is of a version, and for Python 3.11 or newer."""
    try:
        if file.endswith(".whl"):
            _, found, _, tags = parse_wheel_filename(file)
            fits = any(tag.abi == "abi3" or INTERPRETERS.fullmatch(tag.interpreter) for tag in tags)
            return found == version and fits
        return parse_sdist_filename(file)[1] == version
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return False


def main() -> None:
    """Ask the index for all of them, and write the file when all have answered."""
    lines = [HEAD]
    for name, version in pinned():
        hashes = " \\\n    ".join(f"--hash=sha256:{each}" for each in hashes_of(name, version))
        lines.append(f"{name}=={version} \\\n    {hashes}\n")
    (ROOT / "requirements.lock").write_text("".join(lines))
    print(f"requirements.lock: {len(lines) - 1} packages")


if __name__ == "__main__":
    main()
