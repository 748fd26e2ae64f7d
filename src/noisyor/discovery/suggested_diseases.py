"""Diseases that records ask for: new ones, one that should be two, two that should be one.

What a network does not explain shows in pairs of symptoms (`learning.misfits`). A block of symptoms
that occur together more often than explained is a disease that is missing; if one disease has most
of them already it may be two. Two diseases that occur together may be one, and so may two whose
strengths are alike: records do not tell these apart, and nothing is left unexplained. Splits and
merges are fitted, and BIC decides.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.special import chdtrc

from noisyor.discovery.changes import ADD_DISEASE, MERGE, SPLIT, Suggestion
from noisyor.discovery.fitting import Fitter, started_with
from noisyor.discovery.simplify import ACTIVE, ALIKE, cosines
from noisyor.findings import Findings
from noisyor.learning.misfit_causes import DEPENDENCE, HIDDEN, SHARED, SMALLEST_BLOCK
from noisyor.learning.misfits import Misfits
from noisyor.moments import MomentPlan, count_moments
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Parameters
from noisyor.structure import Structure

MOST_PAIRED = 500
"""With more symptoms, only pairs that share a disease are looked at for missing ones."""
MOST_TRIED = 5
"""Splits, and merges, that are fitted."""
WEAK, SHOWN = 0.05, 2.0
"""How strong the edges of a part begin that the other one should have; and how many standard errors
strong an edge is that a part needs."""
LIKELY = 0.05
"""The chance of losing as much, if two diseases are one, from which on they may be."""
NAN = float("nan")


def misfits_of(
    network: NoisyOrNetwork, flags: Parameters | None, findings: Findings, n_jobs: int | None
) -> Misfits:
    """Look for what a network does not explain of pairs of symptoms."""
    structure = network.structure
    is_small = structure.n_symptoms <= MOST_PAIRED
    plan = MomentPlan.all_pairs(structure) if is_small else MomentPlan.coupled(structure)
    return Misfits(network, count_moments(findings, plan, n_jobs=n_jobs), flags=flags)


def diseases_to_add(misfits: Misfits, structure: Structure, n_records: int) -> list[Suggestion]:
    """Return blocks of symptoms that occur together more often than the network explains."""
    if misfits.fits is not False:
        return []
    found = []
    for cause in misfits.causes:
        if cause.kind != HIDDEN:
            continue
        k, gain = len(cause.members), cause.residual**2 / 2.0
        by_bic = gain - _price(k + 1, n_records) - log_choices(k, structure.n_symptoms)
        names = tuple(structure.symptoms[j] for j in cause.members)
        if by_bic > 0.0:
            found.append(
                Suggestion(ADD_DISEASE, "", names, gain, by_bic, misfits.p_value, NAN, NAN)
            )
    return found


def split_of(block: Suggestion, network: NoisyOrNetwork, fitter: Fitter) -> Suggestion | None:
    """Return a split of the disease that has most of a missing one's symptoms, or none.

    Both parts are fitted with all of its symptoms, and keep those that they need; what neither
    needs stays with the disease that was given. What is gained is not known yet.
    """
    structure = network.structure
    members = structure.symptom_indices(block.symptoms)
    own = [np.isin(structure.children(i), members) for i in range(structure.n_diseases)]
    best = int(np.argmax([is_member.sum() for is_member in own])) if own else 0
    if not own or 2 * own[best].sum() <= len(members) or own[best].all():
        return None
    names = np.array(structure.symptoms, dtype=object)[structure.children(best)]
    kept, new = _needed(best, own[best], network, fitter)
    if not kept.any() or new.sum() < SMALLEST_BLOCK:
        return None
    return Suggestion(
        SPLIT, structure.diseases[best], tuple(names[new]), NAN, NAN, block.p_value, NAN, NAN,
        shared=tuple(names[new & kept]),
    )  # fmt: skip


def _needed(
    disease: int, is_new: Booleans, network: NoisyOrNetwork, fitter: Fitter
) -> tuple[Booleans, Booleans]:
    """Return which symptoms of a disease each of two parts needs; the second begins with some."""
    name = network.structure.diseases[disease]
    names = tuple(network.structure.symptoms[j] for j in network.structure.children(disease))
    both = Suggestion(SPLIT, name, names, NAN, NAN, NAN, NAN, NAN, shared=names)
    start = started_with(network, [both], fitter.marginals)
    structure, failures = start.structure, start.failures.copy()
    old, new = structure.edges_of(name), structure.edges_of(structure.n_diseases - 1)
    failures[old][is_new] = failures[new][~is_new] = 1.0 - WEAK
    fitted = fitter.fit(NoisyOrNetwork(structure, start.priors, failures, start.leaks))
    strengths = 1.0 - fitted.network.failures
    is_needed = (strengths > ACTIVE) & (strengths > SHOWN * fitted.errors)
    return is_needed[old], is_needed[new]


def merges_of(network: NoisyOrNetwork, misfits: Misfits) -> list[Suggestion]:
    """Return merges of two diseases that occur together, or are alike; the likeliest first.

    Two that occur together may show as one that is missing, with symptoms of both. What is gained
    is not known yet. The more frequent one stays.
    """
    structure = network.structure
    together = [
        cause.members
        for cause in misfits.causes
        if cause.kind == DEPENDENCE and len(cause.members) == 2 and cause.residual > 0.0
    ]
    for cause in misfits.causes:
        if cause.kind == HIDDEN:
            own = [
                np.isin(structure.children(i), cause.members) for i in range(len(network.priors))
            ]
            both = np.argsort([-is_member.mean() for is_member in own], kind="stable")[:2]
            if len(both) == 2 and all(own[i].mean() >= SHARED for i in both):
                together.append(tuple(both.tolist()))
    strengths = structure.sparse_matrix(1.0 - network.failures).toarray().T
    alike = np.triu(cosines(strengths, strengths), 1)
    order = np.argsort(-alike, axis=None)[:MOST_TRIED]
    pairs = np.column_stack(np.unravel_index(order, alike.shape))
    likely = [(i, j) for i, j in pairs.tolist() if alike[i, j] >= ALIKE]
    found = []
    for pair in dict.fromkeys(tuple(sorted(each)) for each in [*together, *likely]):
        stays, goes = sorted(pair, key=lambda i: -network.priors[i])
        names = structure.diseases[stays], structure.diseases[goes]
        symptoms = tuple(structure.symptoms[j] for j in structure.children(goes))
        found.append(Suggestion(MERGE, names[0], symptoms, NAN, NAN, NAN, NAN, NAN, other=names[1]))
    return found


def fitted_changes(
    changes: Sequence[Suggestion], network: NoisyOrNetwork, fitter: Fitter
) -> list[Suggestion]:
    """Return the splits and merges that BIC wants, with what they gain; each disease once."""
    kinds = ([each for each in changes if each.kind == kind] for kind in (SPLIT, MERGE))
    tried = [each for kind in kinds for each in kind[:MOST_TRIED]]
    if not tried:
        return []
    before = fitter.fit(network).log_likelihood
    found = []
    for change in tried:
        after = fitter.fit(started_with(network, [change], fitter.marginals))
        n_more = after.network.structure.n_parameters - network.structure.n_parameters
        gain = after.log_likelihood - before
        found.append(_judged(change, gain, n_more, fitter.findings))
    return _once(each for each in found if each.gain_bic > 0.0)


def _judged(change: Suggestion, gain: float, n_more: int, findings: Findings) -> Suggestion:
    by_bic = gain - _price(n_more, findings.n_records)
    if change.kind == SPLIT:
        by_bic -= log_choices(len(change.symptoms), findings.structure.n_symptoms)
        return change._replace(gain=gain, gain_bic=by_bic)
    p_value = float(chdtrc(-n_more, 2.0 * max(-gain, 0.0))) if n_more < 0 else 1.0
    # Two that records tell apart are not one, whatever BIC would save.
    return change._replace(
        gain=gain, gain_bic=by_bic if p_value > LIKELY else -np.inf, p_value=p_value
    )


def _once(changes: Iterable[Suggestion]) -> list[Suggestion]:
    """Return the best changes of which no two concern the same disease."""
    found, taken = [], set[str]()
    for change in sorted(changes, key=lambda each: -each.gain_bic):
        names = {change.disease, change.other} - {""}
        if not names & taken:
            found.append(change)
        taken |= names
    return found


def is_an_edge(structure: Structure, symptoms: Sequence[str], added: set[tuple[str, str]]) -> bool:
    """Return True if a disease causes all of some symptoms, or most and another is to be added.

    What an edge lacks shows in all pairs of its symptom and the others of its disease.
    """
    for i, disease in enumerate(structure.diseases):
        own = {structure.symptoms[j] for j in structure.children(i)}
        missing = set(symptoms) - own
        has_most = 2 * len(missing) < len(symptoms)
        if not missing or (has_most and any((disease, name) in added for name in missing)):
            return True
    return False


def is_said(block: Suggestion, changes: Iterable[Suggestion], structure: Structure) -> bool:
    """Return True if most symptoms of a block are those of diseases to split or to merge."""
    for change in changes:
        own = {
            structure.symptoms[j]
            for name in {change.disease, change.other} - {""}
            for j in structure.children(name)
        }
        if 2 * len(set(block.symptoms) - own) < len(block.symptoms):
            return True
    return False


def log_choices(n_chosen: int, n_symptoms: int) -> float:
    """Return the log of how many sets of symptoms there are, or a little more."""
    return float(n_chosen * np.log(n_symptoms) - np.log(np.arange(1, n_chosen + 1)).sum())


def _price(n_parameters: int, n_records: int) -> float:
    return float(n_parameters / 2.0 * np.log(n_records))
