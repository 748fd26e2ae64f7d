"""NoisyOrNetwork: a structure with priors, failures and leaks (Section 2, Eq. 1-3)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisyor.beliefs import Beliefs
from noisyor.errors import FileError, ParameterError, quoted
from noisyor.findings import Findings
from noisyor.flags import Flag
from noisyor.immutable import Immutable
from noisyor.io.documents import numbers_of, read_document, write_document
from noisyor.io.paths import PathLike
from noisyor.names import Indices, Name
from noisyor.network.causes import Causes, Components, Independent, causes_from_document
from noisyor.network.checking import (
    checked_causes,
    checked_flags,
    checked_sets,
    edge_name,
    flags_from_document,
    probabilities,
    sets_of_order,
)
from noisyor.network.csv_files import read_tables, write_network
from noisyor.network.joint import joint_distribution
from noisyor.network.pictures import plot_network
from noisyor.network.sampling import Rng, SampledBlock, sample_blocks
from noisyor.parameters import KINDS, Parameters
from noisyor.structure import NETWORK_FORMAT, NETWORK_VERSION, USUAL_WORDS, Structure
from noisyor.vocabulary import Vocabulary

Floats = NDArray[np.float64]


class NoisyOrNetwork(Immutable):
    """A noisy-or network; immutable, its parameters checked.

    Parameters
    ----------
    structure
        The diseases, symptoms and edges.
    priors
        P(disease present), one per disease.
    failures
        P(disease fails to cause the symptom although it is present), one per edge in the
        structure's edge order.
    leaks
        P(symptom present without any disease), one per symptom: the paper's noise, 1 - f_0.
    flags
        What is doubtful of each parameter (sums of `Flag`), where the network was learned. Two
        networks with the same parameters are equal, whatever their flags.
    causes
        How the diseases occur together: `Independent`, `Joint` or `Trait`. None: independently,
        with these priors. Otherwise leave the priors out (None): they follow from it.

    Examples
    --------
    >>> from noisyor import Structure
    >>> structure = Structure.from_edges([("flu", "fever"), ("flu", "cough")])
    >>> network = NoisyOrNetwork(structure, priors=[0.1], failures=[0.2, 0.5], leaks=[0.01, 0.05])
    >>> round(network.negative_moment(["fever", "cough"]), 4)
    0.8559
    >>> network.marginals().round(4)
    array([0.0892, 0.0975])
    """

    __slots__ = ("_causes", "failures", "flags", "leaks", "priors", "structure")

    structure: Structure
    priors: Floats
    """P(disease), of people whose covariates are unknown."""
    failures: Floats
    leaks: Floats
    _causes: Causes | None
    """None where diseases are independent and there are no covariates."""
    flags: Parameters | None
    """None where nobody knows, as of a network that was not learned."""

    def __init__(
        self,
        structure: Structure,
        priors: ArrayLike | None,
        failures: ArrayLike,
        leaks: ArrayLike,
        flags: Parameters | None = None,
        causes: Causes | None = None,
    ) -> None:
        if not isinstance(structure, Structure):
            raise ParameterError(f"expected a Structure, not {type(structure).__name__}.")
        self.structure = structure
        self._causes, priors = checked_causes(structure, priors, causes)
        self.priors = probabilities(
            "priors",
            priors,
            structure.n_diseases,
            lambda i: f"disease {quoted(structure.diseases[i])}",
        )
        self.failures = probabilities(
            "failures", failures, structure.n_edges, lambda e: edge_name(structure, e)
        )
        self.leaks = probabilities(
            "leaks",
            leaks,
            structure.n_symptoms,
            lambda j: f"symptom {quoted(structure.symptoms[j])}",
        )
        self.flags = None if flags is None else checked_flags(structure, flags)
        self._seal()

    # --- exact moments ---

    def influence(self, disease: Name, symptoms: Iterable[Name]) -> float:
        """Return a disease's factor in Eq. 3: I = 1 - p + p * (product of its failures).

        A symptom that is not a child of the disease has failure 1. Of independent diseases only.
        """
        if self._causes is not None:
            raise ParameterError(
                "the diseases of this network occur together: its moments are no products of the "
                "diseases' influences."
            )
        i = self.structure.disease_index(disease)
        chosen = self._distinct(symptoms)
        edges = self.structure.edges_of(i)
        is_child = np.isin(self.structure.edges[edges, 1], chosen)
        all_fail = float(np.prod(self.failures[edges][is_child]))
        return float(1.0 - self.priors[i] + self.priors[i] * all_fail)

    def negative_moment(self, symptoms: Iterable[Name]) -> float:
        """Return P(all of the symptoms absent), the product of all influences (Eq. 3)."""
        return float(self.negative_moments(self._distinct(symptoms)[np.newaxis, :])[0])

    def negative_moments(self, sets: ArrayLike) -> Floats:
        """Return the negative moment of each row of symptom indices; a row repeats none."""
        from noisyor.network.network_kernels import ParentArrays, negative_moments

        rows = checked_sets(sets, self.structure.n_symptoms)
        moments, part = np.zeros(len(rows)), np.empty(len(rows))
        parents = ParentArrays(*self.structure.parent_arrays)
        for weight, priors in zip(*self.components, strict=True):
            negative_moments(rows, parents, priors, self.failures, self.leaks, part)
            moments += weight * part
        return moments

    def pair_moments(self, pairs: ArrayLike) -> Floats:
        """Return P(both absent) for each row (a, b) of symptom indices."""
        return self.negative_moments(sets_of_order(pairs, 2))

    def triplet_moments(self, triplets: ArrayLike) -> Floats:
        """Return P(all three absent) for each row (a, b, c) of symptom indices."""
        return self.negative_moments(sets_of_order(triplets, 3))

    def marginals(self) -> Floats:
        """Return P(present) of each symptom."""
        # As logarithms, so that a rare symptom keeps all its digits.
        owners, caused = self.structure.edges.T
        found = np.zeros(self.structure.n_symptoms)
        with np.errstate(divide="ignore"):
            log_silent = np.log1p(-self.leaks)
            for weight, priors in zip(*self.components, strict=True):
                log_absent = log_silent.copy()
                np.add.at(log_absent, caused, np.log1p(-priors[owners] * (1.0 - self.failures)))
                found -= weight * np.expm1(log_absent)
        return found

    def joint(self, symptoms: Iterable[Name]) -> Floats:
        """Return the joint distribution of up to 20 symptoms: entry [s_a, s_b, ...] is P(s).

        >>> from noisyor import datasets
        >>> network = datasets.figure1(rng=0)
        >>> joint = network.joint(["a", "b", "c"])
        >>> bool(np.isclose(joint[0, 0, 0], network.negative_moment(["a", "b", "c"])))
        True
        """
        chosen = self._distinct(symptoms)
        if len(chosen) > 20:
            raise ParameterError(
                f"the joint distribution of {len(chosen)} symptoms is too large; at most 20."
            )
        total = np.zeros((2,) * len(chosen))
        for weight, priors in zip(*self.components, strict=True):
            here = Parameters(priors, self.failures, self.leaks)
            total += weight * joint_distribution(self.structure, here, chosen)
        return total

    # --- sampling ---

    @overload
    def sample(
        self, records: int, rng: Rng = None, return_diseases: Literal[False] = False,
        n_jobs: int | None = None, *, covariates: Any = None,
    ) -> Findings: ...  # fmt: skip
    @overload
    def sample(
        self,
        records: int,
        rng: Rng = None,
        *,
        return_diseases: Literal[True],
        n_jobs: int | None = None,
        covariates: Any = None,
    ) -> tuple[Findings, NDArray[np.bool_]]: ...
    def sample(
        self,
        records: int,
        rng: Rng = None,
        return_diseases: bool = False,
        n_jobs: int | None = None,
        *,
        covariates: Any = None,
    ) -> Findings | tuple[Findings, NDArray[np.bool_]]:
        """Sample records; with `return_diseases` also which diseases each of them had.

        The same seed as `rng` gives the same records, whatever the number of cores. `covariates`,
        a frame or a mapping of columns with a row per record, says whose records they are.
        """
        sampled = list(
            self.iter_sample(
                records, rng, keep_diseases=return_diseases, n_jobs=n_jobs, covariates=covariates
            )
        )
        findings = Findings(self.structure, [each.block for each in sampled])
        if not return_diseases:
            return findings
        none = np.zeros((0, self.structure.n_diseases), dtype=np.bool_)
        return findings, np.concatenate([none, *(each.diseases for each in sampled)])

    def iter_sample(
        self, records: int, rng: Rng = None, *, keep_diseases: bool = False,
        n_jobs: int | None = None, covariates: Any = None,
    ) -> Iterator[SampledBlock]:  # fmt: skip
        """Sample block after block: the same records as `sample`, in bounded memory."""
        if isinstance(records, bool) or not isinstance(records, int | np.integer) or records < 0:
            raise ParameterError(f"records must be a whole number from 0, not {records!r}.")
        rows = None
        if covariates is not None:
            rows = self._design(covariates, int(records))
        return sample_blocks(
            self.structure, self.parameters, int(records), rng, keep_diseases=keep_diseases,
            n_jobs=n_jobs, causes=self._causes, rows=rows,
        )  # fmt: skip

    def _design(self, covariates: Any, n_records: int) -> Floats:
        """Return the rows of the design of some records, all of whose covariates are known."""
        effects = self.causes.effects
        if effects is None:
            raise ParameterError("this network has no covariates: leave them out.")
        columns = [list(covariates[each.name]) for each in effects.covariates]
        rows = np.array([
            effects.row(dict(zip((each.name for each in effects.covariates), row, strict=True)))
            for row in zip(*columns, strict=True)
        ])  # fmt: skip
        if len(rows) != n_records or np.isnan(rows).any():
            raise ParameterError(
                f"give all covariates of {n_records:,} records; there are {len(rows):,} rows"
                f"{', some with unknown ones' if np.isnan(rows).any() else ''}."
            )
        return rows

    # --- files ---

    def save(self, path: PathLike, *, learned: Mapping[str, Any] | None = None) -> None:
        """Write as a JSON document (docs/formats.md); every digit is kept, and all flags.

        `learned` is what `Estimate.save` has to say of how it was learned.
        """
        content: dict[str, Any] = {
            "diseases": self.structure.diseases,
            "priors": self.priors.tolist(),
            "symptoms": self.structure.symptoms,
            "leaks": self.leaks.tolist(),
            "edges": self.structure.edges.tolist(),
            "failures": self.failures.tolist(),
        }
        version = 1  # what older readers know, where that is all of it
        if self.flags is not None:
            version = 2
            codes = self.flags.map(lambda flags: [Flag(flag).codes for flag in flags.tolist()])
            content["flags"] = dict(zip(KINDS, (each.tolist() for each in codes), strict=True))
        if self._causes is not None:
            version = 3
            content["causes"] = self._causes.to_document()
        if self.structure.vocabulary != USUAL_WORDS:
            version = NETWORK_VERSION
            content["vocabulary"] = self.structure.vocabulary.to_document()
        if learned is not None:
            version = NETWORK_VERSION
            content["learned"] = learned
        write_document(path, NETWORK_FORMAT, version, content)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote, or the network of what `Estimate.save` wrote."""
        return cls.from_document(read_document(path, {NETWORK_FORMAT: NETWORK_VERSION}), path)

    @classmethod
    def from_document(cls, document: dict[str, Any], path: PathLike) -> Self:
        """Return the network of a document that was read from a path."""
        structure = Structure.from_document(document, path)
        numbers = {
            key: np.array(numbers_of(document, key, path), dtype=np.float64)
            for key in ("priors", "failures", "leaks")
        }
        order = order_of_edges(document)
        if len(numbers["failures"]) == len(order):
            numbers["failures"] = numbers["failures"][order]
        flags, causes = flags_from_document(document, structure, order, path), None
        if "causes" in document:
            causes = causes_from_document(document["causes"], structure.n_diseases, path)
        try:
            return cls(structure, **numbers, flags=flags, causes=causes)
        except ParameterError as error:
            raise FileError(f"{path}: {error}") from None

    def to_csv(self, edges: PathLike, *, priors: PathLike, leaks: PathLike) -> None:
        """Write three CSV files: edges (disease, symptom, failure), priors and leaks."""
        self.check_plain("CSV")
        write_network(self.structure, self.parameters, edges, priors, leaks)

    @classmethod
    def from_csv(cls, edges: PathLike, *, priors: PathLike, leaks: PathLike) -> Self:
        """Read what `to_csv` wrote; edges may have a probability instead: 1 - failure.

        The files of priors and leaks list all names, in their order. Nothing is changed.
        """
        found = read_tables(edges, priors, leaks)
        assert found.priors is not None
        assert found.failures is not None
        assert found.leaks is not None
        return cls(found.structure, found.priors, found.failures, found.leaks)

    def plot(self, ax: Any = None, *, disease: Name | None = None, top: int = 30) -> Any:
        """Draw diseases, symptoms and the edges between them; return the axes.

        The darker an edge, the more probably the disease causes the symptom. With a disease, its
        symptoms and the other diseases that cause them; the strongest `top` of each.
        """
        return plot_network(self, ax, disease, top)

    # --- what it is ---

    @property
    def parameters(self) -> Parameters:
        """Priors, failures and leaks together."""
        return Parameters(self.priors, self.failures, self.leaks)

    @property
    def causes(self) -> Causes:
        """How the diseases occur together."""
        return Independent(self.priors) if self._causes is None else self._causes

    @property
    def components(self) -> Components:
        """The mixture of independent diseases that it is, of one component if they are."""
        if self._causes is None:
            return Components(np.ones(1), self.priors[np.newaxis])
        return self._causes.components

    @property
    def is_plain(self) -> bool:
        """True if diseases are independent, and depend on no covariates."""
        return self._causes is None

    @property
    def is_independent(self) -> bool:
        """True if the diseases are independent, of people of whom nothing else is known."""
        return self._causes is None or self._causes.is_independent

    def check_plain(self, what: str) -> None:
        """Raise an error where diseases occur together, which a format does not hold."""
        if self._causes is not None:
            raise ParameterError(
                f"{what} does not hold how diseases occur together or depend on covariates: write "
                "the network as .json, or network.as_independent(), which loses it."
            )

    def as_independent(self) -> "NoisyOrNetwork":
        """Return the network with independent diseases that are as frequent."""
        if self._causes is None:
            return self
        return type(self)(self.structure, self.priors, self.failures, self.leaks, self.flags)

    def given(self, covariates: Mapping[str, Any] | None) -> "NoisyOrNetwork":
        """Return the network of a person with these covariates, such as `{"age": 71}`.

        Those that are left out, or None, are unknown.
        """
        if covariates is None:
            return self
        causes = self.causes.given(covariates)
        if causes is self._causes or (self._causes is None and not covariates):
            return self
        return type(self)(self.structure, None, self.failures, self.leaks, self.flags, causes)

    def disease_flags(self) -> NDArray[np.uint16] | None:
        """Return what is doubtful of the parameters that each disease may rest on, or None.

        These are its prior, its failures, and the leaks of its symptoms; a posterior rests on some
        of them (`Posterior.flags`).
        """
        if self.flags is None:
            return None
        owners, caused = self.structure.edges.T
        found = self.flags.priors.copy()
        np.bitwise_or.at(found, owners, self.flags.failures | self.flags.leaks[caused])
        return np.asarray(found & np.uint16(Flag.DOUBTFUL))

    def with_flags(self, flags: Parameters) -> Self:
        """Return the same network, of whose parameters these flags are known too."""
        both = flags if self.flags is None else self.flags.map(np.bitwise_or, flags)
        return type(self)(
            self.structure, self.priors, self.failures, self.leaks, both, self._causes
        )

    def with_vocabulary(self, vocabulary: Vocabulary) -> Self:
        """Return the same network for readers with other words, and with synonyms of names."""
        structure = self.structure.with_vocabulary(vocabulary)
        priors = None if self._causes is not None else self.priors
        return type(self)(structure, priors, self.failures, self.leaks, self.flags, self._causes)

    def with_fixed(self, fixed: Beliefs) -> Self:
        """Return the network with fixed values put in, a little inside of 0 and 1."""
        return self.with_parameters(fixed.apply_to(self.parameters))

    def with_parameters(self, parameters: Parameters) -> Self:
        """Return a network of the same structure with other parameters.

        Of one whose diseases occur together, only failures and leaks can be others.
        """
        priors, failures, leaks = parameters
        return type(self)(self.structure, priors, failures, leaks, causes=self._causes)

    def with_causes(self, causes: Causes | None) -> "NoisyOrNetwork":
        """Return the same network, whose diseases occur together in another way."""
        priors = self.priors if causes is None else None
        return type(self)(self.structure, priors, self.failures, self.leaks, self.flags, causes)

    def _distinct(self, symptoms: Iterable[Name]) -> Indices:
        """Return the indices of symptoms, which must differ."""
        if isinstance(symptoms, str) or not isinstance(symptoms, Iterable):
            raise ParameterError(f"give a list of symptoms, not just {quoted(symptoms)}.")
        chosen = self.structure.symptom_indices(symptoms)
        if len(np.unique(chosen)) < len(chosen):
            raise ParameterError("a symptom is named twice in the set.")
        return chosen

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NoisyOrNetwork):
            return NotImplemented
        return (
            self.structure == other.structure
            and self.parameters == other.parameters
            and self._causes == other._causes
        )

    def __hash__(self) -> int:
        return hash((self.structure, self.parameters))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.structure, *self.parameters, self.flags, self._causes)

    def __repr__(self) -> str:
        structure = self.structure
        kind = "" if self._causes is None else f"{self._causes!r}, "
        return (
            f"NoisyOrNetwork({structure.n_diseases} diseases, {structure.n_symptoms} symptoms, "
            f"{structure.n_edges} edges; {kind}{self.priors.sum():.3g} diseases and "
            f"{self.marginals().sum():.3g} findings a record)"
        )


def order_of_edges(document: Mapping[str, Any]) -> Indices:
    """Return the order that sorts a document's edges: a file may list them, and what follows
    them, in any order.
    """
    given = np.array(document["edges"], dtype=np.int64).reshape(-1, 2)
    return np.lexsort((given[:, 1], given[:, 0]))
