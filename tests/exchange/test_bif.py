import numpy as np
import pytest

from exchange.models import written
from noisyor import read_model
from noisyor.errors import NoisyOrError

BY_OTHERS = """// a comment
network "Clinic; a small one" { property author = "somebody; else" ; }
variable flu { /* a comment
  of two lines */ type discrete [ 2 ] { yes, no }; property position = (7, 8) ; }
variable "cold" { type discrete[2] { "false" "true" }; }
variable cough { type discrete [ 2 ] { true, false }; }
variable fever { type discrete [ 2 ] { 0, 1 }; }
probability ( flu ) { table 0.1, 0.9; }
probability ( cold ) { table 0.8 0.2 ; }
probability ( cough | flu, cold ) {
  default 0.05 0.95;
  (yes, false) 0.715, 0.285;
  (yes, true) 0.829, 0.171;
  (no, true) 0.43, 0.57;
}
probability ( fever | flu ) {
  table 0.45, 0.9, 0.55, 0.1;
}
"""


def test_other_software_writes_otherwise(tmp_path):
    """Commas or none, quotes, comments, defaults; in a table the child changes slowest."""
    network = read_model(written(tmp_path, BY_OTHERS, "network.bif"))
    assert network.structure.edge_names() == {
        "disease": ["flu", "flu", "cold"],
        "symptom": ["cough", "fever", "cough"],
    }
    np.testing.assert_allclose(network.priors, [0.1, 0.2])
    np.testing.assert_allclose(network.leaks, [0.05, 0.1])
    np.testing.assert_allclose(network.failures, [0.3, 0.5, 0.6])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fever | flu", "fever | flue", "'fever' has the parent 'flue', which is not a node; did"),
        ("fever | flu", "fever | cough", "parent 'cough', which has parents itself"),
        ("( flu ) {", "( flu | flu ) {", "'flu' has the parent 'flu', which has parents itself"),
        ("(yes, true)", "(yes, maybe)", "line 13: the parent 'cold' has no state 'maybe'"),
        ("(yes, true)", "(yes)", "line 13: 1 states for the 2 parents of 'cough'"),
        ("0.829, 0.171", "0.829", "line 13: 1 probabilities for 'cough', which needs 2"),
        ("0.9, 0.55", "0.55", "line 16: 3 probabilities for 'fever', which needs 4"),
        ("0.829, 0.171", "0.9, 0.1", r"line 10: the table of node 'cough' is not a noisy-or: P"),
        ("0.829, 0.171", "0.829, x", "line 13: 'x' is not a number"),
        ("  default 0.05 0.95;\n", "", "line 10: the table of 'cough' lacks rows"),
        ("[ 2 ] { 0, 1 }", "[ 3 ] { 0, 1, 2 }", "line 7: node 'fever' has 3 states"),
        ("[ 2 ] { 0, 1 }", "[ 2 ] { lo, hi }", "line 7: .*'lo' and 'hi'; which of them means"),
        ("[ 2 ] { 0, 1 }", "[ 3 ] { 0, 1 }", "line 7: 3 states are announced, but 2 are named"),
        ("discrete [ 2 ] { 0", "continuous [ 2 ] { 0", "the type 'continuous' is not discrete"),
        ("probability ( cold ) { table 0.8 0.2 ; }", "", "line 5: 'cold' has no table"),
        ("probability ( cold )", "probability ( cod )", "line 9: there is no variable 'cod'"),
        ("probability ( cold )", "probability ( flu )", "line 9: a second table for 'flu'"),
        ("variable fever", "variable flu", "the variable 'flu' appears twice"),
        ("variable fever", "something fever", "line 7: found 'something' where a block"),
        ('"cold"', '"cold', "line .* does not end"),
        ("0.55, 0.1;\n}\n", "0.55", "ends where ';' should stand; the file may be truncated"),
        ("probability ( flu )", "probability flu", r"line 8: found 'flu' where '\(' should stand"),
        ("table 0.1, 0.9", "tables 0.1, 0.9", "line 8: found 'tables' in the table of 'flu'"),
    ],
)  # fmt: skip
def test_files_that_are_wrong(tmp_path, old, new, message):
    assert old in BY_OTHERS
    with pytest.raises(NoisyOrError, match=message) as caught:
        read_model(written(tmp_path, BY_OTHERS.replace(old, new), "network.bif"))
    assert "network.bif" in str(caught.value)


def test_no_bif_at_all(tmp_path):
    for text, message in [("network a { }", "has no variables"), (" ", "has no variables")]:
        with pytest.raises(NoisyOrError, match=message):
            read_model(written(tmp_path, text, "network.bif"))
    (tmp_path / "bytes.bif").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NoisyOrError, match="is not UTF-8 text"):
        read_model(tmp_path / "bytes.bif")


def test_truncated_files_are_errors(tmp_path, rng):
    for end in rng.integers(1, len(BY_OTHERS.rstrip()), 60):
        with pytest.raises(NoisyOrError):
            read_model(written(tmp_path, BY_OTHERS[:end], "network.bif"))
