"""Objects of pgmpy and pyAgrum; what needs the package, and is skipped where it is missing."""

import builtins
import importlib

import numpy as np
import pytest

import naive
from conftest import as_lists
from exchange.models import assert_close, connected_network, told_by_tables
from noisyor import NoisyOrNetwork, Structure
from noisyor.errors import NoisyOrError
from noisyor.exchange import from_pgmpy, from_pyagrum, to_pgmpy, to_pyagrum


@pytest.mark.parametrize(("package", "convert"), [("pgmpy", to_pgmpy), ("pyagrum", to_pyagrum)])
def test_a_missing_package_is_named(monkeypatch, flu, package, convert):
    def missing(name, *_):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    network = NoisyOrNetwork(flu, [0.1] * 2, [0.1] * 4, [0.1] * 3)
    with pytest.raises(NoisyOrError, match=f"pip install {package}"):
        convert(network)


@pytest.mark.filterwarnings("ignore")
def test_pyagrum_there_and_back(rng):
    pytest.importorskip("pyagrum", reason="pyagrum is not installed")
    for _ in range(100):
        network = connected_network(rng)
        assert_close(from_pyagrum(to_pyagrum(network)), told_by_tables(network))


@pytest.mark.filterwarnings("ignore")
def test_pyagrum_infers_the_same(rng):
    pyagrum = pytest.importorskip("pyagrum", reason="pyagrum is not installed")
    for _ in range(30):
        network = connected_network(rng)
        inference = pyagrum.VariableElimination(to_pyagrum(network))
        for number, name in enumerate(network.structure.symptoms):
            absent = naive.negative_moment(*as_lists(network), [number])
            assert inference.posterior(name)[0] == pytest.approx(absent, abs=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_pyagrum_takes_many_parents_and_compound_weights():
    pyagrum = pytest.importorskip("pyagrum", reason="pyagrum is not installed")
    structure = Structure.from_matrix(np.ones((30, 1)))
    network = NoisyOrNetwork(structure, [0.1] * 30, np.linspace(0, 0.9, 30), [0.01])
    model = to_pyagrum(network)
    states = {f"D{i}": int(i in (5, 7)) for i in range(30)}
    absent = 0.99 * network.failures[5] * network.failures[7]
    assert model.cpt("S0")[states][0] == pytest.approx(absent)
    with pytest.raises(NoisyOrError, match="'S0' has 30 parents"):
        from_pyagrum(model)
    wide = NoisyOrNetwork(Structure.from_matrix(np.ones((63, 1))), [0.1] * 63, [0.5] * 63, [0.01])
    with pytest.raises(NoisyOrError, match="'S0' has 63 parents; pyAgrum takes up to 62"):
        to_pyagrum(wide)
    narrow = wide.structure.subset(diseases=range(62))
    to_pyagrum(NoisyOrNetwork(narrow, [0.1] * 62, [0.5] * 62, [0.01]))
    compound = pyagrum.BayesNet()
    flu = compound.add(pyagrum.LabelizedVariable("flu", "", ["no", "yes"]))
    cough = compound.addNoisyORCompound(pyagrum.LabelizedVariable("cough", "", ["no", "yes"]), 0.1)
    compound.cpt(flu).fillWith([0.8, 0.2])
    compound.addWeightedArc(flu, cough, 0.55)
    expected = NoisyOrNetwork(Structure(["flu"], ["cough"], [[0, 0]]), [0.2], [0.5], [0.1])
    assert_close(from_pyagrum(compound), expected)


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


def test_names_that_do_not_differ(monkeypatch):
    monkeypatch.setattr(importlib, "import_module", lambda name: builtins)
    network = NoisyOrNetwork(Structure(["fever"], ["fever"], [[0, 0]]), [0.2], [0.5], [0.1])
    for convert in (to_pyagrum, to_pgmpy):
        with pytest.raises(NoisyOrError, match="'fever' is the name of a disease and of a symptom"):
            convert(network)
