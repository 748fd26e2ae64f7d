"""Posteriors of many records as tables."""

import json

import numpy as np
import pyarrow as pa
import pytest

from noisyor import Findings, NoisyOrNetwork, Parameters, Structure, datasets, posteriors
from noisyor.errors import FileError
from noisyor.flags import Flag
from noisyor.inference.answers import make_request
from noisyor.inference.posterior_tables import MethodCounts, PosteriorWriter


def table_of(network, findings, top, id_type=None, first=0):
    """Return the table that is written, and how many records were solved in which way."""
    writer, counts = PosteriorWriter(network, id_type, top), MethodCounts()
    batches = list(
        writer.batches(iter(findings.blocks), counts, make_request("auto", 0.1, 0, first))
    )
    return pa.Table.from_batches(batches, writer.schema), counts


def test_a_row_for_each_record():
    clinic = datasets.clinic()
    findings = clinic.sample(150, rng=0)
    expected = posteriors(clinic, findings)
    table, counts = table_of(clinic, findings, None, first=1000)
    assert table.column_names[1:21] == list(clinic.structure.diseases)
    assert table["record"].to_pylist() == list(range(1000, 1150))
    found = np.column_stack([table[name].to_numpy() for name in clinic.structure.diseases])
    assert np.array_equal(found, expected.probabilities)
    assert table["method"].to_pylist() == expected.method_names
    assert np.array_equal(table["log_evidence"].to_numpy(), expected.log_evidences)
    assert counts.counts == {"exact": 150}


def test_a_row_for_each_of_the_most_probable_diseases():
    clinic = datasets.clinic()
    ids = [f"patient {number}" for number in range(40)]
    rows = clinic.sample(40, rng=0).to_numpy()
    findings = Findings.from_numpy(rows, clinic.structure, record_ids=ids)
    expected = posteriors(clinic, findings).probabilities
    table, _ = table_of(clinic, findings, 3, pa.string())
    assert table["record"].to_pylist() == [each for each in ids for _ in range(3)]
    assert table["rank"].to_pylist() == [1, 2, 3] * 40
    best = -np.sort(-expected, axis=1)[:, :3]
    assert np.array_equal(table["probability"].to_numpy(), best.ravel())
    for name, record, p in zip(
        table["disease"].to_pylist(), np.repeat(np.arange(40), 3), best.ravel(), strict=True
    ):
        assert expected[record, clinic.structure.disease_index(name)] == p


def test_diseases_that_rest_on_flagged_parameters_are_marked():
    clinic = datasets.clinic()
    flags = Parameters.full(clinic.structure, 0, np.uint16)
    priors = flags.priors.copy()
    priors[clinic.structure.disease_index("asthma")] = Flag.UNCERTIFIED
    flagged = clinic.with_flags(Parameters(priors, flags.failures, flags.leaks))
    findings = clinic.sample(100, rng=0)
    for top in None, 20:
        table, _ = table_of(flagged, findings, top)
        marked = json.loads(table.schema.metadata[b"flagged_diseases"])
        assert marked == {"asthma": "uncertified"}
        plain, _ = table_of(clinic, findings, top)
        assert plain.schema.metadata is None
        assert "flags" not in plain.column_names
    found = posteriors(flagged, findings)
    for row in table.to_pylist():
        is_marked = found.is_flagged[row["record"], clinic.structure.disease_index(row["disease"])]
        assert is_marked or row["disease"] != "asthma"
        assert row["flags"] == ("uncertified" if is_marked else "")


def test_what_is_marked_in_a_record_travels_with_the_table():
    """It stood in a notice and in the metadata of Parquet, and CSV files had nothing of it."""
    clinic = datasets.clinic()
    flags = Parameters.full(clinic.structure, 0, np.uint16)
    priors, leaks = flags.priors.copy(), flags.leaks.copy()
    priors[clinic.structure.disease_index("asthma")] = Flag.UNCERTIFIED
    leaks[clinic.structure.symptom_index("fever")] = Flag.WEAK
    flagged = clinic.with_flags(Parameters(priors, flags.failures, leaks))
    findings = clinic.sample(200, rng=0)
    found = posteriors(flagged, findings)
    names = clinic.structure.diseases
    wide, _ = table_of(flagged, findings, None)
    marked = [row["flagged"].split("; ") if row["flagged"] else [] for row in wide.to_pylist()]
    for number, listed in enumerate(marked):
        is_shown = found.is_flagged[number] & (found.probabilities[number] >= 0.01)
        assert listed == [names[i] for i in np.flatnonzero(is_shown)]
    assert any(marked)
    long, _ = table_of(flagged, findings, 20)
    for row in long.to_pylist():
        disease = clinic.structure.disease_index(row["disease"])
        assert row["flags"] == Flag(int(found.flags[row["record"], disease])).codes


def test_impossible_records_have_no_answer():
    structure = Structure.from_edges([("flu", "fever")])
    network = NoisyOrNetwork(structure, [0.2], [0.5], [0.0])
    findings = Findings.from_numpy(np.array([[1], [0]]), structure)
    never = NoisyOrNetwork(structure, [0.0], [0.5], [0.0])
    table, counts = table_of(never, findings, 1)
    assert table["disease"].to_pylist() == [None, "flu"]
    assert table["probability"].to_pylist() == [None, 0.0]
    assert (counts.n_records, counts.n_impossible, counts.n_refused) == (2, 1, 0)
    counts.add(table_of(network, findings, 1)[1].counts)
    assert counts.counts == {"impossible": 1, "exact": 3}
    assert str(counts) == "3 exact, 1 impossible"
    assert str(MethodCounts()) == "none"


def test_a_disease_named_like_a_column_needs_rows():
    structure = Structure.from_edges([("method", "fever")])
    network = NoisyOrNetwork(structure, [0.2], [0.5], [0.1])
    with pytest.raises(FileError, match="the disease 'method' is named like a column"):
        PosteriorWriter(network, None, None)
    assert PosteriorWriter(network, None, 1).schema.names[1:4] == ["rank", "disease", "probability"]
