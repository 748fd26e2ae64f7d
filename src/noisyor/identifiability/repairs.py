"""What would make a network identifiable: the smallest repairs, each verified by another check."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noisyor.errors import some_of
from noisyor.parameters import Fixed
from noisyor.structure import Structure

if TYPE_CHECKING:
    from noisyor.identifiability.check import Identifiability, Tradeoff

MOST_SYMPTOMS = 3
"""Symptoms that are added to a disease at most."""
MOST_EDGES = 60
"""Edges that are tried as absent."""
ANY = 0.5
"""The value of a parameter that is taken as fixed: which one does not matter."""


class Repair(NamedTuple):
    """A change after which all parameters of a set are identifiable."""

    kind: str
    """"know", "add" or "drop"."""
    parameters: tuple[tuple[str, ...], ...]
    """What is to be known (disease; disease and symptom), which disease gets symptoms, or which
    edge is dropped."""
    n_needed: int
    """Of these parameters, of symptoms for each disease, or of edges."""

    def __str__(self) -> str:
        if self.kind == "know":
            named = (
                f"the prior of {name[0]!r}" if len(name) == 1 else f"the failure of {_edge(name)}"
                for name in self.parameters
            )
            return f"know {' and '.join(named)}"
        if self.kind == "add":
            named = (repr(name[0]) for name in self.parameters)
            few = "a symptom" if self.n_needed == 1 else f"{self.n_needed} symptoms"
            return f"add {few} of its own to {' and to '.join(named)}"
        edges = some_of([_edge(name) for name in self.parameters], most=5)
        return f"find out that an edge does not exist: one of {edges}"


def _edge(name: tuple[str, ...]) -> str:
    return f"{name[0]!r} to {name[1]!r}"


def find_repairs(
    result: "Identifiability", tradeoff: "Tradeoff", check: "Callable[..., Identifiability]"
) -> list[Repair]:
    """Return the smallest repairs of each kind that make a set of parameters identifiable.

    `check` is `check_identifiability`, by which each is verified.
    """
    trial = _Trial(result, tradeoff, check)
    found = [trial.know(), trial.add(), trial.drop()]
    return [repair for repair in found if repair is not None]


class _Trial:
    """The part of a network that a set belongs to, with what else is known taken as fixed."""

    def __init__(
        self,
        result: "Identifiability",
        tradeoff: "Tradeoff",
        check: "Callable[..., Identifiability]",
    ) -> None:
        self._check = check
        whole = result.structure
        self._max_order = result.max_order
        names = [whole.diseases[i] for i in tradeoff.diseases]
        children = np.unique(np.concatenate([whole.children(name) for name in names]))
        self.structure = whole.subset(diseases=names, symptoms=children.tolist())
        self._priors, self._failures, self._leaks = {}, {}, {}
        for i, name in zip(tradeoff.diseases, names, strict=True):
            if result.schedule.prior_depths[i] >= 0 or result.orders.priors[i] == 0:
                self._priors[name] = ANY
            for edge in range(*whole.edges_of(int(i)).indices(whole.n_edges)):
                if result.schedule.depths[edge] >= 0 or result.orders.failures[edge] == 0:
                    self._failures[name, whole.symptoms[whole.edges[edge, 1]]] = ANY
        for j in np.flatnonzero(result.orders.leaks == 0):
            if j in children:
                self._leaks[whole.symptoms[j]] = ANY
        self.priors = [whole.diseases[i] for i in tradeoff.priors]
        self.edges = [
            (whole.diseases[i], whole.symptoms[j])
            for i, j in whole.edges[tradeoff.failures].tolist()
        ]
        self.diseases = list(dict.fromkeys([*self.priors, *(disease for disease, _ in self.edges)]))

    def is_repaired(
        self,
        structure: Structure | None = None,
        priors: tuple[str, ...] = (),
        failures: tuple[tuple[str, str], ...] = (),
    ) -> bool:
        """Return True if all of the set can be known, in a structure with more values fixed."""
        here = structure or self.structure
        known = {name: ANY for name in self._failures if here.has_edge(*name)}
        fixed = Fixed(
            here,
            priors={**self._priors, **dict.fromkeys(priors, ANY)},
            failures={**known, **dict.fromkeys(failures, ANY)},
            leaks=self._leaks,
        )
        found = self._check(here, max_order=self._max_order, fixed=fixed).orders
        is_known = [found.priors[here.disease_index(name)] >= 0 for name in self.priors]
        edges = [here.edge_index(*name) for name in self.edges if here.has_edge(*name)]
        return all(is_known) and bool((found.failures[edges] >= 0).all())

    def know(self) -> Repair | None:
        """Return the fewest parameters that have to be known, found one after the other."""
        priors: list[str] = []
        failures: list[tuple[str, str]] = []
        candidates: list[tuple[str, ...]] = [*((name,) for name in self.priors), *self.edges]
        for candidate in candidates:
            if len(candidate) == 1:
                priors.append(candidate[0])
            else:
                failures.append((candidate[0], candidate[1]))
            if self.is_repaired(priors=tuple(priors), failures=tuple(failures)):
                break
        else:
            return None
        self._leave_out(priors, failures)
        named = (*((name,) for name in priors), *failures)
        return Repair("know", named, len(named))

    def _leave_out(self, priors: list[str], failures: list[tuple[str, str]]) -> None:
        """Leave out again what turns out not to be needed."""
        for name in list(priors):
            others = tuple(other for other in priors if other != name)
            if self.is_repaired(priors=others, failures=tuple(failures)):
                priors.remove(name)
        for edge in list(failures):
            other_edges = tuple(other for other in failures if other != edge)
            if self.is_repaired(priors=tuple(priors), failures=other_edges):
                failures.remove(edge)

    def add(self) -> Repair | None:
        """Return the fewest symptoms of their own that one disease, or all of them, would need."""
        for count in range(1, MOST_SYMPTOMS + 1):
            for chosen in self._choices():
                if self.is_repaired(self._with_symptoms(chosen, count)):
                    return Repair("add", tuple((name,) for name in chosen), count)
        return None

    def _choices(self) -> Iterator[list[str]]:
        yield from ([name] for name in self.diseases)
        if len(self.diseases) > 1:
            yield self.diseases

    def _with_symptoms(self, diseases: list[str], count: int) -> Structure:
        here = self.structure
        new = [(name, f"{name}: new symptom {n}") for name in diseases for n in range(count)]
        symptoms = [*here.symptoms, *(symptom for _, symptom in new)]
        edges = here.edges.tolist()
        edges += [
            [here.disease_index(name), here.n_symptoms + n] for n, (name, _) in enumerate(new)
        ]
        return Structure(here.diseases, symptoms, edges)

    def drop(self) -> Repair | None:
        """Return the edges each of which would do, were it known to be absent."""
        found = []
        for name in self.edges[:MOST_EDGES]:
            edges = np.delete(self.structure.edges, self.structure.edge_index(*name), axis=0)
            without = Structure(self.structure.diseases, self.structure.symptoms, edges)
            if self.is_repaired(without):
                found.append(name)
        return Repair("drop", tuple(found), 1) if found else None
