"""What the tests of the application share: models, and a client that asks without a socket."""

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the page needs noisyor[app]")
pytest.importorskip("uvicorn", reason="the page needs noisyor[app]")

from starlette.testclient import TestClient

from noisyor import NoisyOrLearner, datasets
from noisyor.app import Model, make_app
from noisyor.inference.intervals import NetworkWithErrors
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import Independent
from noisyor.network.covariates import Covariate, Effects


@pytest.fixture(scope="session")
def clinic():
    return datasets.clinic()


@pytest.fixture(scope="session")
def learned(clinic):
    """The clinic as it was learned, with standard errors and flags."""
    learner = NoisyOrLearner(clinic.structure, method="sequential").fit(clinic.sample(1500, 0))
    estimate = learner.estimate_
    return NetworkWithErrors(estimate.network, estimate.standard_errors)


@pytest.fixture(scope="session")
def aged(clinic):
    """The clinic, whose diseases depend on age and sex."""
    covariates = [Covariate("age", centre=50.0, scale=20.0), Covariate("sex", ("f", "m"))]
    rng = np.random.default_rng(0)
    n = clinic.structure.n_diseases
    cells = [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    effects = Effects(covariates, rng.normal(size=(n, 3)), cells, [0.5, 0.5])
    causes = Independent(clinic.priors, effects)
    return NoisyOrNetwork(clinic.structure, None, clinic.failures, clinic.leaks, causes=causes)


def client_of(*models, **options):
    app = make_app(models, **options)
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


@pytest.fixture(scope="session")
def client(clinic, learned, aged):
    models = Model("clinic", clinic), Model("learned", learned), Model("aged", aged)
    return client_of(*models)


@pytest.fixture(scope="session")
def ask(client):
    """Ask a question; give its answer, which must not be a refusal."""

    def answer(what, **body):
        found = client.post(f"/api/{what}", json=body)
        assert found.status_code == 200, found.text
        return found.json()

    return answer


@pytest.fixture(scope="session")
def refused(client):
    """Ask a question that must be refused; give the sentence."""

    def sentence(what, status=400, **body):
        found = client.post(f"/api/{what}", json=body)
        assert found.status_code == status, found.text
        return found.json()["refused"]

    return sentence
