"""Objects of pgmpy; what needs the package, and is skipped where it is missing."""

import importlib

import pytest

from exchange.models import assert_close, connected_network, told_by_tables
from noisyor import NoisyOrNetwork
from noisyor.errors import NoisyOrError
from noisyor.exchange import from_pgmpy, to_pgmpy


def test_a_missing_package_is_told(monkeypatch, flu):
    def missing(name, *_):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    network = NoisyOrNetwork(flu, [0.1] * 2, [0.1] * 4, [0.1] * 3)
    with pytest.raises(NoisyOrError, match="pip install pgmpy"):
        to_pgmpy(network)


@pytest.mark.filterwarnings("ignore")
def test_pgmpy_there_and_back(rng):
    pytest.importorskip("pgmpy", reason="pgmpy is not installed")
    for _ in range(30):
        network = connected_network(rng)
        model = to_pgmpy(network)
        assert model.check_model()
        assert_close(from_pgmpy(model), told_by_tables(network))


@pytest.mark.filterwarnings("ignore")
def test_objects_that_are_no_noisy_or():
    pytest.importorskip("pgmpy", reason="pgmpy is not installed")
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    chain = DiscreteBayesianNetwork([("a", "b"), ("b", "c")])
    with pytest.raises(NoisyOrError, match="node 'a' has no table"):
        from_pgmpy(chain)
    pair = [[0.9, 0.2], [0.1, 0.8]]
    chain.add_cpds(
        TabularCPD("a", 2, [[0.5], [0.5]]),
        TabularCPD("b", 2, pair, ["a"], [2]),
        TabularCPD("c", 2, pair, ["b"], [2]),
    )
    with pytest.raises(NoisyOrError, match="node 'c' has the parent 'b', which has parents"):
        from_pgmpy(chain)
