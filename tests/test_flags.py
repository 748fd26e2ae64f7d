"""Flags: codes for programs, sentences for people, and the sentences of version 0.1.0."""

import csv

import numpy as np
import pytest

from noisyor import Fixed, NoisyOrLearner, NoisyOrNetwork, Structure, flags
from noisyor.errors import FileError, ParameterError
from noisyor.flags import REASONS, SENTENCES_0_1_0, Flag, flags_of_row


def test_codes_bring_back_every_set_of_flags(rng):
    for number in rng.integers(0, 2 ** len(Flag), 300).tolist():
        assert Flag.from_codes(Flag(number).codes) == number
    assert Flag(0).codes == ""
    assert (Flag.WEAK | Flag.CLIPPED).codes == "clipped weak"


def test_every_flag_has_a_sentence_and_one_of_version_0_1_0():
    assert set(REASONS) == set(Flag)
    assert set(SENTENCES_0_1_0.values()) == set(Flag) - {Flag.UNMIXED}  # which came later
    assert len(set(REASONS.values())) == len(REASONS)


@pytest.mark.parametrize("codes", ["held", "clipped; weak", "not_learned", "CLIPPED"])
def test_other_codes_are_refused(codes):
    with pytest.raises(ParameterError, match="there is no flag"):
        Flag.from_codes(codes)
    with pytest.raises(FileError, match="row 7, column 'flag_codes': there is no flag"):
        flags_of_row("row 7", {"flag_codes": codes})


def test_the_codes_of_a_row_decide_whatever_its_sentences_say():
    cells = {"flags": "not learned: neither a schedule nor the clean-up teaches it"}
    assert flags_of_row("", {**cells, "flag_codes": "weak"}) == (Flag.WEAK, ())
    assert flags_of_row("", {**cells, "flag_codes": None}) == (Flag(0), ())


def test_sentences_of_version_0_1_0_are_whole_or_unknown():
    old = "rests on a parameter that was clipped; not learned: the sky fell; "
    old += "held at the value that was given"
    expected = Flag.RESTS_ON_CLIPPED | Flag.FIXED, ("not learned: the sky fell",)
    assert flags_of_row("", {"flags": old}) == expected
    assert flags_of_row("", {"flags": None}) == flags_of_row("", {}) == (Flag(0), ())


@pytest.fixture(scope="module")
def unlearned():
    """An estimate of a network that no schedule learns."""
    structure = Structure.from_matrix(np.ones((2, 3)))
    network = NoisyOrNetwork(structure, [0.3, 0.4], np.full(6, 0.5), np.full(3, 0.01))
    return NoisyOrLearner(structure, method="pooled").fit(network.sample(300, rng=0)).estimate_


def rewritten(path, change):
    """Write a table again, each row changed."""
    with path.open(newline="") as file:
        rows = [change(row) for row in csv.DictReader(file)]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_the_summary_has_codes_beside_the_sentences(unlearned):
    numbers = np.concatenate([part.flags for part in unlearned.parts.values()]).tolist()
    assert unlearned.summary()["flag_codes"].to_pylist() == [Flag(n).codes for n in numbers]
    assert unlearned.summary()["flags"].to_pylist() == [Flag(n).reasons for n in numbers]


def test_other_words_for_a_flag_change_nothing(unlearned, tmp_path, monkeypatch):
    monkeypatch.setattr(flags, "REASONS", {flag: f"mot {flag.value}" for flag in REASONS})
    path = tmp_path / "summary.csv"
    unlearned.save_summary(path)
    assert "not learned" not in path.read_text()
    with pytest.raises(FileError, match="line 2: the value was not learned"):
        Fixed.load(path, unlearned.structure)
    rewritten(path, lambda row: {**row, "flags": "not learned", "flag_codes": "weak"})
    assert Fixed.load(path, unlearned.structure).mask.priors.all()


def test_a_summary_of_version_0_1_0_is_read_by_its_sentences(unlearned, tmp_path):
    path = tmp_path / "summary.csv"
    unlearned.save_summary(path)
    rewritten(path, lambda row: {key: cell for key, cell in row.items() if key != "flag_codes"})
    with pytest.raises(FileError, match="line 2: the value was not learned"):
        Fixed.load(path, unlearned.structure)
    rewritten(path, lambda row: {**row, "flags": "not learned, as it were"})
    assert Fixed.load(path, unlearned.structure).mask.priors.all()
