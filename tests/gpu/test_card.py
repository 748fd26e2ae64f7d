"""What is said where there is no card, and how `auto` chooses."""

import sys

import numpy as np
import pytest

from noisyor import MomentPlan, count_moments, datasets
from noisyor.errors import CardError, NoisyOrWarning, ParameterError
from noisyor.gpu import Work, card, check_device, prefers_card


@pytest.fixture
def clinic():
    network = datasets.clinic()
    return network, network.sample(100, rng=0), MomentPlan.coupled(network.structure)


@pytest.fixture(params=["the extra is not installed", "there is no NVIDIA card"])
def no_card(request, monkeypatch):
    monkeypatch.setattr(card, "why_no_card", lambda: request.param)
    return request.param


def test_a_card_that_is_not_there_is_one_clear_sentence(clinic, no_card):
    _, findings, plan = clinic
    with pytest.raises(CardError, match=f"cannot be used: {no_card}.*Take 'cpu'"):
        count_moments(findings, plan, device="gpu")


def test_an_extra_that_cannot_be_loaded_is_one_clear_sentence(monkeypatch):
    """Numba-cuda may ask for what numpy has no longer."""
    import numba

    monkeypatch.setattr(card.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    monkeypatch.delattr(numba, "cuda", raising=False)
    reason = card.why_no_card.__wrapped__()
    assert "numba-cuda does not work with the other packages here (" in reason
    assert "an older NumPy" in reason


@pytest.mark.parametrize("device", ["tpu", "", None, 1, ["gpu"]])
def test_what_is_no_device_is_refused(clinic, device):
    with pytest.raises(ParameterError, match="device must be 'cpu', 'gpu' or 'auto', not"):
        count_moments(clinic[1], clinic[2], device=device)


def test_without_a_card_auto_counts_here_and_says_nothing(clinic, no_card):
    _, findings, plan = clinic
    assert count_moments(findings, plan, device="auto") == count_moments(findings, plan)


@pytest.mark.parametrize(("seconds", "expected"), [(1.0, False), (1000.0, True)])
def test_auto_takes_what_is_expected_to_be_faster_and_says_so(monkeypatch, seconds, expected):
    monkeypatch.setattr(card, "why_no_card", lambda: None)
    monkeypatch.setattr(card, "card_name", lambda: "NVIDIA H200")
    chosen = "the card .NVIDIA H200." if expected else "the processor"
    with pytest.warns(NoisyOrWarning, match=f"device 'auto': counting on {chosen}"):
        assert prefers_card("auto", Work("counting", seconds, seconds / 100.0), 2) == expected


def test_what_is_asked_for_is_taken_without_a_word(monkeypatch):
    monkeypatch.setattr(card, "why_no_card", lambda: None)
    assert prefers_card("gpu", Work("counting", 0.0, 100.0))
    assert not prefers_card("cpu", Work("counting", np.inf, 0.0))
    check_device("gpu")


def test_the_command_exits_with_one_clear_sentence(run, tmp_path, no_card):
    network = datasets.clinic()
    network.save(tmp_path / "clinic.json")
    network.sample(50, rng=0).to_parquet(tmp_path / "records.parquet")
    files = [str(tmp_path / name) for name in ("clinic.json", "records.parquet")]
    for device, said in ("gpu", f"cannot be used: {no_card}"), ("tpu", "must be"):
        for command, name in ("count", "a.moments"), ("fit", "a.json"), ("diagnose", "a.csv"):
            output = tmp_path / name
            code, _, error = run(command, *files, "-o", str(output), "--device", device)
            assert code == 2
            assert said in " ".join(error.split())
            assert "Traceback" not in error
            assert not output.exists()


def test_the_experiment_needs_a_card(run, tmp_path, no_card, monkeypatch):
    monkeypatch.setattr("noisyor.cli.reproduce.check_device", card.check_device)
    code, out, error = run("reproduce", "gpu", "--quick", "--out", tmp_path / "results")
    assert (code, out) == (2, "")
    assert f"cannot be used: {no_card}" in " ".join(error.split())
    assert not (tmp_path / "results").exists()


def test_a_card_is_for_files_of_records_on_one_machine(run, tmp_path, monkeypatch):
    monkeypatch.setattr(card, "why_no_card", lambda: None)
    code, _, error = run("diagnose", "clinic", "--present", "fever", "--device", "gpu")
    assert code == 2
    assert "--device is for files of records" in " ".join(error.split())
    datasets.clinic().sample(5, rng=0).to_parquet(tmp_path / "records.parquet")
    files = ["clinic", tmp_path / "records.parquet", "-o", tmp_path / "out"]
    code, _, error = run("diagnose", *files, "--device", "gpu", "--cluster", "local:1")
    assert code == 2
    assert "--device is for one machine" in " ".join(error.split())
