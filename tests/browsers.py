"""A real browser for tests: Chromium, node and playwright-core, or the reason why there is none."""

import os
import shutil
import subprocess

import pytest

BROWSER = os.environ.get("NOISYOR_BROWSER") or shutil.which("chromium")
NODE = shutil.which("node")


def has_module(name):
    """Whether node finds a module."""
    check = [NODE, "-e", f"require.resolve('{name}')"]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


def need_browser(*modules):
    """Skip the test where there is no browser, or no module to drive it with."""
    for thing, name in (BROWSER, "chromium (or NOISYOR_BROWSER)"), (NODE, "node"):
        if not thing:
            pytest.skip(f"there is no {name}; `make browser` gets it")
    for name in ("playwright-core", *modules):
        if not has_module(name):
            pytest.skip(
                f"node finds no {name}: `make browser` gets it, and says how to set NODE_PATH"
            )
