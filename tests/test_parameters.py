"""Fixed values: from tables, from networks, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest

from noisyor import Fixed, NoisyOrLearner, NoisyOrNetwork, Parameters, Structure, datasets
from noisyor.errors import FileError, ParameterError, UnknownNameError
from noisyor.flags import Flag
from noisyor.io.tables import write_table
from noisyor.parameters import read_parameter_flags, read_standard_errors


def test_a_table_of_fixed_values(tmp_path):
    network = datasets.figure1(0)
    table = tmp_path / "known.csv"
    table.write_text(
        "parameter,disease,symptom,value\nprior,A,,0.2\nleak,,c,0.01\nfailure,B,d,0.4\n"
    )
    fixed = Fixed.load(table, network.structure)
    assert repr(fixed) == ("Beliefs(1 of 2 priors, 1 of 7 failures, 1 of 5 leaks; 3 of them fixed)")
    assert fixed.values.failures[network.structure.edge_index("B", "d")] == 0.4
    estimate = NoisyOrLearner(network.structure).fit(network.sample(300, rng=0)).estimate_
    estimate.save_summary(tmp_path / "all.parquet")
    everything = Fixed.load(tmp_path / "all.parquet", network.structure)
    assert everything == Fixed.of(estimate.network, "priors", "failures", "leaks")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("prior,C,,0.2", "line 2: there is no disease named 'C'"),
        ("failure,A,e,0.2", "line 2: "),
        ("leak,,a,1.2", "line 2: leaks must lie between 0 and 1; that of 'a' is given as 1.2"),
        ("leak,,a,", "line 2: leaks must lie between 0 and 1"),
        ("leak,,a,nan", "line 2: leaks must lie between 0 and 1; that of 'a' is given as None"),
        ("leak,,a,inf", "line 2: leaks must lie between 0 and 1; that of 'a' is given as inf"),
        ("chance,A,,0.2", "column 'parameter': 'chance' is not prior, failure or leak"),
        ("prior,A,,0.2\nprior,A,,0.3", "line 3: the same parameter was given before .*line 2"),
        ("prior,A,a,0.2", "line 2: a prior has nothing to do with 'a'"),
        ("", "has no row"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, row, says):
    table = tmp_path / "known.csv"
    table.write_text(f"parameter,disease,symptom,value\n{row}\n")
    with pytest.raises(FileError, match=says):
        Fixed.load(table, datasets.figure1(0).structure)


def test_what_cannot_be_held_is_refused():
    network = datasets.figure1(0)
    learner, records = NoisyOrLearner(network.structure), network.sample(100, rng=0)
    with pytest.raises(ParameterError, match="known are priors, failures, leaks"):
        learner.fit(records, fixed={"prior": {"A": 0.1}})
    with pytest.raises(ParameterError, match="not int"):
        learner.fit(records, fixed=7)
    with pytest.raises(ParameterError, match="another structure"):
        learner.fit(records, fixed=Fixed(datasets.figure2(0).structure))
    with pytest.raises(UnknownNameError, match="no symptom named 'z'"):
        learner.fit(records, fixed={"leaks": {"z": 0.1}})
    with pytest.raises(ParameterError, match="is \\(disease, symptom\\), not 'A'"):
        Fixed(network.structure, failures={"A": 0.1})
    with pytest.raises(ParameterError, match="expected 2 priors"):
        Fixed(network.structure, priors=[0.1])
    with pytest.raises(ParameterError, match="must be numbers"):
        Fixed(network.structure, priors=["x", "y"])
    with pytest.raises(ParameterError, match="no kind 'prior'"):
        Fixed.of(network, "prior")
    with pytest.raises(ParameterError, match="say what to fix"):
        Fixed.of(network)
    with pytest.raises(ParameterError, match="expected a NoisyOrNetwork"):
        Fixed.of(network.structure, "priors")
    with pytest.raises(ParameterError, match="expected a Structure"):
        Fixed(network)


def test_neutral_values_of_a_summary_are_not_held(tmp_path):
    structure = Structure.from_matrix(np.ones((2, 3)))
    network = NoisyOrNetwork(structure, [0.3, 0.4], np.full(6, 0.5), np.full(3, 0.01))
    learner = NoisyOrLearner(network.structure, method="pooled").fit(network.sample(300, rng=0))
    learner.estimate_.save_summary(tmp_path / "summary.csv")
    with pytest.raises(FileError, match="line 2: the value was not learned"):
        Fixed.load(tmp_path / "summary.csv", network.structure)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["prior,A,,0.1", "prior,B,,0.1", "prior,A,,0.1"], "line 4: the same .* before .*line 2"),
        (["leak,,a,-0.1"], "line 2, column 'standard_error': -0.1 is not a number from 0"),
        (["leak,,a,inf"], "line 2, column 'standard_error': inf is not a number from 0"),
    ],
)
def test_a_wrong_row_of_a_summary_is_named(tmp_path, rows, says):
    path, structure = tmp_path / "summary.csv", datasets.figure1(0).structure
    path.write_text("\n".join(["parameter,disease,symptom,standard_error", *rows, ""]))
    with pytest.raises(FileError, match=says):
        read_standard_errors(path, structure)


def test_numbers_that_are_none_are_refused_in_any_kind_of_file(tmp_path):
    path, structure = tmp_path / "summary.parquet", datasets.figure1(0).structure
    names = {"parameter": ["leak"], "disease": [None], "symptom": ["a"]}
    for number in float("nan"), float("inf"):
        write_table(path, pa.table({**names, "standard_error": [number], "value": [number]}))
        with pytest.raises(FileError, match=f"row 1, column 'standard_error': {number} is not"):
            read_standard_errors(path, structure)
        with pytest.raises(FileError, match="row 1: leaks must lie between 0 and 1"):
            Fixed.load(path, structure)


def test_flags_of_a_summary(tmp_path):
    path, structure = tmp_path / "summary.csv", datasets.figure1(0).structure
    header = "parameter,disease,symptom,flags"
    path.write_text(f"{header},flag_codes\nprior,B,,whatever,weak fixed\nleak,,a,,\n")
    flags = read_parameter_flags(path, structure)
    assert flags.priors.tolist() == [0, Flag.WEAK | Flag.FIXED]
    assert not flags.failures.any()
    assert not flags.leaks.any()
    path.write_text(f"{header}\nprior,B,,whatever\n")
    with pytest.raises(FileError, match="line 2, column 'flags': 'whatever' is not a flag"):
        read_parameter_flags(path, structure)


def test_neutral_values_of_a_network_are_not_held():
    network = datasets.figure1(0)
    learner = NoisyOrLearner(network.structure, method="uniform").fit(network.sample(50, rng=0))
    with pytest.raises(ParameterError, match="7 failures of the network were not learned"):
        Fixed.of(learner.network_, "failures")


def test_parameters_are_values():
    priors = np.array([0.1, 0.2])
    one = Parameters(priors, [0.5], [0.0])
    priors[0] = 0.9
    assert one.priors[0] == 0.1
    assert one == Parameters([0.1, 0.2], [0.5], [0])
    assert hash(one) == hash(Parameters([0.1, 0.2], [0.5], [0]))
    assert one != Parameters([0.1, 0.3], [0.5], [0.0])
    with pytest.raises(ValueError, match="read-only"):
        one.priors[0] = 0.5


def test_parts_of_a_vector_are_priors_failures_and_leaks():
    structure = datasets.figure1(0).structure
    parts = Parameters.split(structure, np.arange(14))
    assert [len(part) for part in parts] == [2, 7, 5]
    assert (parts.vector == np.arange(14)).all()
    is_marked = Parameters.of_diseases(structure, np.array([True, False]))
    owners, symptoms = structure.edges.T
    assert (is_marked.failures == (owners == 0)).all()
    assert set(np.flatnonzero(is_marked.leaks)) == set(symptoms[owners == 0])
