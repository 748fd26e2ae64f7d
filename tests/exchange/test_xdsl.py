import numpy as np
import pytest

import naive
from exchange.models import written
from noisyor import NoisyOrNetwork, Structure, read_model, write_model
from noisyor.errors import NoisyOrError, NoisyOrWarning

BY_GENIE = """<?xml version="1.0" encoding="ISO-8859-1"?>
<smile version="1.0" id="Network1" numsamples="10000">
  <nodes>
    <cpt id="Flu"><state id="True"/><state id="False"/><probabilities>0.1 0.9</probabilities></cpt>
    <cpt id="Cold"><state id="no"/><state id="yes"/><probabilities>0.8 0.2</probabilities></cpt>
    <noisymax id="Cough">
      <state id="Present"/><state id="Absent"/>
      <parents>Flu Cold</parents>
      <strengths>0 1 1 0</strengths>
      <parameters>0.7 0.3 0 1 {cold} 0.05 0.95</parameters>
    </noisymax>
    <cpt id="Fever">
      <state id="True"/><state id="False"/>
      <parents>Flu</parents>
      <probabilities>0.55 0.45 0.1 0.9</probabilities>
    </cpt>
  </nodes>
  <extensions><genie version="1.0" app="GeNIe" name="Network1">
    <submodel id="Sub"><node id="Flu"><name>Influenza &amp; co</name></node></submodel>
    <node id="Cough"><name>Cough</name></node>
  </genie></extensions>
</smile>
"""


@pytest.mark.parametrize("cold", ["0.4 0.6 0 1", "0 1 0.4 0.6"])
def test_other_states_and_orders_are_read(tmp_path, cold):
    """The columns of 'Cold' by strength, and by state: the same is meant."""
    network = read_model(written(tmp_path, BY_GENIE.format(cold=cold), "network.xdsl", "latin-1"))
    assert network.structure.diseases == ("Influenza & co", "Cold")
    assert network.structure.symptoms == ("Cough", "Fever")
    np.testing.assert_allclose(network.priors, [0.1, 0.2])
    np.testing.assert_allclose(network.leaks, [0.05, 0.1])
    np.testing.assert_allclose(network.failures, [0.3, 0.5, 0.6])


def test_names_of_states_that_tell_nothing_are_told_by_strengths(tmp_path):
    text = BY_GENIE.format(cold="0.4 0.6 0 1").replace('"no"', '"s1"').replace('"yes"', '"s2"')
    text = text.replace('"Present"', '"high"').replace('"Absent"', '"low"')
    assert read_model(written(tmp_path, text, "network.xdsl", "latin-1")).priors[1] == 0.2


def test_columns_are_probabilities_of_one_disease_alone(tmp_path):
    """Net parameters: the written columns multiply to the table of the obvious way."""
    structure = Structure(["flu", "cold"], ["cough"], [[0, 0], [1, 0]])
    path = tmp_path / "n.xdsl"
    write_model(NoisyOrNetwork(structure, [0.1, 0.2], [0.3, 0.6], [0.05]), path)
    text = path.read_text(encoding="utf-8")
    numbers = text.partition("<parameters>")[2].partition("</parameters>")[0].split()
    (_, flu), (_, no_flu), (_, cold), (_, no_cold), (leak, no_leak) = np.reshape(
        np.array(numbers, dtype=float), (-1, 2)
    )
    assert (no_flu, no_cold, leak) == (1.0, 1.0, 0.05)
    for (has_flu, has_cold), absent, _ in naive.noisy_or_rows([0.3, 0.6], 0.05):
        columns = (flu if has_flu else no_flu) * (cold if has_cold else no_cold) * no_leak
        assert columns == pytest.approx(absent)


def test_identifiers_are_plain_and_names_are_kept(tmp_path):
    structure = Structure(["flu <A>"], ["runny nose"], [[0, 0]])
    write_model(NoisyOrNetwork(structure, [0.1], [0.3], [0.05]), tmp_path / "n.xdsl")
    text = (tmp_path / "n.xdsl").read_text(encoding="utf-8")
    assert '<cpt id="flu__A_">' in text
    assert "<name>flu &lt;A&gt;</name>" in text


def test_names_that_do_not_differ_give_way_to_identifiers(tmp_path):
    text = BY_GENIE.format(cold="0.4 0.6 0 1").replace("Influenza &amp; co", "Cold")
    with pytest.warns(NoisyOrWarning, match="'Cold' is the name of 2 nodes"):
        assert read_model(
            written(tmp_path, text, "network.xdsl", "latin-1")
        ).structure.diseases == ("Flu", "Cold")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</smile>", "", "line 23, column 1: not valid XML .*truncated"),
        ("<smile", "<!DOCTYPE a [<!ENTITY b 'c'>]><smile", "line 2: the file has a document type"),
        ("0.05 0.95<", "0.05<", "line 6: node 'Cough' has 9 numbers in <parameters>; .* needs 10"),
        ("0.1 0.9</pr", "0.1 0.8</pr", "line 4: the prob.* 'Influenza & co' add up to 0.9"),
        ("0.7 0.3", "0.7 0.4", "line 6: node 'Cough' has the parameters 0.7 and 0.4"),
        ("0.7 0.3", "0.7 x", "line 6: node 'Cough' has <parameters> that are not all numbers"),
        ("0.7 0.3 0 1", "0.7 0.3 0.1 0.9", "'Cough' has no column '0 1' for the parent 'Flu'"),
        ("Flu Cold<", "Flue Cold<", "line 6: node 'Cough' has the parent 'Flue', .*mean 'Flu'"),
        ("Flu Cold<", "Flu Flu<", "names a parent twice"),
        ("<parents>Flu<", "<parents>Cough<", "'Fever' has the parent 'Cough', which has parents"),
        ("<parents>Flu<", "<parents>Fever<", "'Fever' has the parent 'Fever', which has parents"),
        ('<state id="Absent"/>', '<state id="Absent"/><state id="x"/>', "'Cough' has 3 states"),
        ('<cpt id="Cold">', '<equation id="Cold">', "mismatched tag"),
        ("cpt", "decision", "line 4: node 'Flu' is a <decision>; expected <cpt>"),
        ('id="Cold"', 'id="Flu"', "the id 'Flu' appears twice"),
        ('id="Cold"', 'name="Cold"', "line 5: a <cpt> has no id"),
        ("0 1 1 0<", "0 1 1 1<", "strengths that are not an order of two states"),
        ("0 1 1 0<", "0 1 0 1<", "caused by the absence of its parent 'Cold'"),
        ('"Present"/><state id="Absent"', '"no"/><state id="yes"', "'yes' as its last state"),
        ("smile", "other", "is XML, but not XDSL"),
        ("ISO-8859-1", "no-such", "cannot be read: unknown encoding: no-such"),
    ],
)  # fmt: skip
def test_files_that_are_wrong(tmp_path, old, new, message):
    text = BY_GENIE.format(cold="0.4 0.6 0 1")
    assert old in text
    with pytest.raises(NoisyOrError, match=message) as caught:
        read_model(written(tmp_path, text.replace(old, new), "network.xdsl", "latin-1"))
    assert "network.xdsl" in str(caught.value)


def test_a_table_that_is_no_noisy_or(tmp_path):
    text = BY_GENIE.format(cold="0.4 0.6 0 1").replace("0.55 0.45 0.1 0.9", "0.1 0.9 0.2 0.8")
    with pytest.raises(NoisyOrError, match="line 12: the table of node 'Fever' is not a noisy-or"):
        read_model(written(tmp_path, text, "network.xdsl", "latin-1"))


def test_the_last_parent_of_a_table_changes_fastest(tmp_path):
    """As in GeNIe's own networks; pyAgrum has another order, and its tables are refused."""
    states = '<state id="Absent"/><state id="Present"/>'
    text = f"""<smile><nodes>
      <cpt id="flu">{states}<probabilities>0.9 0.1</probabilities></cpt>
      <cpt id="cold">{states}<probabilities>0.8 0.2</probabilities></cpt>
      <cpt id="cough">{states}<parents>flu cold</parents>
        <probabilities>0.95 0.05 0.57 0.43 0.285 0.715 0.171 0.829</probabilities></cpt>
    </nodes><extensions><genie app="GeNIe"/></extensions></smile>"""
    network = read_model(written(tmp_path, text, "network.xdsl", "latin-1"))
    assert network.structure.diseases == ("flu", "cold")
    np.testing.assert_allclose(network.failures, [0.3, 0.6])
    with pytest.raises(NoisyOrError, match="written by pyAgrum, .*'cough'.* save the network as"):
        read_model(
            written(
                tmp_path,
                text.replace('app="GeNIe"', 'app="aGrUM 3.3.1"'),
                "network.xdsl",
                "latin-1",
            )
        )


def test_characters_that_xml_cannot_write(tmp_path):
    network = NoisyOrNetwork(Structure(["a\x00"], [], []), [0.1], [], [])
    with pytest.raises(NoisyOrError, match=r"holds the character '\\x00'"):
        write_model(network, tmp_path / "n.xdsl")
    assert list(tmp_path.iterdir()) == []


def test_truncated_files_are_errors(tmp_path, rng):
    whole = BY_GENIE.format(cold="0.4 0.6 0 1")
    for end in rng.integers(1, len(whole.rstrip()), 60):
        with pytest.raises(NoisyOrError):
            read_model(written(tmp_path, whole[:end], "network.xdsl", "latin-1"))
