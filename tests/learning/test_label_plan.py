"""How many labels of which diseases mend what is flagged, verified by learning."""

import numpy as np
import pytest

from noisyor import NoisyOrError, NoisyOrNetwork, Structure, datasets
from noisyor.learning import plan_labels
from noisyor.learning.label_plan import in_doubt
from noisyor.learning.methods import fit


def test_labels_of_diseases_with_equal_symptoms_are_planned_and_do():
    structure = Structure.from_matrix(np.ones((2, 4)), diseases=["A", "B"])
    failures = [0.2, 0.3, 0.6, 0.7, 0.7, 0.6, 0.3, 0.2]
    network = NoisyOrNetwork(structure, [0.1, 0.2], failures, [0.02] * 4)
    plan = plan_labels(network, 3000)
    assert plan.diseases == ("A", "B")
    assert plan.flagged[0] == 10
    assert plan.n_needed in (50, 100, 200)
    assert f"{plan.n_needed} labelled records would do" in str(plan)
    findings, diseases = network.sample(3000, rng=7, return_diseases=True)  # another sample
    labels = np.where(np.arange(3000)[:, np.newaxis] < 2 * plan.n_needed, diseases, np.nan)
    assert not in_doubt(fit(findings, structure, labels=labels)).any()


def test_where_nothing_is_flagged_nothing_is_asked_for():
    network = datasets.figure1(rng=0)
    plan = plan_labels(network, 20_000)
    assert plan.diseases == ()
    assert plan.facts() == {"diseases": [], "flagged": {"0": 0}, "needed": 0, "records": 20_000}
    assert "no labels are needed" in str(plan)
    with pytest.raises(NoisyOrError, match="expected a NoisyOrNetwork, not int"):
        plan_labels(3, 10)
