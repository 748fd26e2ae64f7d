"""What is installed: the hashes and the licences are those of the pinned versions."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def pinned():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_every_pinned_version_has_hashes():
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text().rstrip())
    locked = [entry for entry in entries if not entry.startswith("#")]
    assert [entry.split(" ")[0] for entry in locked] == pinned()
    form = re.compile(r"\S+( \\\n    --hash=sha256:[0-9a-f]{64})+")
    assert [entry for entry in locked if not form.fullmatch(entry)] == []


def test_the_page_of_licences_lists_the_pinned_versions():
    rows = re.findall(r"^\| (\S+) \| (\d\S*) \| (.+?) \|", read_page(), re.M)
    assert {f"{name}=={version}" for name, version, _ in rows} <= set(pinned())
    assert len(rows) > len(pinned()) - 5  # those of other platforms are not installed
    assert [name for name, _, licence in rows if licence == "not stated"] == []


def read_page():
    return (ROOT / "docs" / "licences.md").read_text()


def test_the_list_for_machines_is_that_of_the_page():
    command = [sys.executable, str(ROOT / "scripts" / "list_installed.py"), "--cyclonedx"]
    document = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert document["bomFormat"] == "CycloneDX"
    for each in document["components"]:
        assert f"| {each['name']} | {each['version']} |" in read_page()
