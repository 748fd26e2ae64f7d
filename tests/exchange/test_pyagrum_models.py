"""Objects of pyAgrum; what needs the package, and is skipped where it is missing."""

import importlib

import numpy as np
import pytest

import naive
from conftest import as_lists
from exchange.models import assert_close, connected_network, told_by_tables
from noisyor import NoisyOrNetwork, Structure
from noisyor.errors import NoisyOrError
from noisyor.exchange import from_pyagrum, to_pyagrum


def test_a_missing_package_is_told(monkeypatch, flu):
    def missing(name, *_):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    network = NoisyOrNetwork(flu, [0.1] * 2, [0.1] * 4, [0.1] * 3)
    with pytest.raises(NoisyOrError, match="pip install pyagrum"):
        to_pyagrum(network)


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
