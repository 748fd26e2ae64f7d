"""Changes of a structure: what each is, and what the structure becomes with some of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from noisyor.structure import Structure

ADD, DROP = "add edge", "drop edge"
ADD_DISEASE, SPLIT, MERGE = "add disease", "split disease", "merge diseases"
DROP_DISEASE = "drop disease"
"""Of those that came in a repair."""
NOTHING = 1.0
"""Log likelihood that fits may differ by."""


class Suggestion(NamedTuple):
    """A change of the structure."""

    kind: str
    """"add edge", "drop edge", "add disease", "split disease", "merge diseases" or, of one that
    came in a repair, "drop disease"."""
    disease: str
    """Of a disease to add: empty; of two to merge: the one that stays."""
    symptoms: tuple[str, ...]
    """Of an edge, its symptom; of a disease to add or to drop, its symptoms; of one to split, those
    that go to a new one; of two to merge, those of the one that goes."""
    gain: float
    """Nearly by how much the log likelihood rises; below 0 where less is learned. NaN where edges
    come and go together."""
    gain_bic: float
    """Nearly by how much BIC falls, halved: the gain less half the log of the number of records for
    each parameter that comes, and less the log of how many such changes there are to choose from;
    what goes brings its half back."""
    p_value: float
    """The chance of such a gain if the edge was not there; large where one goes. Of diseases to add
    or to split, that of misfits as large without any. Of two to merge, that of losing so much if
    they are one."""
    q_value: float
    """The smallest false-discovery rate at which it is found: of an edge to add (Benjamini and
    Hochberg 1995), or of one that was given and goes (on average, how likely it and those found
    before it are right). NaN of others."""
    strength: float
    """1 - f, of an edge; NaN of a disease."""
    n_reached: int | None = None
    """By how many more parameters the schedule would reach (fewer: below 0), beside the new ones;
    None where that was not looked at."""
    other: str = ""
    """Of two diseases to merge: the one that goes."""
    shared: tuple[str, ...] = ()
    """Of a disease to split: those of `symptoms` that it keeps, too."""

    @property
    def sentence(self) -> str:
        """The suggestion in words."""
        says = self._of_edge if self.kind in (ADD, DROP) else self._of_disease
        return f"{says}{_reached(self.n_reached)}"

    @property
    def _of_edge(self) -> str:
        disease, [symptom] = self.disease, self.symptoms
        if np.isnan(self.gain):
            verb = "seems to cause" if self.kind == ADD else "does not seem to cause"
            return f"{disease} {verb} {symptom}, given the other changes of this step."
        if self.kind == ADD:
            return (
                f"{disease} seems to cause {symptom} (with a probability of about "
                f"{self.strength:.2g}): with this edge the log likelihood rises by "
                f"{self.gain:,.1f}."
            )
        return (
            f"{disease} hardly causes {symptom}: without this edge the log likelihood falls by "
            f"{-self.gain:z,.1f}."
        )

    @property
    def _of_disease(self) -> str:
        names, shared = ", ".join(self.symptoms), ", ".join(self.shared)
        if self.kind == DROP_DISEASE:
            return f"{self.disease}, which came before, is not needed any more."
        if self.kind == SPLIT:
            both = f" (both have {shared})" if shared else ""
            return (
                f"{self.disease} looks like two diseases: with one of its own for {names}{both} "
                f"the log likelihood rises by {self.gain:,.1f}."
            )
        if self.kind == ADD_DISEASE:
            return (
                f"{names} occur together as if a disease caused them that is not in the structure; "
                f"the log likelihood would rise by about {self.gain:,.1f}."
            )
        if self.gain > NOTHING:
            return (
                f"{self.disease} and {self.other} occur together as if they were one disease, or "
                f"one made the other likely: as one the log likelihood rises by {self.gain:,.1f}."
            )
        return (
            f"Records do not tell {self.disease} and {self.other} apart: as one disease the log "
            f"likelihood falls by {max(-self.gain, 0.0):,.1f}."
        )


def _reached(n_reached: int | None) -> str:
    if not n_reached:
        return ""
    more, noun = ("more" if n_reached > 0 else "fewer"), "parameter"
    number = abs(n_reached)
    return f" The schedule then reaches {number:,} {more} {noun}{'s' if number > 1 else ''}."


def changed(structure: Structure, changes: Sequence[Suggestion]) -> Structure:
    """Return a structure with changes made; diseases that come are named after their symptoms.

    Examples
    --------
    >>> from noisyor import Structure
    >>> from noisyor.discovery import Suggestion, changed
    >>> halves = Structure.from_edges([("flu", "fever"), ("flu 2", "cough"), ("flu 2", "chills")])
    >>> nan = float("nan")
    >>> one = Suggestion(
    ...     "merge diseases", "flu 2", ("fever",), nan, nan, nan, nan, nan, other="flu"
    ... )
    >>> changed(halves, [one]).edge_names()["symptom"]
    ['fever', 'cough', 'chills']
    """
    edges = {
        name: dict.fromkeys(structure.children(i).tolist())
        for i, name in enumerate(structure.diseases)
    }
    for change in changes:
        symptoms = dict.fromkeys(structure.symptom_index(name) for name in change.symptoms)
        if change.kind in (ADD_DISEASE, SPLIT):
            edges[new_name(change.symptoms, list(edges))] = symptoms
        if change.kind in (DROP, SPLIT):
            shared = {structure.symptom_index(name) for name in change.shared}
            for symptom in symptoms.keys() - shared:
                edges[change.disease].pop(symptom, None)
        if change.kind in (ADD, MERGE):
            edges[change.disease] |= symptoms
        if change.kind == MERGE:
            del edges[change.other]
        if change.kind == DROP_DISEASE:
            del edges[change.disease]
    pairs = [[i, j] for i, own in enumerate(edges.values()) for j in own]
    return Structure(list(edges), structure.symptoms, np.array(pairs).reshape(-1, 2))


def key_of(change: Suggestion) -> tuple[Any, ...]:
    """Return what tells a change from others."""
    return change.kind, change.disease, change.other, change.symptoms, change.shared


def compatible(changes: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the best changes of which no two may stand in for each other, the best first.

    Those that concern the same symptom may; and edges of the same disease where they go.
    """
    found, taken = [], set[tuple[str, str]]()
    for change in sorted(changes, key=lambda each: -each.gain_bic):
        names = {("symptom", name) for name in change.symptoms}
        if change.kind == DROP:
            names.add(("disease", change.disease))
        if not names & taken:
            found.append(change)
        taken |= names
    return found


def changes_between(before: Structure, after: Structure) -> list[Suggestion]:
    """Return the edges that came and went between two structures of the same diseases."""
    nan = float("nan")
    old, new = ({(i, j) for i, j in each.edges.tolist()} for each in (before, after))
    return [
        Suggestion(kind, before.diseases[i], (before.symptoms[j],), nan, nan, nan, nan, nan)
        for kind, edges in ((ADD, new - old), (DROP, old - new))
        for i, j in sorted(edges)
    ]


def new_name(symptoms: Sequence[str], taken: Sequence[str]) -> str:
    """Return a name for a disease, after its symptoms, that no other has."""
    names = list(symptoms[:3])
    name = " + ".join(names) + (" ..." if len(symptoms) > len(names) else "")
    number, found = 2, name
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    return found
