"""Structure: which disease can cause which symptom (the edges of Section 2).

A structure is all that a schedule needs and all that is known before learning: the names of
diseases and symptoms and the edges between them. It holds no parameters.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from noisyor.errors import (
    FileError,
    ParameterError,
    StructureError,
    UnknownNameError,
    quoted,
    some_of,
)
from noisyor.immutable import Immutable
from noisyor.io.documents import field_of, names_of, read_document, write_document
from noisyor.io.paths import PathLike
from noisyor.names import (
    Indices,
    Name,
    NameList,
    columns_named,
    encode,
    index_names,
    match_name,
    name_key,
    names_or_numbers,
    renumbered,
    renumbering,
    resolve,
)
from noisyor.vocabulary import Vocabulary

if TYPE_CHECKING:
    from noisyor.io.columns import Table

USUAL_WORDS = Vocabulary()
FORMAT, VERSION = "noisyor.structure", 2
NETWORK_FORMAT, NETWORK_VERSION = "noisyor.network", 4
SCHEDULE_FORMAT, SCHEDULE_VERSION = "noisyor.schedule", 1
FORMATS = {FORMAT: VERSION, NETWORK_FORMAT: NETWORK_VERSION, SCHEDULE_FORMAT: SCHEDULE_VERSION}
"""Files of networks and schedules have all that a structure's file has: they can be read as one."""


class Structure(Immutable):
    """Diseases, symptoms and the edges between them; immutable.

    Edges stand in one canonical order, by disease and then by symptom; arrays with one entry per
    edge (failures, depths, standard errors) follow it everywhere.

    Parameters
    ----------
    diseases, symptoms
        Unique, non-empty names.
    edges
        One row per edge: index of the disease, index of the symptom. Any order, none twice.
    vocabulary
        What readers say for disease, symptom and record, and synonyms of names.

    Examples
    --------
    >>> structure = Structure.from_edges([("flu", "fever"), ("flu", "cough"), ("cold", "cough")])
    >>> structure
    Structure(2 diseases, 2 symptoms, 3 edges)
    >>> [structure.symptoms[x] for x in structure.children("flu")]
    ['fever', 'cough']
    """

    __slots__ = (
        "_disease_index",
        "_fingerprint",
        "_symptom_index",
        "child_offsets",
        "diseases",
        "edge_symptoms",
        "edges",
        "parent_diseases",
        "parent_edges",
        "parent_offsets",
        "symptoms",
        "vocabulary",
    )

    diseases: tuple[str, ...]
    symptoms: tuple[str, ...]
    edges: Indices
    """One row per edge: disease, symptom; in canonical order."""
    edge_symptoms: Indices
    """The second column of `edges`, in one piece."""
    child_offsets: Indices
    """The edges of disease i are `child_offsets[i] : child_offsets[i + 1]`."""
    parent_offsets: Indices
    """The parents of symptom j are `parent_offsets[j] : parent_offsets[j + 1]` of the next two."""
    parent_diseases: Indices
    parent_edges: Indices
    """For each entry of `parent_diseases`, the index of its edge in canonical order."""
    vocabulary: Vocabulary
    """What readers say for disease and symptom, and synonyms; structures are equal without."""

    def __init__(
        self,
        diseases: Iterable[str],
        symptoms: Iterable[str],
        edges: ArrayLike,
        vocabulary: Vocabulary = USUAL_WORDS,
    ) -> None:
        self.diseases = tuple(diseases)
        self.symptoms = tuple(symptoms)
        self._disease_index = index_names(self.diseases, "disease")
        self._symptom_index = index_names(self.symptoms, "symptom")
        self.edges = _canonical_edges(edges, self.diseases, self.symptoms)
        self.edge_symptoms = self.edges[:, 1].copy()
        self.child_offsets = _offsets(self.edges[:, 0], self.n_diseases)
        by_symptom = np.argsort(self.edge_symptoms, kind="stable")
        self.parent_offsets = _offsets(self.edge_symptoms, self.n_symptoms)
        self.parent_diseases = self.edges[by_symptom, 0]
        self.parent_edges = by_symptom.astype(np.int64)
        for array in self.edges, self.edge_symptoms, self.child_offsets, *self.parent_arrays:
            array.flags.writeable = False
        self._fingerprint: str | None = None
        vocabulary.check(self.diseases, self.symptoms)
        self.vocabulary = vocabulary
        self._seal()

    # --- built from what users have ---

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Sequence[Name]],
        *,
        diseases: Iterable[str] | None = None,
        symptoms: Iterable[str] | None = None,
    ) -> Self:
        """Build from pairs (disease, symptom).

        Without `diseases` or `symptoms`, the names come in the order in which the edges show them.
        Given them, names that no edge mentions are kept, and edges may use indices.
        """
        pairs = [_pair(edge, number) for number, edge in enumerate(edges)]
        disease_names, disease_of = encode([pair[0] for pair in pairs], diseases, "disease")
        symptom_names, symptom_of = encode([pair[1] for pair in pairs], symptoms, "symptom")
        return cls(disease_names, symptom_names, np.column_stack([disease_of, symptom_of]))

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        *,
        diseases: Iterable[str] | None = None,
        symptoms: Iterable[str] | None = None,
    ) -> Self:
        """Build from a matrix with diseases as rows and symptoms as columns; nonzero is an edge.

        Dense, scipy.sparse, or a pandas frame, which brings its names. Without names, diseases are
        called D0, D1, ... and symptoms S0, ...

        >>> Structure.from_matrix([[1, 1, 0], [0, 1, 1]]).edges.tolist()
        [[0, 0], [0, 1], [1, 1], [1, 2]]
        """
        if hasattr(matrix, "columns") and hasattr(matrix, "index"):  # a pandas frame has names
            diseases = map(str, matrix.index) if diseases is None else diseases
            symptoms = map(str, matrix.columns) if symptoms is None else symptoms
        if hasattr(matrix, "tocoo"):
            sparse = matrix.tocoo()
            kept = np.asarray(sparse.data) != 0
            shape = sparse.shape
            edges = np.column_stack([sparse.coords[0][kept], sparse.coords[1][kept]])
        else:
            dense = np.asarray(matrix)
            if dense.ndim != 2:
                raise StructureError(
                    f"the matrix must have two dimensions, diseases x symptoms, not {dense.ndim}."
                )
            if not (dense.dtype == np.bool_ or np.issubdtype(dense.dtype, np.number)):
                raise StructureError(f"the matrix holds {dense.dtype}; expected 0 and 1.")
            if np.isnan(dense).any():
                raise StructureError("the matrix holds NaN; an edge is either there or not.")
            shape = dense.shape
            edges = np.argwhere(dense)
        disease_names = names_or_numbers(diseases, "D", shape[0], "disease", "rows")
        symptom_names = names_or_numbers(symptoms, "S", shape[1], "symptom", "columns")
        return cls(disease_names, symptom_names, edges)

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """Build from a directed networkx graph whose edges go from diseases to symptoms.

        A node with outgoing edges is a disease, one with incoming edges a symptom. A node with
        neither is a symptom, unless its attribute `kind` is "disease".
        """
        if not graph.is_directed():
            raise StructureError("the networkx graph must be directed, from diseases to symptoms.")
        both = [node for node in graph if graph.in_degree(node) and graph.out_degree(node)]
        if both:
            raise StructureError(
                f"node {some_of(both)} has incoming and outgoing edges; a noisy-or network has two "
                "layers, with edges only from diseases to symptoms."
            )
        is_disease = {
            node: bool(graph.out_degree(node))
            or (not graph.in_degree(node) and attributes.get("kind") == "disease")
            for node, attributes in graph.nodes(data=True)
        }
        return cls.from_edges(
            [(str(disease), str(symptom)) for disease, symptom in graph.edges()],
            diseases=[str(node) for node in graph if is_disease[node]],
            symptoms=[str(node) for node in graph if not is_disease[node]],
        )

    @classmethod
    def from_csv(cls, path: PathLike) -> Self:
        """Read edges from a CSV file with the columns disease and symptom; others are ignored."""
        return cls.from_arrow(path)

    @classmethod
    def from_parquet(cls, path: PathLike) -> Self:
        """Read edges from a Parquet file with the columns disease and symptom."""
        return cls.from_arrow(path)

    @classmethod
    def from_arrow(cls, source: Any) -> Self:
        """Read edges from a pandas, polars, pyarrow or duckdb table with these two columns."""
        from noisyor.io.tables import open_table

        table = open_table(source)
        disease_names, symptom_names, edges = read_edges(table)
        return cls(disease_names, symptom_names, edges)

    def save(self, path: PathLike) -> None:
        """Write as a JSON document (docs/formats.md), which keeps order and lone symptoms."""
        content: dict[str, Any] = {
            "diseases": self.diseases,
            "symptoms": self.symptoms,
            "edges": self.edges.tolist(),
        }
        version = 1  # what older readers know, where that is all of it
        if self.vocabulary != USUAL_WORDS:
            version, content["vocabulary"] = VERSION, self.vocabulary.to_document()
        write_document(path, FORMAT, version, content)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote, or the structure of a saved network or schedule."""
        return cls.from_document(read_document(path, FORMATS), path)

    @classmethod
    def from_document(cls, document: Mapping[str, Any], path: PathLike) -> Self:
        """Build from the content of a JSON document that was read from `path`."""
        edges = field_of(document, "edges", path)
        for number, edge in enumerate(edges):
            is_pair = isinstance(edge, list) and len(edge) == 2
            if not (is_pair and all(type(end) is int and abs(end) < 2**31 for end in edge)):
                raise FileError(
                    f"{path}: 'edges' entry {number} is {quoted(edge)}, not two indices."
                )
        try:
            words = Vocabulary.from_document(document.get("vocabulary", {}))
            diseases, symptoms = (names_of(document, key, path) for key in ("diseases", "symptoms"))
            return cls(diseases, symptoms, edges, words)
        except (StructureError, ParameterError) as error:
            raise FileError(f"{path}: {error}") from None

    def to_csv(self, path: PathLike) -> None:
        """Write the edges as CSV with the columns disease and symptom."""
        import pyarrow as pa

        from noisyor.io.tables import write_csv

        write_csv(path, pa.table(self.edge_names()))

    def with_vocabulary(self, vocabulary: Vocabulary) -> Self:
        """Return the same structure for readers with other words, and with synonyms of names."""
        return type(self)(self.diseases, self.symptoms, self.edges, vocabulary)

    def match_symptom(self, given: str) -> str:
        """Return the symptom that a person means: in other letters, by a beginning, by a synonym.

        >>> words = Vocabulary(synonyms=[("fever", "pyrexia")])
        >>> structure = Structure(["flu"], ["fever", "cough"], [[0, 0]], words)
        >>> structure.match_symptom("Cou"), structure.match_symptom("Pyrexia")
        ('cough', 'fever')
        """
        return match_name(given, self.symptoms, "symptom", self.vocabulary.synonyms)

    def match_disease(self, given: str) -> str:
        """Return the disease that a person means, as `match_symptom` does."""
        return match_name(given, self.diseases, "disease", self.vocabulary.synonyms)

    def edge_names(self) -> dict[str, list[str]]:
        """Return the columns disease and symptom, one name per edge in canonical order."""
        return {
            "disease": [self.diseases[i] for i in self.edges[:, 0]],
            "symptom": [self.symptoms[j] for j in self.edges[:, 1]],
        }

    # --- what it is ---

    def parameter_names(self) -> dict[str, list[str | None]]:
        """Return the columns parameter, disease and symptom of a table of all parameters.

        First the priors, then the failures, then the leaks.
        """
        diseases, symptoms = self.edge_names().values()
        kinds: list[str | None] = ["prior"] * self.n_diseases
        kinds += ["failure"] * self.n_edges + ["leak"] * self.n_symptoms
        return {
            "parameter": kinds,
            "disease": [*self.diseases, *diseases, *[None] * self.n_symptoms],
            "symptom": [*[None] * self.n_diseases, *symptoms, *self.symptoms],
        }

    def parameter_sentences(self) -> list[str]:
        """Return what each parameter is, in words: "the prior of flu"."""
        return [
            *(f"the prior of {disease}" for disease in self.diseases),
            *(
                f"the failure of {disease} to cause {symptom}"
                for disease, symptom in zip(*self.edge_names().values(), strict=True)
            ),
            *(f"the leak of {symptom}" for symptom in self.symptoms),
        ]

    @property
    def n_diseases(self) -> int:
        """The number of diseases."""
        return len(self.diseases)

    @property
    def n_symptoms(self) -> int:
        """The number of symptoms."""
        return len(self.symptoms)

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return len(self.edges)

    @property
    def n_parameters(self) -> int:
        """The number of priors, failures and leaks."""
        return self.n_diseases + self.n_edges + self.n_symptoms

    def disease_index(self, disease: Name) -> int:
        """Return the index of a disease given by name or index."""
        return resolve(disease, self._disease_index, self.diseases, "disease")

    def symptom_index(self, symptom: Name) -> int:
        """Return the index of a symptom given by name or index."""
        return resolve(symptom, self._symptom_index, self.symptoms, "symptom")

    def symptom_indices(self, symptoms: Iterable[Name]) -> Indices:
        """Return the indices of symptoms given by names or indices."""
        return np.array([self.symptom_index(symptom) for symptom in symptoms], dtype=np.int64)

    def children(self, disease: Name) -> Indices:
        """Return the symptoms that a disease can cause, in increasing order."""
        return self.edges[self.edges_of(disease), 1]

    def edges_of(self, disease: Name) -> slice:
        """Return the slice of a disease's edges in the canonical order."""
        i = self.disease_index(disease)
        return slice(int(self.child_offsets[i]), int(self.child_offsets[i + 1]))

    def parents(self, symptom: Name) -> Indices:
        """Return the diseases that can cause a symptom, in increasing order."""
        j = self.symptom_index(symptom)
        return self.parent_diseases[self.parent_offsets[j] : self.parent_offsets[j + 1]]

    @property
    def parent_arrays(self) -> tuple[Indices, Indices, Indices]:
        """The parents of all symptoms: offsets, diseases and edges."""
        return self.parent_offsets, self.parent_diseases, self.parent_edges

    def edge_index(self, disease: Name, symptom: Name) -> int:
        """Return the index of an edge in the canonical order."""
        edges, j = self.edges_of(disease), self.symptom_index(symptom)
        index = int(edges.start + np.searchsorted(self.edges[edges, 1], j))
        if index == edges.stop or self.edges[index, 1] != j:
            raise UnknownNameError(
                "there is no edge from disease "
                f"{quoted(self.diseases[self.disease_index(disease)])} to symptom "
                f"{quoted(self.symptoms[j])}."
            )
        return index

    def sparse_matrix(self, values: Any = None) -> Any:
        """Return a sparse matrix, symptoms x diseases: a value for each edge, or 1."""
        from scipy.sparse import csr_array

        diseases, symptoms = self.edges.T
        entries = np.ones(self.n_edges, dtype=np.int32) if values is None else values
        return csr_array((entries, (symptoms, diseases)), (self.n_symptoms, self.n_diseases))

    def has_edge(self, disease: Name, symptom: Name) -> bool:
        """Return True if a disease can cause a symptom."""
        return self.symptom_index(symptom) in self.children(disease)

    def subset(
        self, *, diseases: Iterable[Name] | None = None, symptoms: Iterable[Name] | None = None
    ) -> Self:
        """Keep only some diseases or symptoms, in the order given, and the edges between them.

        >>> whole = Structure.from_matrix([[1, 1, 0], [0, 1, 1]])
        >>> whole.subset(symptoms=["S2", "S1"]).edges.tolist()
        [[0, 1], [1, 0], [1, 1]]
        """
        new_disease = renumbering(diseases, self.disease_index, self.n_diseases, "disease")
        new_symptom = renumbering(symptoms, self.symptom_index, self.n_symptoms, "symptom")
        edges = np.column_stack([new_disease[self.edges[:, 0]], new_symptom[self.edges[:, 1]]])
        names = renumbered(self.diseases, new_disease), renumbered(self.symptoms, new_symptom)
        words = self.vocabulary.about({*names[0], *names[1]})
        return type(self)(*names, edges[(edges >= 0).all(axis=1)], words)

    @property
    def fingerprint(self) -> str:
        """A text that two structures share exactly when they are equal, on any machine."""
        if self._fingerprint is None:
            digest = hashlib.sha256()
            digest.update(json.dumps([self.diseases, self.symptoms]).encode())
            digest.update(self.edges.astype("<i8").tobytes())
            object.__setattr__(self, "_fingerprint", digest.hexdigest()[:32])
        return str(self._fingerprint)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        return self is other or (
            self.diseases == other.diseases
            and self.symptoms == other.symptoms
            and np.array_equal(self.edges, other.edges)
        )

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.diseases, self.symptoms, self.edges, self.vocabulary)

    def __repr__(self) -> str:
        return (
            f"Structure({self.n_diseases} diseases, {self.n_symptoms} symptoms, "
            f"{self.n_edges} edges)"
        )


def read_edges(
    table: "Table", *, may_be_none: bool = False, exact: bool = False
) -> tuple[list[str], list[str], Indices]:
    """Read names and edges from the columns disease and symptom of a table.

    Row r of the edges comes from row r of the table, so that further columns can be joined. Names
    that differ only in case or blanks are one, which is told, unless they are `exact`.
    """
    from noisyor.io.columns import ColumnKind
    from noisyor.io.tables import check_no_zeros

    wanted = ["disease", "symptom"]
    if not {name_key(name) for name in table.column_names} & set(wanted):
        raise FileError(
            f"{table.name} has no columns 'disease' and 'symptom', a row for each edge; its "
            f"columns are {some_of(table.column_names, most=10)}. Of a matrix with a column a "
            "disease (a Q-matrix) `noisyor convert` makes a structure."
        )
    columns = columns_named(table, wanted)
    taken = {name_key(name) for name in (*columns, "probability", "failure", "")}
    taken |= {"weight"} if "probability" in table.column_names else set()
    check_no_zeros(table, [name for name in table.column_names if name_key(name) not in taken])
    lists = NameList("disease", exact), NameList("symptom", exact)
    parts: list[Indices] = []
    row = 0
    for batch in table.batches(dict.fromkeys(columns, ColumnKind.TEXT)):
        codes = []
        for column, known in zip(batch, lists, strict=True):
            indices, empty = known.indices_of(column)
            if empty is not None:
                raise FileError(
                    f"{table.location(row + empty)}, column {known.kind!r}: the name is empty."
                )
            codes.append(indices)
        parts.append(np.column_stack(codes))
        row += batch.num_rows
    edges = np.concatenate(parts) if parts else np.empty((0, 2), dtype=np.int64)
    if not len(edges) and not may_be_none:
        raise FileError(f"{table.name} has no edges below its header.")
    for known in lists:
        known.tell(table.name)
    _check_edges_differ(edges, lists[0].names, lists[1].names, table.location)
    return lists[0].names, lists[1].names, edges


def _canonical_edges(
    edges: ArrayLike, diseases: tuple[str, ...], symptoms: tuple[str, ...]
) -> Indices:
    given = np.asarray(edges)
    if given.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or not np.issubdtype(given.dtype, np.integer):
        raise StructureError(
            "edges must be rows of two whole numbers (disease, symptom); "
            "for names use Structure.from_edges."
        )
    array = given.astype(np.int64)
    for column, names, kind in (0, diseases, "disease"), (1, symptoms, "symptom"):
        outside = np.flatnonzero((array[:, column] < 0) | (array[:, column] >= len(names)))
        if outside.size:
            raise StructureError(
                f"edge {outside[0]} names {kind} {array[outside[0], column]}, "
                f"but there are only {len(names)} of them, counted from 0."
            )
    _check_edges_differ(array, diseases, symptoms, lambda row: f"edge {row}")
    return np.ascontiguousarray(array[np.lexsort((array[:, 1], array[:, 0]))])


def _check_edges_differ(
    edges: Indices, diseases: Sequence[str], symptoms: Sequence[str], location: Callable[[int], str]
) -> None:
    """Raise an error that names both locations of an edge that is given twice."""
    keys = edges[:, 0] * len(symptoms) + edges[:, 1]
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    if again.size:
        first, second = order[again[0]], order[again[0] + 1]
        disease, symptom = diseases[edges[first, 0]], symptoms[edges[first, 1]]
        raise StructureError(
            f"{location(int(second))}: the edge from {quoted(disease)} to {quoted(symptom)} was "
            f"given before ({location(int(first))})."
        )


def _offsets(sorted_or_not: Indices, n: int) -> Indices:
    counts = np.bincount(sorted_or_not, minlength=n)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _pair(edge: Sequence[Name], number: int) -> tuple[Name, Name]:
    if isinstance(edge, str) or not hasattr(edge, "__len__") or len(edge) != 2:
        raise StructureError(
            f"edge {number} is {quoted(edge)}; an edge is a pair (disease, symptom)."
        )
    return edge[0], edge[1]
