"""The page itself: whole, honest about what is unknown, and safe whatever the names are."""

import base64
import hashlib
import re

import numpy as np
import pytest

from noisyor import (
    Fixed,
    Moments,
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    datasets,
    find_schedule,
    learn_sequential,
    write_report,
)
from noisyor.errors import FileError, ParameterError, StructureError
from noisyor.io.csv_files import CsvFile
from noisyor.learning.estimate import Flag, StandardErrors
from report.pages import HOSTILE, read_page


@pytest.fixture(scope="module")
def clinic():
    return datasets.clinic()


@pytest.fixture(scope="module")
def flagged(clinic):
    """An estimate with many flags: the paper's learner on few records."""
    return (
        NoisyOrLearner(clinic.structure, method="sequential").fit(clinic.sample(500, 0)).estimate_
    )


@pytest.fixture
def page_of(tmp_path):
    def write(*arguments, **options):
        write_report(arguments[0], tmp_path / "page.html", *arguments[1:], **options)
        return read_page(tmp_path / "page.html")

    return write


def hostile_network(rng):
    n = len(HOSTILE)
    edges = [(i, j) for i in range(n) for j in range(n + 1) if i != j]
    structure = Structure(HOSTILE, [*(f"{name}!" for name in HOSTILE), "plain"], edges)
    sizes = structure.n_diseases, structure.n_edges, structure.n_symptoms
    return NoisyOrNetwork(structure, *(rng.random(size) for size in sizes))


def test_the_page_is_whole_and_its_links_lead_somewhere(page_of, flagged, clinic):
    page = page_of(flagged, truth=clinic)
    assert len(page.ids) == len(set(page.ids))
    inside = {link[1:] for link in page.links if link.startswith("#")}
    assert inside <= set(page.ids)
    assert {link for link in page.links if not link.startswith("#")} == {"data:,"}
    assert {"header", "nav", "main", "footer", "h1"} <= set(page.tags)
    assert page.tags.count("script") == 2


def test_the_data_are_those_of_the_estimate(page_of, flagged):
    data = page_of(flagged).data
    assert tuple(data["diseases"]) == flagged.structure.diseases
    owners = np.repeat(np.arange(len(data["diseases"])), data["children"])
    assert np.column_stack([owners, data["edges"]]).tolist() == flagged.structure.edges.tolist()
    for name, part in flagged.parts.items():
        columns = data["parameters"][name]
        assert np.allclose(columns["values"], part.values, rtol=1e-3, atol=0)
        assert columns["depths"] == part.depths.tolist()
        sets = [data["flagSets"][mark] for mark in columns["flags"]]
        for reasons, flags in zip(sets, part.flags.tolist(), strict=True):
            told = "; ".join(data["reasons"][place][1] for place in reasons)
            assert told == Flag(flags).reasons


def test_flags_are_counted_as_in_the_estimate(page_of, flagged):
    page = page_of(flagged)
    n_flagged = sum(int((part.flags != 0).sum()) for part in flagged.parts.values())
    assert n_flagged > 20
    assert f"{n_flagged} are flagged" in page.text
    n_learned = sum(int(part.is_learned.sum()) for part in flagged.parts.values())
    assert f"{n_learned} of 200 parameters were learned" in page.text


def test_standard_errors_and_misfits_are_told(page_of, clinic):
    estimate = (
        NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(3000, 0)).estimate_
    )
    page = page_of(estimate)
    errors = page.data["parameters"]["failure"]["errors"]
    assert np.allclose(errors, estimate.failures.standard_errors, rtol=1e-2)
    assert "No pair of symptoms of 1,770 tested contradicts the network" in page.text
    assert "learned from 3,000 records" in page.text


def test_misfits_are_listed(page_of, clinic, tmp_path):
    """Records of the clinic, learned without one of its edges."""
    structure = clinic.structure
    lost = structure.edge_index("influenza", "fever")
    less = Structure(structure.diseases, structure.symptoms, np.delete(structure.edges, lost, 0))
    estimate = NoisyOrLearner(less, method="pooled").fit(clinic.sample(20_000, 0)).estimate_
    misfits = estimate.misfits()
    assert misfits.n_found
    page = page_of(estimate)
    assert f"of 1,770 tested {'is' if misfits.n_found == 1 else 'are'} not explained" in page.text
    assert "Edges that would explain most of them" in page.text
    misfits.save(tmp_path / "misfits.csv")
    again = page_of(estimate.network, misfits=tmp_path / "misfits.csv")
    first = misfits.table().slice(0, 1).to_pylist()[0]
    assert f"{first['first']} {first['second']}" in again.text
    with pytest.raises(FileError, match="line 2: there is no symptom named"):
        page_of(datasets.figure1(seed=0), misfits=tmp_path / "misfits.csv")


def test_a_plain_network_says_what_is_unknown(page_of):
    page = page_of(datasets.figure1(seed=0))
    assert "standard errors, intervals and flags are unknown here" in page.text
    assert page.data["knows"] == {"errors": False, "flags": False, "truth": False}
    assert page.data["parameters"]["failure"]["errors"] is None
    assert "was not tested here" in page.text


def test_exact_moments_have_no_misfits(page_of):
    network = datasets.figure1(seed=0)
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


def test_the_truth_is_compared(page_of, flagged, clinic):
    page = page_of(flagged, truth=clinic)
    assert "Against the truth" in page.text
    error = np.abs(flagged.failures.values - clinic.failures).mean()
    assert f"{error:.4f}" in page.text
    assert page.tags.count("figure") == 4  # three scatters, and the picture of a disease
    assert "Against the truth" not in page_of(flagged).text


def test_names_do_nothing(page_of, rng):
    network = hostile_network(rng)
    page = page_of(network, truth=network, title=HOSTILE[0])
    assert tuple(page.data["diseases"]) == HOSTILE
    assert page.tags.count("script") == 2
    assert "img" not in page.tags
    assert HOSTILE[0] in page.text


def test_only_the_own_script_may_run(page_of, rng, tmp_path):
    page = page_of(hostile_network(rng))
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    policy = re.search(r'Security-Policy" content="([^"]*)"', text)[1]
    (kind, _), (plain, script) = page.scripts
    assert kind["type"] == "application/json"
    assert not plain
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "innerHTML" not in script


def test_a_network_of_qmrs_size_fits_a_mail(tmp_path):
    network = datasets.qmr_shaped(0)
    errors = StandardErrors(network.priors / 7, network.failures / 7, network.leaks / 7)
    size = write_report(network, tmp_path / "qmr.html", errors=errors, truth=network)
    assert size == (tmp_path / "qmr.html").stat().st_size < 4_000_000
    assert len(read_page(tmp_path / "qmr.html").data["edges"]) == network.structure.n_edges


def test_what_a_schedule_leaves_is_told_with_the_reason(page_of):
    network = datasets.figure2(seed=0)
    assert "No three of the 4 symptoms of 'A' are coupled by it alone" in page_of(network).text
    learner = NoisyOrLearner(network.structure, method="pooled").fit(network.sample(20_000, 0))
    page = page_of(learner.estimate_)
    assert learner.estimate_.explained
    assert "No schedule learns 'A', 'B': fitted together" in page.text


def test_given_values_are_told(page_of, clinic):
    learner = NoisyOrLearner(clinic.structure, method="pooled")
    learner.fit(clinic.sample(1000, 0), fixed=Fixed.of(clinic, "failures"))
    page = page_of(learner.estimate_)
    assert "120 failures: held at the value that was given." in page.text


def test_other_methods(page_of, clinic):
    uniform = NoisyOrLearner(clinic.structure, method="uniform").fit(clinic.sample(100, 0))
    page = page_of(uniform.estimate_)
    assert "by the method uniform" in page.text
    assert "Standard errors are not known." in page.text
    findings, diseases = clinic.sample(1000, 0, return_diseases=True)
    seen = NoisyOrLearner(clinic.structure, method="observed").fit(findings, diseases)
    assert "in which the diseases were seen, by the method observed" in page_of(seen.estimate_).text


@pytest.mark.parametrize("n_edges", [0, 1])
def test_networks_of_nearly_nothing(page_of, n_edges):
    structure = Structure(["a"], ["b", "c"], [[0, 1]][:n_edges] or np.empty((0, 2), dtype=int))
    network = NoisyOrNetwork(structure, [0.1], [0.5] * n_edges, [0.0, 1.0])
    assert page_of(network, truth=network).data["children"] == [n_edges]


def test_nothing_at_all(page_of):
    structure = Structure([], [], np.empty((0, 2), dtype=int))
    page = page_of(NoisyOrNetwork(structure, [], [], []))
    assert page.data["diseases"] == []


def test_what_is_refused(flagged, clinic, tmp_path):
    page = tmp_path / "page.html"
    with pytest.raises(ParameterError, match="an Estimate or a NoisyOrNetwork, not of str"):
        write_report("learned.json", page)
    with pytest.raises(ParameterError, match="has its own standard errors"):
        write_report(flagged, page, errors=flagged.standard_errors)
    with pytest.raises(StructureError, match="another structure"):
        write_report(flagged, page, truth=datasets.figure1(seed=0))
    with pytest.raises(ParameterError, match="the truth must be a NoisyOrNetwork, not Estimate"):
        write_report(flagged, page, truth=flagged)
    with pytest.raises(ParameterError, match="standard errors are"):
        write_report(datasets.figure1(seed=0), page, errors=flagged.standard_errors)
    with pytest.raises(ParameterError, match="misfits belong to another structure"):
        write_report(datasets.figure1(seed=0), page, misfits=flagged.misfits())
    with pytest.raises(FileError, match="must be .html"):
        write_report(clinic, tmp_path / "page.pdf")
    assert not list(tmp_path.iterdir())


def test_a_good_summary_is_read_once(flagged, tmp_path, monkeypatch):
    """To say where a row stands takes reading the file up to it, so only errors may ask."""
    summary = tmp_path / "learned.csv"
    flagged.save_summary(summary)
    monkeypatch.setattr(CsvFile, "place", lambda *_: pytest.fail("a place was asked for"))
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
    with pytest.raises(FileError, match="no whole number"):
        write_report(flagged.network, page, errors=summary)
    assert not page.exists()
