"""Vocabulary: words of readers, synonyms of names, and what is refused."""

import copy
import json
import pickle

import pytest

from noisyor import Estimate, NoisyOrError, NoisyOrLearner, NoisyOrNetwork, Structure, Vocabulary
from noisyor import datasets as networks
from noisyor.vocabulary import plural, read_synonyms, words_of

WORDS = Vocabulary("fault", "alarm", "log", (("fever", "pyrexia"), ("fever", "high temperature")))


def test_words_are_put_in_place_of_ours():
    say = WORDS.translator(["Crohn's disease", "records office"])
    assert say("Diseases, symptoms and records: a disease.") == "Faults, alarms and logs: a fault."
    assert say("Crohn's disease, a disease") == "Crohn's disease, a fault"
    assert say("records office of records") == "records office of logs"
    assert say("A symptom of a disease; a finding") == "An alarm of a fault; an alarm"
    assert say("diseased asymptomatic") == "diseased asymptomatic"
    assert Vocabulary().translator(["x"])("a disease") == "a disease"


def test_synonyms_are_understood_as_names_are():
    structure = networks.clinic().structure.with_vocabulary(WORDS)
    assert structure.match_symptom("Pyrexia") == structure.match_symptom("high temp") == "fever"
    assert structure.match_symptom("fever") == "fever"
    with pytest.raises(NoisyOrError, match="there is no symptom named 'influenza'"):
        structure.match_symptom("influenza")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("", "alarm"), "the word for disease must be a noun"),
        (("fault", "<b>"), "the word for symptom must be a noun"),
        (("fault", "a" * 41), "of up to 40 letters"),
        ((3, "alarm"), "the word for disease must be a noun"),
    ],
)
def test_words_that_are_none_are_refused(words, says):
    with pytest.raises(NoisyOrError, match=says):
        Vocabulary(*words)


@pytest.mark.parametrize(
    ("synonyms", "says"),
    [
        ([("fevr", "x")], "'fevr', which is neither a disease nor a symptom; did you mean 'fever'"),
        ([("fever", " ")], "a synonym of 'fever' is empty"),
        ([("fever", "cough")], "'cough' cannot be a synonym of 'fever': it is a name itself"),
        ([("fever", "hot"), ("cough", "HOT")], "'HOT' is a synonym of both 'fever' and 'cough'"),
    ],
)
def test_synonyms_that_mean_nothing_or_two_things_are_refused(synonyms, says):
    with pytest.raises(NoisyOrError, match=says):
        networks.clinic().structure.with_vocabulary(Vocabulary(synonyms=synonyms))


def test_files_keep_words_and_synonyms(tmp_path):
    clinic = networks.clinic().with_vocabulary(WORDS)
    estimate = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(500, 0))
    for each, load in (
        (clinic.structure, Structure.load), (clinic, NoisyOrNetwork.load),
        (estimate.estimate_, Estimate.load), (clinic, Structure.load),
    ):  # fmt: skip
        each.save(tmp_path / "x.json")
        found = load(tmp_path / "x.json")
        structure = found if isinstance(found, Structure) else found.structure
        assert structure.vocabulary == WORDS
    for other in copy.deepcopy(clinic.structure), pickle.loads(pickle.dumps(clinic.structure)):  # noqa: S301
        assert other.vocabulary == WORDS
    assert hash(clinic.structure.vocabulary) == hash(Vocabulary(*vars(WORDS).values()))


def test_structures_are_equal_whatever_readers_call_them(tmp_path):
    clinic = networks.clinic().structure
    assert clinic.with_vocabulary(WORDS) == clinic
    clinic.save(tmp_path / "plain.json")
    content = json.loads((tmp_path / "plain.json").read_text())
    assert content["version"] == 1  # as older readers know it
    assert "vocabulary" not in content


def test_a_part_of_a_structure_keeps_its_synonyms():
    structure = networks.clinic().structure.with_vocabulary(WORDS)
    assert structure.subset(symptoms=["fever", "cough"]).vocabulary == WORDS
    assert structure.subset(symptoms=["cough"]).vocabulary.synonyms == ()


@pytest.mark.parametrize(
    "damage", [3, {"unknown": 1}, {"synonyms": ["x"]}, {"synonyms": {"fever": "x"}}, {"disease": 3}]
)
def test_damaged_files_are_refused(tmp_path, damage):
    path = tmp_path / "s.json"
    networks.clinic().structure.save(path)
    content = json.loads(path.read_text()) | {"vocabulary": damage, "version": 2}
    path.write_text(json.dumps(content))
    with pytest.raises(NoisyOrError, match="s.json: "):
        Structure.load(path)


def test_tables_of_synonyms(tmp_path):
    (tmp_path / "s.csv").write_text("name,synonym\nfever,pyrexia\nfever,temperature\n")
    assert read_synonyms(tmp_path / "s.csv") == [("fever", "pyrexia"), ("fever", "temperature")]
    (tmp_path / "t.csv").write_text("name,other\nfever,pyrexia\n")
    with pytest.raises(NoisyOrError, match="synonym"):
        read_synonyms(tmp_path / "t.csv")


def test_texts_of_words():
    assert words_of("fault,alarm,log") == {"disease": "fault", "symptom": "alarm", "record": "log"}
    with pytest.raises(NoisyOrError, match="must be two words, or three"):
        words_of("fault")
    assert plural("box") == "boxes"
