"""Verdicts are what misfits found, and come back from documents; so do lineages."""

import json

import pytest

from noisyor import NoisyOrLearner, Structure, datasets
from noisyor._version import __version__
from noisyor.learning.verdicts import MOST_PAIRS, Lineage, Verdict


def misfits_without_an_edge():
    clinic = datasets.clinic()
    forgotten = clinic.structure.edge_index("influenza", "fever")
    edges = [e for number, e in enumerate(clinic.structure.edges.tolist()) if number != forgotten]
    wrong = Structure(clinic.structure.diseases, clinic.structure.symptoms, edges)
    learner = NoisyOrLearner(wrong, method="pooled").fit(clinic.sample(3000, rng=0))
    return learner.estimate_.misfits()


def test_a_verdict_says_what_misfits_found():
    misfits = misfits_without_an_edge()
    verdict = Verdict.of(misfits)
    assert verdict.fits is False
    assert verdict.sentences == misfits.sentences
    assert verdict.n_found == misfits.n_found > 0
    assert len(verdict.pairs) == min(misfits.n_found, MOST_PAIRS)
    assert verdict.pairs[0] == misfits.table()[0]
    assert verdict.causes[0]["diseases"] == "influenza"
    assert Verdict.from_document(json.loads(json.dumps(verdict.to_document()))) == verdict


@pytest.mark.parametrize("wrong", [{"fits": "no"}, {"pairs": [1]}, {"n_found": None}])
def test_what_is_no_verdict_is_refused(wrong):
    with pytest.raises((TypeError, ValueError)):
        Verdict.from_document({"n_found": 0, "pairs": []} | wrong)


def test_where_it_is_from():
    lineage = Lineage.now({"shrink": True}, 7)
    assert (lineage.version, lineage.seed) == (__version__, 7)
    assert Lineage.from_document(json.loads(json.dumps(lineage._asdict()))) == lineage
    assert Lineage.from_document({"future": 1}) == Lineage({}, None, "", "")
    with pytest.raises(TypeError):
        Lineage.from_document({"seed": "seven"})
