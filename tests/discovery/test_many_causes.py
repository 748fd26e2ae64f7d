"""Causes whose states are sampled."""

import numpy as np

from discovery.test_suggestions import CLINIC
from noisyor.discovery import match_causes
from noisyor.discovery.dense_em import CauseMatrix
from noisyor.discovery.many_causes import SampledCauses

TRUTH = CauseMatrix.of(CLINIC)


def test_true_causes_stay_and_others_go():
    rng = np.random.default_rng(0)
    more = CauseMatrix(
        np.r_[TRUTH.priors, 0.02], np.r_[TRUTH.failures, rng.uniform(0.85, 1.0, (1, 20))],
        TRUTH.leaks,
    )  # fmt: skip
    sampled = SampledCauses(CLINIC.sample(4000, rng=0), 0, None)
    found, kept, log_likelihood = sampled.simplified(more, np.zeros(6, dtype=bool))
    assert len(found.priors) == len(kept) == 5
    assert match_causes(TRUTH, found).n_found == 5
    fitted, kept, after = sampled.fitted(found, kept)
    assert len(kept) == 5
    assert match_causes(TRUTH, fitted).n_found == 5
    assert abs(after - log_likelihood) < 0.01 * abs(after)
