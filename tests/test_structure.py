import networkx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from noisyor import NoisyOrError, Structure

EDGES = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 8)), max_size=40)


def structure_of(edges):
    names = [f"d{i}" for i in range(7)], [f"s{j}" for j in range(9)]
    return Structure(*names, np.array(sorted(edges)).reshape(-1, 2))


@given(EDGES)
def test_children_parents_and_edge_numbers_agree_with_the_set_of_edges(edges):
    structure = structure_of(edges)
    assert [tuple(edge) for edge in structure.edges] == sorted(edges)
    for i in range(7):
        assert structure.children(i).tolist() == sorted(s for d, s in edges if d == i)
    for j in range(9):
        assert structure.parents(j).tolist() == sorted(d for d, s in edges if s == j)
        entries = slice(structure.parent_offsets[j], structure.parent_offsets[j + 1])
        for disease, edge in zip(
            structure.parent_diseases[entries], structure.parent_edges[entries], strict=True
        ):
            assert tuple(structure.edges[edge]) == (disease, j)
            assert structure.edge_index(disease, j) == edge


@given(EDGES, st.randoms())
def test_equal_whatever_the_order_of_edges_and_the_way_it_was_built(edges, random):
    structure = structure_of(edges)
    shuffled = list(edges)
    random.shuffle(shuffled)
    names = {"diseases": structure.diseases, "symptoms": structure.symptoms}
    matrix = np.zeros((7, 9), dtype=int)
    for edge in edges:
        matrix[edge] = 1
    graph = networkx.DiGraph()
    graph.add_nodes_from(structure.diseases, kind="disease")
    graph.add_nodes_from(structure.symptoms)
    graph.add_edges_from((f"d{i}", f"s{j}") for i, j in shuffled)
    for other in (
        Structure.from_edges([(f"d{i}", f"s{j}") for i, j in shuffled], **names),
        Structure.from_edges(shuffled, **names),
        Structure.from_matrix(matrix, **names),
        Structure.from_matrix(scipy.sparse.csr_matrix(matrix), **names),
        Structure.from_matrix(scipy.sparse.coo_array(matrix), **names),
        Structure.from_networkx(graph),
    ):
        assert other == structure
        assert hash(other) == hash(structure)
        assert other.fingerprint == structure.fingerprint


@given(EDGES.filter(bool), st.data())
def test_another_edge_or_name_makes_another_structure(edges, data):
    structure = structure_of(edges)
    fewer = structure_of(edges - {data.draw(st.sampled_from(sorted(edges)))})
    renamed = Structure([*structure.diseases[:-1], "other"], structure.symptoms, structure.edges)
    for other in fewer, renamed:
        assert other != structure
        assert other.fingerprint != structure.fingerprint
    assert structure != "a structure"


def test_the_fingerprint_stays_the_same_in_later_versions(flu):
    assert flu.fingerprint == "1bba047a8843a8178776b30337d3c9a1"


@given(EDGES, st.permutations(range(7)), st.permutations(range(9)), st.integers(0, 7))
def test_subset_keeps_the_edges_between_what_is_kept(edges, diseases, symptoms, n):
    structure = structure_of(edges)
    diseases, symptoms = diseases[:n], symptoms[:n]
    subset = structure.subset(diseases=diseases, symptoms=[f"s{j}" for j in symptoms])
    assert subset.diseases == tuple(f"d{i}" for i in diseases)
    assert subset.symptoms == tuple(f"s{j}" for j in symptoms)
    kept = {(subset.diseases[i], subset.symptoms[j]) for i, j in subset.edges}
    assert kept == {(f"d{i}", f"s{j}") for i, j in edges if i in diseases and j in symptoms}


def test_names_come_in_the_order_of_the_edges(flu):
    assert flu.diseases == ("flu", "cold")
    assert flu.symptoms == ("fever", "cough", "runny nose")
    assert repr(flu) == "Structure(2 diseases, 3 symptoms, 4 edges)"


def test_arrays_cannot_be_changed(flu):
    for array in flu.edges, flu.child_offsets, flu.parent_offsets, flu.parent_diseases:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "json"])
def test_read_back_from_files(flu, tmp_path, suffix):
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / f"edges.{suffix}"
    rows = [*zip(*flu.edge_names().values(), strict=True)]
    if suffix == "parquet":
        pq.write_table(pa.table({**flu.edge_names(), "weight": [1.0] * 4}), path)
        assert Structure.from_parquet(path) == flu
    elif suffix == "json":
        flu.save(path)
        assert Structure.load(path) == flu
    else:
        mark = "\t" if suffix == "tsv" else ","
        text = f"disease{mark}symptom{mark}more\n" + "".join(
            f"{d}{mark}{s}{mark}\n" for d, s in rows
        )
        path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
        assert Structure.from_csv(path) == flu


def test_csv_written_is_read_back(flu, tmp_path):
    flu.to_csv(tmp_path / "edges.csv")
    assert Structure.from_csv(tmp_path / "edges.csv") == flu


def test_json_keeps_symptoms_without_parents(tmp_path):
    structure = Structure(["flu", "rare"], ["fever", "lonely"], [(0, 0)])
    structure.save(tmp_path / "structure.json")
    assert Structure.load(tmp_path / "structure.json") == structure


def test_nothing_can_be_changed_and_copies_are_the_same(flu):
    import copy
    import pickle

    for change in (lambda: setattr(flu, "symptoms", ()), lambda: delattr(flu, "edges")):
        with pytest.raises(AttributeError, match="a Structure cannot be changed"):
            change()
    assert copy.deepcopy(flu) is flu
    assert pickle.loads(pickle.dumps(flu)) == flu  # noqa: S301 - as worker processes get it


def test_a_frame_brings_its_names():
    import pandas as pd

    frame = pd.DataFrame([[1, 0], [1, 1]], index=["flu", "cold"], columns=["fever", "cough"])
    structure = Structure.from_matrix(frame)
    assert (structure.diseases, structure.symptoms) == (("flu", "cold"), ("fever", "cough"))


def test_300_000_edges_are_built_within_seconds():
    rng = np.random.default_rng(0)
    matrix = scipy.sparse.random_array((3000, 10_000), density=0.01, rng=rng)
    structure = Structure.from_matrix(matrix)
    assert structure.n_edges == 300_000
    pairs = [(structure.diseases[i], structure.symptoms[j]) for i, j in structure.edges]
    assert Structure.from_edges(pairs).n_edges == 300_000


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Structure(["a", "a"], ["s"], []), "disease name 'a' is given twice, at 0 and 1"),
        (lambda: Structure(["a"], [""], []), "symptom 0 has the name ''"),
        (lambda: Structure(["a"], [7], []), "symptom 0 has the name 7"),
        (lambda: Structure(["a"], ["\ud800"], []), "a symptom name holds a character"),
        (lambda: Structure(["a"], ["s"], [(0, 1)]), "edge 0 names symptom 1, but there are only 1"),
        (lambda: Structure(["a"], ["s"], [(-1, 0)]), "edge 0 names disease -1"),
        (lambda: Structure(["a"], ["s"], [(0, 0), (0, 0)]), "edge 1: the edge from 'a' to 's' was"),
        (lambda: Structure(["a"], ["s"], [(0.5, 0)]), "rows of two whole numbers"),
        (lambda: Structure.from_edges([("a", "s", "t")]), "edge 0 is .* a pair"),
        (lambda: Structure.from_edges(["as"]), "edge 0 is 'as'; an edge is a pair"),
        (lambda: Structure.from_edges([(0, 1)]), "edge 0 has the disease 0; without diseases="),
        (
            lambda: Structure.from_edges([("flu", "fevr")], symptoms=["fever"]),
            "no symptom named 'fevr'; did you mean 'fever'?",
        ),
        (lambda: Structure.from_matrix([1, 0]), "two dimensions"),
        (lambda: Structure.from_matrix([["0", "1"]]), "the matrix holds <U1; expected 0 and 1"),
        (lambda: Structure.from_matrix([[1.0, np.nan]]), "the matrix holds NaN"),
        (lambda: Structure.from_edges([1]), "edge 0 is 1; an edge is a pair"),
        (lambda: Structure.from_matrix([[1]], diseases=["a", "b"]), "2 disease names for a matrix"),
        (lambda: Structure.from_networkx(networkx.Graph([("a", "b")])), "must be directed"),
        (
            lambda: Structure.from_networkx(networkx.DiGraph([("a", "b"), ("b", "c")])),
            "node 'b' has incoming and outgoing edges",
        ),
    ],
)
def test_what_makes_no_structure_is_refused(build, message):
    with pytest.raises(NoisyOrError, match=message):
        build()


def test_wrong_names_are_refused(flu):
    for call, message in (
        (lambda: flu.children("flue"), "no disease named 'flue'; did you mean 'flu'?"),
        (lambda: flu.parents("Fever"), "no symptom named 'Fever'; did you mean 'fever'?"),
        (lambda: flu.parents(3), "no symptom number 3: there are 3"),
        (lambda: flu.parents(-1), "no symptom number -1"),
        (lambda: flu.parents(1.5), "by its name or its index, not by 1.5"),
        (lambda: flu.edge_index("flu", "runny nose"), "no edge from disease 'flu' to symptom"),
        (lambda: flu.subset(diseases="flu"), "a list of diseases, not the single text"),
        (lambda: flu.subset(diseases=["flu", 0]), "a disease is named twice"),
    ):
        with pytest.raises(NoisyOrError, match=message.replace("?", r"\?")):
            call()
