"""The experiment of misfits: when a cause counts as named."""

from types import SimpleNamespace

from noisyor.experiments.misfits import _judged
from noisyor.learning.misfit_causes import EDGE, HIDDEN, Cause


def test_named_is_the_right_kind_with_the_right_names():
    def judged(kind, members, *causes):
        return _judged(SimpleNamespace(causes=causes, fits=not causes), kind, members)

    edge, block = Cause(EDGE, (1, 2), 5.0, 0.5), Cause(HIDDEN, (1, 2, 3, 4), 5.0, 0.5)
    assert judged(EDGE, {1, 2}) == {"noticed": 0.0, "kind": 0.0, "named": 0.0}
    assert judged(EDGE, {1, 2}, edge, block) == {"noticed": 1.0, "kind": 1.0, "named": 1.0}
    assert judged(EDGE, {1, 3}, edge)["named"] == 0.0
    assert judged(HIDDEN, {1, 2, 3, 9}, block)["named"] == 1.0
    assert judged(HIDDEN, {1, 2, 8, 9}, block)["named"] == 0.0
