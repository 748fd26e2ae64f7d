"""The beginning of a page: one verdict, from the fit and the flags together."""

from dataclasses import replace

import pytest

from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure, Vocabulary, datasets
from noisyor.learning.doubtful_labels import LabelCheck, LabelsOfDisease, Surprise
from noisyor.learning.verdicts import Verdict
from noisyor.report.content import content_of
from noisyor.report.opening import sentences, verdict_of

FITS = Verdict(0, (), True, ("The network fits (p = 0.5).",))
FAILS = Verdict(3, (), False, ("The network does not fit (p = 0.001).",))
PAIRS = Verdict(2, ({"first": "a"},))


@pytest.fixture(scope="module")
def good():
    """What is known of a network that was learned well: nothing is flagged."""
    network = datasets.figure1(rng=0)
    learner = NoisyOrLearner(network.structure).fit(network.sample(5000, rng=0))
    return content_of(learner.estimate_)


def test_a_network_that_fits_without_flags_can_be_relied_on(good):
    assert good.n_flagged == 0
    found = verdict_of(replace(good, unexplained=FITS))
    assert found.level == "good"
    assert found.sentence == "It explains the records, and none of its 14 parameters is flagged."


def test_a_misfit_counts_for_more_than_few_flags(good):
    for unexplained in (FAILS, PAIRS):
        found = verdict_of(replace(good, unexplained=unexplained))
        assert found.level == "bad"
        assert found.sentence.startswith("Do not rely on it as it is")


def test_labels_that_contradict_their_records_come_before_a_fit(good):
    nothing = Surprise(0.0, 0.0, 1.0, 1.0)
    rows = (LabelsOfDisease("A", Surprise(-200.0, -20.0, 5.0, 1e-9), nothing, nothing),)
    hint = "Are they of other records?"
    for doubtful, hint_of, level in ((), "", "good"), (rows, hint, "bad"), ((), hint, "bad"):
        check = LabelCheck(200, doubtful, 2, hint_of)
        estimate = replace(good.estimate, label_check=check)
        found = verdict_of(replace(good, estimate=estimate, unexplained=FITS))
        assert found.level == level
        assert check.sentence in found.sentence
    sentence = LabelCheck(200, rows, 2, hint).sentence
    assert "'A' (log score -200, expected -20 +- 5.0). Are they" in sentence


def test_what_was_not_tested_is_not_called_good(good):
    found = verdict_of(replace(good, unexplained=None))
    assert found.level == "care"
    assert "Whether it explains the records is not known" in found.sentence


def test_a_fit_says_little_where_nearly_all_is_flagged(flagged):
    found = verdict_of(replace(content_of(flagged), unexplained=FITS))
    assert found.level == "bad"
    assert "Beware: all 200 parameters" in found.sentence
    assert found.sentence.endswith("That it fits says little then.")


def test_a_few_flags_are_excepted():
    clinic = datasets.clinic()
    learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(3000, rng=1))
    content = replace(content_of(learner.estimate_), unexplained=FITS)
    assert 0 < content.n_flagged < 20
    found = verdict_of(content)
    assert found.level == "care"
    assert f"do not rely on {content.n_flagged} parameters of 200" in found.sentence
    assert sentences(content)[0] == found.sentence


def test_of_a_plain_network_nothing_is_known():
    found = verdict_of(content_of(datasets.figure1(rng=0)))
    assert found.level == "unknown"


def test_readers_have_their_own_words(page_of):
    named = datasets.clinic().with_vocabulary(Vocabulary("fault", "alarm"))
    page = page_of(named)
    assert "A network of 20 faults, 60 alarms and 120 edges" in page.text
    assert "Noisy-or network of 20 faults" in page.text
    assert "a hidden cause" in page.text
    assert "reflux disease" in page.data["diseases"]  # a name stays
    assert page.data["words"]["symptoms"] == "alarms"
    texts = page.text.partition("Skip to the content")[2].lower()  # behind the styles
    for said in "reflux disease", "what papers call a disease", "what papers call a symptom":
        assert said in texts
        texts = texts.replace(said, "")
    assert "symptom" not in texts
    assert "disease" not in texts


def test_a_name_with_our_words_stays_as_it_is(page_of):
    structure = Structure(
        ["heart disease", "disease"], ["symptom 1", "x", "y"], [[0, 0], [0, 1], [0, 2], [1, 2]],
        Vocabulary("fault", "alarm"),
    )  # fmt: skip
    network = NoisyOrNetwork(structure, [0.2, 0.1], [0.5] * 4, [0.1] * 3)
    page = page_of(network)
    assert "heart disease" in page.text
    assert "symptom 1" in page.text
    assert "alarm 1" not in page.text
