import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from noisyor import Findings, NoisyOrError, NoisyOrWarning, Structure
from noisyor.network import Covariate, Effects
from noisyor.network.design import MOST_CELLS, Design, design_rows, make_design

STRUCTURE = Structure.from_edges([("flu", "fever")])


def findings_of(ids):
    return Findings.from_numpy(np.zeros((len(ids), 1)), STRUCTURE, record_ids=ids)


def test_numbers_and_categories_joined_by_ids():
    table = pa.table(
        {
            "record": ["b", "a", "c"],
            "age": [30.0, 50.0, 70.0],
            "sex": ["m", "f", "m"],
            "x": [1, 2, 3],
        }
    )
    design = make_design(table, findings_of(["a", "b", "c"]), ["age", "sex"])
    assert [each.name for each in design.covariates] == ["age", "sex"]
    assert design.names == ["age", "sex=f", "sex=m"]
    scale = np.std([30.0, 50.0, 70.0])
    assert design.rows.tolist() == [
        [0.0, 1.0, 0.0],
        pytest.approx([-20 / scale, 0.0, 1.0]),
        pytest.approx([20 / scale, 0.0, 1.0]),
    ]
    everything = make_design(table, findings_of(["a", "b", "c"]))
    assert everything.names == ["age", "sex=f", "sex=m", "x"]


def test_numbers_that_are_categories():
    table = pa.table({"site": [1, 2, 2]})
    findings = Findings.from_numpy(np.zeros((3, 1)), STRUCTURE)
    assert make_design(table, findings, ["site"]).names == ["site"]
    design = make_design(table, findings, ["site:category"])
    assert design.covariates == (Covariate("site", ("1", "2")),)
    assert design.rows.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]


def test_what_is_unknown_is_refused_or_kept():
    frame = pd.DataFrame({"age": [30.0, np.nan, 70.0], "sex": ["m", None, "f"]})
    findings = Findings.from_numpy(np.zeros((3, 1)), STRUCTURE)
    with pytest.raises(NoisyOrError, match=r"1 of 3 records have an unknown covariate.*row 2"):
        make_design(frame, findings)
    with pytest.warns(NoisyOrWarning, match="taken for people like the others"):
        design = make_design(frame, findings, unknown="keep")
    assert np.isnan(design.rows[1]).all()
    cells, shares = design.population()
    assert len(cells) == 2
    assert shares.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("columns", "names", "message"),
    [
        ({"age": [3, 3, 3]}, None, "'age' is 3.0 in all records, which says nothing"),
        ({"age": [None, None, None]}, None, "unknown in all records"),
        ({"age": ["3", "4", "old"]}, None, "A covariate is a number in all records"),
        ({"age": [1, 2, 3]}, ["sex"], "no column 'sex'"),
        ({"age": [1, 2, 3]}, ["age", "age:category"], "named twice"),
        ({"age": [1, 2, 3]}, "age", "a list of covariates, not the single text"),
        ({"age": [1, 2]}, None, "has 2 rows for 3 records"),
        ({"age": [1.0, None, None], "b": [None, 1.0, 2.0]}, None, "says nothing|no record has all"),
    ],
)
def test_what_is_wrong_is_named(columns, names, message):
    findings = Findings.from_numpy(np.zeros((3, 1)), STRUCTURE)
    with pytest.raises(NoisyOrError, match=message):
        make_design(pa.table(columns), findings, names)


def test_too_many_levels():
    findings = Findings.from_numpy(np.zeros((200, 1)), STRUCTURE)
    table = pa.table({"name": [f"person {x}" for x in range(200)]})
    with pytest.raises(NoisyOrError, match="200 different texts"):
        make_design(table, findings)


def test_many_numbers_are_rounded_to_some(rng):
    findings = Findings.from_numpy(np.zeros((5000, 1)), STRUCTURE)
    ages = rng.normal(50, 20, 5000)
    design = make_design(pd.DataFrame({"age": ages}), findings)
    assert len(np.unique(design.rows)) <= 64
    exact = (ages - ages.mean()) / ages.std()
    assert np.abs(design.rows[:, 0] - exact).mean() < 0.03
    assert np.corrcoef(design.rows[:, 0], exact)[0, 1] > 0.995


def test_the_population_is_thinned(rng):
    rows = rng.normal(size=(3000, 2))
    cells, shares = Design((Covariate("a"), Covariate("b")), rows).population()
    assert len(cells) == MOST_CELLS
    assert shares.sum() == pytest.approx(1.0)
    assert cells.mean(axis=0) == pytest.approx(rows.mean(axis=0), abs=0.2)


def test_rows_of_records_to_diagnose():
    covariates = [Covariate("age", (), 50.0, 20.0), Covariate("sex", ("f", "m"))]
    effects = Effects(covariates, np.zeros((1, 3)), np.zeros((1, 3)), [1.0])
    findings = Findings.from_numpy(np.zeros((2, 1)), STRUCTURE)
    rows = design_rows(pd.DataFrame({"age": [70, None], "sex": ["m", "f"]}), findings, effects)
    assert rows[0].tolist() == [1.0, 0.0, 1.0]
    assert np.isnan(rows[1, 0])
    with pytest.raises(NoisyOrError, match=r"row 2: the covariate 'sex' is 'x'"):
        design_rows(pd.DataFrame({"age": [70, 3], "sex": ["m", "x"]}), findings, effects)
    with pytest.raises(NoisyOrError, match="no column 'sex'"):
        design_rows(pd.DataFrame({"age": [70, 3]}), findings, effects)


def test_covariates_that_follow_from_others_are_told():
    rng = np.random.default_rng(0)
    ids = list(range(60))
    age = rng.integers(20, 80, 60).astype(float)
    site = rng.choice(["a", "b", "c"], 60)
    table = pd.DataFrame({"record": ids, "age": age, "site": site, "weight": rng.normal(size=60)})
    make_design(table, findings_of(ids))  # warnings are errors
    with pytest.warns(NoisyOrWarning, match="'age', 'born' follow from the others"):
        make_design(table.assign(born=2026.0 - age), findings_of(ids))
    region = np.where(site == "a", "north", "south")
    with pytest.warns(NoisyOrWarning, match="'region' follow from the others"):
        make_design(table.assign(region=region), findings_of(ids))
