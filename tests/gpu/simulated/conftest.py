"""The simulator asks without pause whether its threads are done, and so keeps them from working."""

import sys

import pytest

from noisyor.gpu import is_simulated


@pytest.fixture(scope="session", autouse=True)
def threads_take_turns():
    """Let threads of Python take turns a hundred times as often as they do by themselves."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 100 if is_simulated() else usual)
    yield
    sys.setswitchinterval(usual)
