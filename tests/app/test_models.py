import html
import json

import pytest

from noisyor import NoisyOrError, NoisyOrLearner
from noisyor.app import Model
from noisyor.app.models import Models, distinct_names
from noisyor.discovery import Suggestion, Suggestions
from noisyor.io.tables import write_table


def test_the_document_describes_the_network(clinic, learned, aged):
    plain = json.loads(Model("a", clinic).document)
    assert tuple(plain["diseases"]) == clinic.structure.diseases
    assert tuple(plain["symptoms"]) == clinic.structure.symptoms
    assert plain["covariates"] == []
    assert plain["independent"]
    assert not plain["has_errors"]
    assert plain["verdict"]["level"] == "unknown"
    assert plain["synonyms"] == {}
    known = json.loads(Model("b", learned).document)
    assert known["has_errors"]
    assert known["knows"] == {"errors": True, "flags": True, "truth": False, "independent": True}
    age, sex = json.loads(Model("c", aged).document)["covariates"]
    assert age == {"name": "age", "levels": [], "centre": 50.0}
    assert sex["levels"] == ["f", "m"]


def test_an_estimate_brings_its_errors_and_its_verdict(clinic):
    learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(800, 0))
    model = Model("estimate", learner.estimate_)
    assert json.loads(model.document)["has_errors"]
    assert learner.estimate_.misfits().sentences[0] in html.unescape(model.report.decode())


def test_suggestions_are_in_the_report_and_in_the_pictures(clinic, tmp_path):
    structure = clinic.structure
    disease = structure.diseases[0]
    caused = {structure.symptoms[j] for i, j in structure.edges.tolist() if i == 0}
    symptom = next(name for name in structure.symptoms if name not in caused)
    found = Suggestion("add edge", disease, (symptom,), 40.0, 31.0, 1e-9, 1e-7, 0.37)
    write_table(tmp_path / "found.csv", Suggestions((found,), 1000, 500).table())
    model = Model("clinic", clinic, suggestions=tmp_path / "found.csv")
    assert json.loads(model.document)["added"] == [[0, structure.symptom_index(symptom), 0.37]]
    assert "1 edge to add" in model.report.decode()


def test_models_are_found_by_name(clinic, learned):
    models = Models([Model("clinic", clinic), Model("learned", learned)])
    assert models.named(None).name == "clinic"
    assert models.named("learned").network is learned.network
    with pytest.raises(NoisyOrError, match="no model named 'lerned'; did you mean 'learned'"):
        models.named("lerned")
    with pytest.raises(NoisyOrError, match="same name"):
        Models([Model("a", clinic), Model("a", clinic)])
    with pytest.raises(NoisyOrError, match="no model"):
        Models([])


def test_names_differ():
    names = distinct_names(["a/x.json", "b/x.json", "x (2)", "/"])
    assert len(set(names)) == 4


def test_the_report_is_that_of_the_network(learned):
    page = Model("<b>", learned).report.decode()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
