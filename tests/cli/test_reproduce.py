"""`noisyor reproduce`: the list, and what is refused."""

import json

import pytest

from noisyor.cli import main
from noisyor.experiments import EXPERIMENTS


def test_the_list(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--list", "--json"])
    listed = json.loads(capsys.readouterr().out)
    assert list(listed) == list(EXPERIMENTS)
    assert all(text.endswith(".") and "Full size" in text for text in listed.values())
