"""What would make a network identifiable: the smallest repairs, each verified by another check."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.errors import quoted, some_of
from noisyor.names import Indices
from noisyor.structure import Structure

if TYPE_CHECKING:
    from noisyor.identifiability.check import Identifiability, Tradeoff

Named = tuple[str, ...]
"""A prior, by its disease, or a failure, by disease and symptom."""


class Repair(NamedTuple):
    """A change after which all parameters of a set are identifiable."""

    kind: str
    """"know", "label", "add" or "drop"."""
    parameters: tuple[Named, ...]
    """What is to be known (disease; disease and symptom), which diseases are to be seen in some
    records, which disease gets symptoms, or which edge is dropped."""
    n_needed: int
    """Of these parameters, of symptoms for each disease, or of edges."""

    def __str__(self) -> str:
        if self.kind == "know":
            named = (
                f"the prior of {quoted(name[0])}"
                if len(name) == 1
                else f"the failure of {_edge(name)}"
                for name in self.parameters
            )
            return f"know {' and '.join(named)}"
        if self.kind == "label":
            named = (quoted(name[0]) for name in self.parameters)
            return f"see in some records whether they have {' and '.join(named)} (labels)"
        if self.kind == "add":
            named = (repr(name[0]) for name in self.parameters)
            few = "a symptom" if self.n_needed == 1 else f"{self.n_needed} symptoms"
            return f"add {few} of its own to {' and to '.join(named)}"
        edges = some_of([_edge(name) for name in self.parameters], most=5)
        return f"find out that an edge does not exist: one of {edges}"


def _edge(name: Named) -> str:
    return f"{quoted(name[0])} to {quoted(name[1])}"


def find_repairs(
    result: "Identifiability", tradeoff: "Tradeoff", check: "Callable[..., Identifiability]"
) -> list[Repair]:
    """Return the smallest repairs of each kind that make a set of parameters identifiable.

    `check` is `check_identifiability`, by which each is verified.
    """
    trial = _Trial(result, tradeoff, check)
    found = [trial.know(), trial.label(), trial.add(), trial.drop()]
    return [repair for repair in found if repair is not None]


class _Trial:
    """The part of a network that a set belongs to, with what is learned elsewhere fixed."""

    def __init__(
        self, result: "Identifiability", tradeoff: "Tradeoff",
        check: "Callable[..., Identifiability]",
    ) -> None:  # fmt: skip
        whole, orders, schedule = result.structure, result.orders, result.schedule
        self._check, self._max_order = check, result.max_order
        diseases = [whole.diseases[i] for i in tradeoff.diseases]
        children = np.unique(np.concatenate([whole.children(name) for name in diseases]))
        self.structure = whole.subset(diseases=diseases, symptoms=children.tolist())

        def named(edges: Indices) -> list[Named]:
            ends = whole.edges[edges].tolist()
            return [(whole.diseases[i], whole.symptoms[j]) for i, j in ends]

        is_learned = (schedule.prior_depths >= 0) | (orders.priors == 0)
        self._priors = [name for name in diseases if is_learned[whole.disease_index(name)]]
        is_learned = (schedule.depths >= 0) | (orders.failures == 0)
        is_learned &= np.isin(whole.edges[:, 0], tradeoff.diseases)
        self._failures = named(np.flatnonzero(is_learned))
        self._leaks = [whole.symptoms[j] for j in children if orders.leaks[j] == 0]
        self.priors: list[Named] = [(whole.diseases[i],) for i in tradeoff.priors]
        self.edges = named(tradeoff.failures)
        self.diseases = list(dict.fromkeys(name[0] for name in [*self.priors, *self.edges]))

    def is_repaired(self, structure: Structure | None = None, known: Sequence[Named] = ()) -> bool:
        """Return True if all of the set can be known, in a structure with more values fixed."""
        here = structure or self.structure
        priors = [*self._priors, *(name[0] for name in known if len(name) == 1)]
        failures = [*self._failures, *(name for name in known if len(name) == 2)]
        fixed = Beliefs(
            here,
            priors=dict.fromkeys(priors, 0.5),  # which value does not matter
            failures={name: 0.5 for name in failures if here.has_edge(*name)},
            leaks=dict.fromkeys(self._leaks, 0.5),
        )
        found = self._check(here, max_order=self._max_order, fixed=fixed).orders
        is_known = [found.priors[here.disease_index(name)] >= 0 for (name,) in self.priors]
        edges = [here.edge_index(*name) for name in self.edges if here.has_edge(*name)]
        return all(is_known) and bool((found.failures[edges] >= 0).all())

    def know(self) -> Repair | None:
        """Return the fewest parameters that have to be known, found one after the other."""
        candidates = [*self.priors, *self.edges]
        numbers = range(1, len(candidates) + 1)
        n = next((n for n in numbers if self.is_repaired(known=candidates[:n])), None)
        if n is None:
            return None
        needed = candidates[:n]
        for name in candidates[:n]:  # leave out again what turns out not to be needed
            others = [other for other in needed if other != name]
            if self.is_repaired(known=others):
                needed = others
        return Repair("know", tuple(needed), len(needed))

    def label(self) -> Repair | None:
        """Return the fewest diseases whose labels would do, found one after the other."""

        def known(names: Sequence[str]) -> list[Named]:
            edges = (name for name in self.edges if name[0] in names)
            return [*((name,) for name in names), *edges]

        numbers = range(1, len(self.diseases) + 1)
        n = next((n for n in numbers if self.is_repaired(known=known(self.diseases[:n]))), None)
        if n is None:
            return None
        needed = self.diseases[:n]
        for name in self.diseases[:n]:
            others = [other for other in needed if other != name]
            if self.is_repaired(known=known(others)):
                needed = others
        return Repair("label", tuple((name,) for name in needed), len(needed))

    def add(self) -> Repair | None:
        """Return the fewest symptoms, up to three, that one disease, or all of them, would need."""
        choices = [[name] for name in self.diseases]
        choices += [self.diseases] if len(self.diseases) > 1 else []
        for count in (1, 2, 3):
            for chosen in choices:
                if self.is_repaired(self._with_symptoms(chosen, count)):
                    return Repair("add", tuple((name,) for name in chosen), count)
        return None

    def _with_symptoms(self, diseases: list[str], count: int) -> Structure:
        here = self.structure
        new = [(name, f"{name}: new symptom {n}") for name in diseases for n in range(count)]
        symptoms = [*here.symptoms, *(symptom for _, symptom in new)]
        added = [[here.disease_index(name), here.n_symptoms + n] for n, (name, _) in enumerate(new)]
        return Structure(here.diseases, symptoms, [*here.edges.tolist(), *added])

    def drop(self) -> Repair | None:
        """Return the edges each of which would do, were it known to be absent; sixty are tried."""
        here, found = self.structure, []
        for name in self.edges[:60]:
            edges = np.delete(here.edges, here.edge_index(*name), axis=0)
            if self.is_repaired(Structure(here.diseases, here.symptoms, edges)):
                found.append(name)
        return Repair("drop", tuple(found), 1) if found else None
