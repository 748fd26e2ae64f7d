"""The page itself: whole, honest about what is unknown, and safe whatever the names are."""

import base64
import hashlib
import re

import numpy as np
import pytest

from noisyor import (
    NoisyOrNetwork,
    Structure,
    datasets,
    write_report,
)
from noisyor.flags import Flag
from noisyor.parameters import Parameters
from report.pages import HOSTILE, read_page


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
    errors = Parameters(network.priors / 7, network.failures / 7, network.leaks / 7)
    size = write_report(network, tmp_path / "qmr.html", errors=errors, truth=network)
    assert size == (tmp_path / "qmr.html").stat().st_size < 4_000_000
    assert len(read_page(tmp_path / "qmr.html").data["edges"]) == network.structure.n_edges


@pytest.mark.parametrize("n_edges", [0, 1])
def test_networks_of_nearly_nothing(page_of, n_edges):
    structure = Structure(["a"], ["b", "c"], [[0, 1]][:n_edges] or np.empty((0, 2), dtype=int))
    network = NoisyOrNetwork(structure, [0.1], [0.5] * n_edges, [0.0, 1.0])
    assert page_of(network, truth=network).data["children"] == [n_edges]


def test_nothing_at_all(page_of):
    structure = Structure([], [], np.empty((0, 2), dtype=int))
    page = page_of(NoisyOrNetwork(structure, [], [], []))
    assert page.data["diseases"] == []
