"""What a page tells: from an estimate, from files, and what is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisyor import (
    Moments,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    datasets,
    evaluate_diagnoses,
    find_schedule,
    flags,
    write_report,
)
from noisyor.errors import FileError, ParameterError, StructureError
from noisyor.flags import SENTENCES_0_1_0, Flag
from noisyor.io.csv_files import CsvFile
from noisyor.learning import learn_sequential
from noisyor.report.content import content_of


def test_standard_errors_and_misfits_are_told(page_of, clinic):
    estimate = (
        NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(3000, 0)).estimate_
    )
    page = page_of(estimate)
    errors = page.data["parameters"]["failure"]["errors"]
    assert np.allclose(errors, estimate.failures.standard_errors, rtol=1e-2)
    assert estimate.misfits().sentences[0] in page.text
    assert "learned from 3,000 records" in page.text


def test_misfits_of_another_fit_do_not_hide_the_verdict(page_of, clinic, tmp_path):
    """The verdict of the model file stays, and that the table is another fit's is told."""
    findings = clinic.sample(20_000, rng=0)
    wrong = Structure(
        clinic.structure.diseases, clinic.structure.symptoms, clinic.structure.edges[6:]
    )
    NoisyOrLearner(wrong, method="pooled").fit(findings).estimate_.misfits().save(
        tmp_path / "misfits.csv"
    )
    estimate = NoisyOrLearner(clinic.structure, method="pooled").fit(findings).estimate_
    with pytest.warns(NoisyOrWarning, match=r"those of another fit\. The verdict is the model's"):
        page = page_of(estimate, misfits=tmp_path / "misfits.csv")
    assert estimate.verdict.sentences[0] in page.text


def test_misfits_are_listed(page_of, clinic, tmp_path):
    """Records of the clinic, learned without one of its edges."""
    structure = clinic.structure
    lost = structure.edge_index("influenza", "fever")
    less = Structure(structure.diseases, structure.symptoms, np.delete(structure.edges, lost, 0))
    estimate = NoisyOrLearner(less, method="pooled").fit(clinic.sample(20_000, 0)).estimate_
    misfits = estimate.misfits()
    assert misfits.n_found
    page = page_of(estimate)
    assert all(sentence in page.text for sentence in misfits.sentences)
    assert "An edge from influenza to fever may be missing" in page.text
    assert "What would explain the deviation" in page.text
    misfits.save(tmp_path / "misfits.csv")
    again = page_of(estimate.network, misfits=tmp_path / "misfits.csv")
    first = misfits.table().slice(0, 1).to_pylist()[0]
    assert f"{first['first']} {first['second']}" in again.text
    with pytest.raises(FileError, match="line 2: there is no symptom named"):
        page_of(datasets.figure1(rng=0), misfits=tmp_path / "misfits.csv")


def test_exact_moments_have_no_misfits(page_of):
    network = datasets.figure1(rng=0)
    schedule = find_schedule(network.structure)
    page = page_of(learn_sequential(Moments.exact(network, schedule.plan()), schedule))
    assert "was not tested here" in page.text


def test_a_summary_brings_errors_depths_and_flags(page_of, flagged, tmp_path):
    flagged.save_summary(tmp_path / "learned.csv")
    from_files = page_of(flagged.network, errors=tmp_path / "learned.csv").data
    direct = page_of(flagged).data
    for name in flagged.parts:
        mine, theirs = from_files["parameters"][name], direct["parameters"][name]
        assert mine["depths"] == theirs["depths"]
        assert mine["errors"] == theirs["errors"]

        def told(data, columns):
            sets = [data["flagSets"][mark] for mark in columns["flags"]]
            return [[data["reasons"][place] for place in each] for each in sets]

        assert told(from_files, mine) == told(direct, theirs)


def test_what_is_refused(flagged, clinic, tmp_path):
    page = tmp_path / "page.html"
    with pytest.raises(ParameterError, match="NoisyOrNetwork to report on, not str"):
        write_report("learned.json", page)
    with pytest.raises(ParameterError, match="has its own standard errors"):
        write_report(flagged, page, errors=flagged.standard_errors)
    with pytest.raises(StructureError, match="another structure"):
        write_report(flagged, page, truth=datasets.figure1(rng=0))
    with pytest.raises(ParameterError, match="the truth must be a NoisyOrNetwork, not Estimate"):
        write_report(flagged, page, truth=flagged)
    with pytest.raises(ParameterError, match="standard errors are"):
        write_report(datasets.figure1(rng=0), page, errors=flagged.standard_errors)
    with pytest.raises(ParameterError, match="misfits belong to another structure"):
        write_report(datasets.figure1(rng=0), page, misfits=flagged.misfits())
    with pytest.raises(FileError, match="must be .html"):
        write_report(clinic, tmp_path / "page.pdf")
    assert not list(tmp_path.iterdir())


def test_a_good_summary_is_read_once(flagged, tmp_path, monkeypatch):
    """To say where a row stands takes reading the file up to it, so only errors may ask."""
    summary = tmp_path / "learned.csv"
    flagged.save_summary(summary)
    monkeypatch.setattr(CsvFile, "location", lambda *_: pytest.fail("a location was asked for"))
    write_report(flagged.network, tmp_path / "page.html", errors=summary)


def test_a_summary_of_another_network_is_refused(flagged, clinic, tmp_path):
    page, summary = tmp_path / "page.html", tmp_path / "learned.csv"
    flagged.save_summary(summary)
    with pytest.raises(FileError, match="written with this network"):
        write_report(clinic, page, errors=summary)
    lines = summary.read_text().splitlines()
    summary.write_text("\n".join(lines[:-3]))
    with pytest.raises(FileError, match="lacks 3 of the network's 200 parameters"):
        write_report(flagged.network, page, errors=summary)
    header = lines[0].split(",")
    cells = lines[1].split(",")
    cells[header.index('"depth"') if '"depth"' in header else header.index("depth")] = "0.5"
    summary.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]))
    with pytest.raises(FileError, match="not a whole number"):
        write_report(flagged.network, page, errors=summary)
    assert not page.exists()


def test_other_words_for_a_flag_change_nothing(flagged, tmp_path, monkeypatch):
    other_words = {flag: f"mot {flag.value}" for flag in flags.REASONS}
    monkeypatch.setattr(flags, "REASONS", other_words)
    flagged.save_summary(tmp_path / "learned.csv")
    assert "not learned" not in (tmp_path / "learned.csv").read_text()
    content = content_of(flagged.network, errors=tmp_path / "learned.csv")
    for name, part in content.parts.items():
        assert np.array_equal(part.flags, flagged.parts[name].flags)
        assert np.array_equal(part.is_learned, flagged.parts[name].is_learned)
        assert not part.unknown_flags


def test_a_network_knows_its_flags_without_a_summary(flagged, page_of):
    content = content_of(flagged.network)
    assert content.knows_flags
    assert content.n_flagged == content_of(flagged).n_flagged > 0
    assert content.n_learned == content_of(flagged).n_learned
    page = page_of(flagged.network)
    known = {"errors": False, "flags": True, "truth": False, "independent": True}
    assert page.data["knows"] == known
    assert "are flagged, for the reasons below. Standard errors are not known." in page.text


def summary_of_0_1_0(estimate, path, sentence=None):
    """Write a summary as version 0.1.0 did; a sentence replaces that of the first row."""
    table = estimate.summary().to_arrow()
    sentences = [
        "; ".join(text for text, flag in SENTENCES_0_1_0.items() if flag in Flag.from_codes(codes))
        for codes in table["flag_codes"].to_pylist()
    ]
    table = table.drop_columns("flag_codes")
    sentences[0] = sentences[0] if sentence is None else sentence
    column = table.column_names.index("flags")
    pq.write_table(table.set_column(column, "flags", pa.array(sentences)), path)


def test_a_summary_of_version_0_1_0_is_read_by_its_sentences(flagged, tmp_path):
    summary_of_0_1_0(flagged, tmp_path / "old.parquet")
    content = content_of(flagged.network, errors=tmp_path / "old.parquet")
    for name, part in content.parts.items():
        assert np.array_equal(part.flags, flagged.parts[name].flags)


def test_an_unknown_sentence_is_shown_as_it_is(flagged, page_of, tmp_path):
    sentence = "not learned: the <sky> fell"
    summary_of_0_1_0(flagged, tmp_path / "old.parquet", sentence)
    plain = NoisyOrNetwork(flagged.structure, *flagged.values)
    content = content_of(plain, errors=tmp_path / "old.parquet")
    prior = content.parts["prior"]
    assert prior.flags[0] == Flag(0)
    assert prior.is_flagged[0]
    assert prior.is_learned[0]
    page = page_of(plain, errors=tmp_path / "old.parquet")
    assert f"1 prior: {sentence}." in page.text
    shown = page.data["flagSets"][page.data["parameters"]["prior"]["flags"][0]]
    assert [page.data["reasons"][index] for index in shown] == [["other", sentence]]


def test_an_evaluation_of_another_network_is_refused(tmp_path, clinic):
    findings, diseases = clinic.sample(50, rng=0, return_diseases=True)
    found = evaluate_diagnoses(clinic, findings, diseases)
    found.save(tmp_path / "evaluation.json")
    assert content_of(clinic, evaluation=tmp_path / "evaluation.json").evaluation == found
    with pytest.raises(ParameterError, match="of other diseases than the network's: 'A', 'B'"):
        content_of(datasets.figure1(rng=0), evaluation=found)
    with pytest.raises(ParameterError, match="must be a DiagnosisEvaluation or its file, not int"):
        content_of(clinic, evaluation=7)
