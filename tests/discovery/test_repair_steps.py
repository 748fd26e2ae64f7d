"""Steps of a repair: what they cost."""

import numpy as np
import pytest

from discovery.test_suggestions import CLINIC, damaged
from noisyor.discovery import RepairSettings
from noisyor.discovery.changes import ADD, Suggestion
from noisyor.discovery.repair_steps import Steps, split


def test_records_are_held_out_once_each():
    records = CLINIC.sample(5000, rng=1)
    kept, out = split(records, 0.2, 0)
    assert (kept.n_records, out.n_records) == (4000, 1000)
    total = kept.count_present() + out.count_present()
    np.testing.assert_array_equal(total, records.count_present())
    assert split(records, 0.0, 0) == (records, None)


def test_an_edge_that_comes_costs_what_bic_and_the_choice_from_many_cost():
    structure, _ = damaged()
    steps = Steps(CLINIC.sample(2000, rng=1), RepairSettings(held_out=0.0), set(), set())
    steps._given = {
        name: {structure.symptoms[j] for j in structure.children(i)}
        for i, name in enumerate(structure.diseases)
    }
    steps._n_choices = 70
    last = steps._step((), steps._fitter.fit(CLINIC))
    came = steps._came(CLINIC.structure)
    assert came == {tuple(CLINIC.structure.edges[0].tolist())}
    assert steps._price == pytest.approx(np.log(2000) + 2.0 * np.log(70))
    assert steps._cost(last) == pytest.approx(last.bic + 2.0 * np.log(70))


def test_what_is_certain_or_forbidden_is_not_changed():
    nan = float("nan")
    change = Suggestion(ADD, "a", ("x",), nan, nan, nan, nan, nan)
    records, settings = CLINIC.sample(100, rng=1), RepairSettings(held_out=0.0)
    assert Steps(records, settings, {("a", "x")}, set())._is_allowed(change)
    assert not Steps(records, settings, set(), {("a", "x")})._is_allowed(change)
