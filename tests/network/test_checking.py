"""What a network is made of and asked about: what is wrong is named."""

import numpy as np
import pytest

from noisyor import NoisyOrError, NoisyOrNetwork, datasets


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (([1.5, 0.1], [0.5] * 4, [0.1] * 3), r"priors: 1.5 of disease 'flu' \(entry 0\) is not"),
        (([0.1, np.nan], [0.5] * 4, [0.1] * 3), "priors: nan of disease 'cold'"),
        (([0.1], [0.5] * 4, [0.1] * 3), r"priors has the shape \(1,\), but .* needs 2 values"),
        (([0.1, 0.1], [0.5, -0.1, 0, 0], [0.1] * 3), "failures: -0.1 of the edge 'flu' to 'cough'"),
        (([0.1, 0.1], [0.5] * 4, [0.1, 0.1, 2]), "leaks: 2 of symptom 'runny nose'"),
        (([0.1, 0.1], ["high"] * 4, [0.1] * 3), "failures must be numbers"),
    ],
)
def test_what_is_no_probability_is_refused(flu, parameters, message):
    with pytest.raises(NoisyOrError, match=message):
        NoisyOrNetwork(flu, *parameters)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n: n.negative_moment(["a", "a"]), "is named twice"),
        (lambda n: n.negative_moment("ab"), "not just 'ab'"),
        (lambda n: n.joint(3), "give a list of symptoms, not just 3"),
        (lambda n: n.negative_moment(["z"]), "no symptom named 'z'"),
        (lambda n: n.pair_moments([[0, 1, 2]]), "rows of 2 symptom indices"),
        (lambda n: n.pair_moments([[0, 9]]), "outside 0 to 4"),
        (lambda n: n.pair_moments([[0, -1]]), "outside 0 to 4"),
        (
            lambda n: n.triplet_moments([[0, 1, 2], [0, 1, 1]]),
            r"\[0, 1, 1\] names a symptom twice \(row 1\)",
        ),
        (lambda n: n.pair_moments([["a", "b"]]), "rows of whole numbers"),
        (lambda n: n.sample(-1), "records must be a whole number"),
        (lambda n: n.sample(1.5), "records must be a whole number"),
        (lambda n: n.sample(1, rng=-1), "rng must be a whole number from 0"),
        (
            lambda n: n.sample(1, rng="x"),
            "or a numpy Generator, not 'x'",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(NoisyOrError, match=message):
        call(datasets.figure1(0))
