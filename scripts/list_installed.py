"""List what is installed with noisyor: names, versions and licences.

`python scripts/list_installed.py` writes docs/licences.md; with `--cyclonedx` it prints the list
as a CycloneDX document (JSON), for tools that look for known weaknesses.
"""

import json
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
HEAD = """\
# Licences

What `make setup` installs beside noisyor, at the versions that were tested (`constraints.txt`), and
under which licence, in the words of each package's metadata. *Needed* is what `pip install noisyor`
brings, {needed} MB in all; the others, {others} MB, serve clusters, tests and documentation. Sizes
are those of the machine on which this was made, by `make licences`;
`python scripts/list_installed.py --cyclonedx` prints the list as a CycloneDX document.

| package | version | licence | needed | MB |
|---|---|---|---|---|
"""


def pinned() -> dict[str, str]:
    """Return what constraints.txt pins, by name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def licence_of(name: str) -> str:
    """Return the licence that a package's metadata names, in a few words."""
    about = metadata.metadata(name)
    classifiers = [
        each.rsplit(" :: ", 1)[-1]
        for each in about.get_all("Classifier", [])
        if each.startswith("License :: ") and not each.endswith("OSI Approved")
    ]
    text = (about.get("License") or "").strip()
    short = text if text and len(text) < 60 and "\n" not in text else ""
    return about.get("License-Expression") or "; ".join(classifiers) or short or "not stated"


def megabytes_of(name: str) -> float:
    """Return how much a package takes on disk."""
    files = metadata.files(name) or []
    paths = (Path(str(each.locate())) for each in files)
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def needed(name: str = "noisyor", seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the packages that one needs without extras, and those that these need."""
    for requirement in map(Requirement, metadata.requires(name) or []):
        key = canonicalize_name(requirement.name)
        is_wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if is_wanted and key not in seen:
            seen = needed(key, seen | {key})
    return seen


def installed() -> dict[str, str]:
    """Return the pinned packages that are installed here, with their versions."""
    here = {}
    for name in pinned():
        try:
            here[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # of another platform
            continue
    return here


def page() -> str:
    """Return the page of licences."""
    always, sizes = needed(), {name: megabytes_of(name) for name in installed()}
    is_needed = {name: canonicalize_name(name) in always for name in sizes}
    rows = [
        f"| {name} | {version} | {licence_of(name)} | {'yes' if is_needed[name] else ''} | "
        f"{sizes[name]:.1f} |\n"
        for name, version in installed().items()
    ]
    brought = sum(size for name, size in sizes.items() if is_needed[name])
    head = HEAD.format(needed=round(brought), others=round(sum(sizes.values()) - brought))
    return head + "".join(rows)


def cyclonedx() -> str:
    """Return the list as a CycloneDX document."""
    components = [
        {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{canonicalize_name(name)}@{version}",
            "licenses": [{"license": {"name": licence_of(name)}}],
        }
        for name, version in installed().items()
    ]
    about = {"component": {"type": "application", "name": "noisyor"}}
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": about}
    return json.dumps({**document, "components": components}, indent=1)


if __name__ == "__main__":
    if sys.argv[1:] == ["--cyclonedx"]:
        print(cyclonedx())
    else:
        (ROOT / "docs" / "licences.md").write_text(page(), encoding="utf-8")
