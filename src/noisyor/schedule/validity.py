"""What makes a schedule valid (Section 3.4), checked step by step.

Written from the definition with sets of indices, and sharing nothing with the search: no
bits, no admissible pairs, no depths but those that the steps themselves build up.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from noisyor.errors import ScheduleError
from noisyor.structure import Structure

if TYPE_CHECKING:
    from noisyor.schedule.schedule import Schedule, Step

LearnedRounds = dict[int | tuple[int, int], int]
"""The rounds in which priors (by disease) and edges (disease, symptom) were learned, so far."""


def is_singly_coupled(
    structure: Structure, disease: int, symptoms: Iterable[int], removed: Iterable[int] = ()
) -> bool:
    """Return True if a disease, and no other that is not removed, couples the symptoms (Def. 1).

    >>> from noisyor import datasets
    >>> figure1 = datasets.figure1(rng=0).structure  # A is 0, B is 1; a to e are 0 to 4
    >>> is_singly_coupled(figure1, 1, [1, 3, 4])
    True
    >>> is_singly_coupled(figure1, 0, [0, 1, 2]), is_singly_coupled(figure1, 0, [0, 1, 2], [1])
    (False, True)
    """
    parents = [set(structure.parents(symptom).tolist()) for symptom in symptoms]
    return _is_singly_coupled(parents, disease, set(removed))


def _is_singly_coupled(parents: list[set[int]], disease: int, removed: set[int]) -> bool:
    if disease in removed or not all(disease in each for each in parents):
        return False
    others: set[int] = set()
    for each in parents:
        left = each - removed - {disease}
        if others & left:
            return False
        others |= left
    return True


def check_valid(schedule: "Schedule") -> None:
    """Raise a ScheduleError that names the first step against the definition."""
    structure = schedule.structure
    parents = [set(structure.parents(j).tolist()) for j in range(structure.n_symptoms)]
    fixed = schedule.fixed
    fixed_edges = map(tuple, structure.edges[fixed.edges].tolist())
    learned: LearnedRounds = dict.fromkeys([*fixed.priors.nonzero()[0].tolist(), *fixed_edges], -1)
    round_before = 0
    for number, step in enumerate(schedule.steps()):
        if step.round < round_before:
            raise ScheduleError(f"step {number} of the schedule stands after a later round.")
        round_before = step.round
        for problem in _problems(step, parents, learned):
            raise ScheduleError(f"step {number} of the schedule is not valid: {problem}.")
        if len(step.symptoms) == 3:
            learned.setdefault(step.disease, step.round)
        learned.update({(step.disease, symptom): step.round for symptom in step.learned})
    rounds = sorted(set(learned.values()) - {-1})
    if rounds != list(range(len(rounds))):
        raise ScheduleError(f"the rounds of the schedule have gaps: {rounds}.")


def _problems(step: "Step[int]", parents: list[set[int]], learned: LearnedRounds) -> Iterator[str]:
    """Yield what is wrong with a step, in words."""
    yield from _problems_of_form(step)
    disease, symptoms, removed = step.disease, step.symptoms, set(step.removed)

    def is_before(key: int | tuple[int, int]) -> bool:
        return learned.get(key, step.round) < step.round

    if any((disease, symptom) in learned for symptom in step.learned):
        yield "it teaches an edge that was learned before"
    if not _is_singly_coupled([parents[j] for j in symptoms], disease, removed):
        yield f"disease {disease} is not the only one that couples {symptoms} after removal"
    for owner in removed:
        if not is_before(owner):
            yield f"the prior of the removed disease {owner} was not learned in an earlier round"
        for symptom in symptoms:
            if owner in parents[symptom] and not is_before((owner, symptom)):
                yield f"the removed edge {owner} to {symptom} was not learned in an earlier round"
    if len(symptoms) == 2:
        if not is_before(disease):
            yield f"the prior of its disease {disease} was not learned in an earlier round"
        own = [j for j in symptoms if is_before((disease, j))]
        if own != [symptoms[1]] or step.learned != symptoms[:1]:
            yield "the second edge of its pair was not learned in an earlier round"


def _problems_of_form(step: "Step[int]") -> Iterator[str]:
    """Yield what is wrong with the way a step is written down."""
    symptoms = step.symptoms
    if len(set(symptoms)) != len(symptoms) or len(symptoms) not in (2, 3):
        yield f"its symptoms {symptoms} are neither a pair nor a triplet"
    if len(symptoms) == 3 and list(symptoms) != sorted(symptoms):
        yield f"its symptoms {symptoms} are not in increasing order"
    if len(set(step.removed)) != len(step.removed):
        yield f"it removes a disease twice: {step.removed}"
    if not step.learned or not set(step.learned) <= set(symptoms):
        yield f"it teaches {step.learned}, which are not among its symptoms {symptoms}"
