"""The kernels of the card run as Python where there is no card: in a process of their own.

Numba decides when it is loaded whether it simulates.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from noisyor.gpu import is_simulated, why_no_card


@pytest.mark.skipif(why_no_card() is None, reason="they run as tests of their own")
@pytest.mark.parametrize("which", ["not slow", pytest.param("slow", marks=pytest.mark.slow)])
def test_tests_of_the_card_pass_in_the_simulator(which):
    folder = Path(__file__).parent / "simulated"
    assert not is_simulated()
    run = subprocess.run(
        [sys.executable, "-m", "pytest", str(folder), "-q", "-p", "no:randomly", "-p",
         "no:cacheprovider", "--no-header", "-m", which],
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}, cwd=folder.parents[2],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    assert " passed" in run.stdout
    assert "skipped" not in run.stdout
