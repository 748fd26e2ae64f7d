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

from noisyor.discovery.changes import ADD_DISEASE, MERGE, NOTHING, SPLIT, Suggestion
from noisyor.discovery.fitting import Fitter, started_with
from noisyor.discovery.simplify import ACTIVE, ALIKE
from noisyor.findings import Findings
from noisyor.learning.misfit_causes import DEPENDENCE, HIDDEN, SHARED, SMALLEST_BLOCK
from noisyor.learning.misfits import Misfits
from noisyor.moments import MomentPlan, count_moments
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Floats, Parameters
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
CLEARLY = 1e-6
"""The chance of standardised differences as large, below which two diseases are not one."""
FEWEST_SHARED = 3
"""Symptoms that two diseases have which may be one."""
NAN = float("nan")
Pair = tuple[int, int]


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


def swapped(split: Suggestion, structure: Structure) -> Suggestion:
    """Return a split whose other part is the new disease."""
    names = [structure.symptoms[j] for j in structure.children(split.disease)]
    kept = tuple(name for name in names if name not in split.symptoms or name in split.shared)
    return split._replace(symptoms=kept)


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


def merges_of(
    network: NoisyOrNetwork, misfits: Misfits, errors: Floats, fitter: Fitter
) -> list[Suggestion]:
    """Return merges of two diseases that occur together, or are alike; the likeliest first.

    `errors` are the standard errors of the failures. What is gained is not known yet. The more
    frequent one stays. Whether records tell two apart, only exact likelihoods say.
    """
    structure, found = network.structure, list[Suggestion]()
    alike = _alike(network, errors) if fitter.is_exact(structure) else []
    for pair in dict.fromkeys([*_together(misfits, structure), *alike]):
        stays, goes = sorted(pair, key=lambda i: -network.priors[i])
        names = structure.diseases[stays], structure.diseases[goes]
        symptoms = tuple(structure.symptoms[j] for j in structure.children(goes))
        found.append(Suggestion(MERGE, names[0], symptoms, NAN, NAN, NAN, NAN, NAN, other=names[1]))
    return found


def _together(misfits: Misfits, structure: Structure) -> list[Pair]:
    """Return pairs of diseases that occur together more often than the network explains.

    They may show as a disease that is missing, with symptoms of both.
    """
    found = list[Pair]()
    for cause in misfits.causes if misfits.fits is False else ():
        pair: tuple[int, ...] = ()
        if cause.kind == DEPENDENCE and cause.residual > 0.0:
            pair = cause.members
        elif cause.kind == HIDDEN:
            own = [structure.children(i) for i in range(structure.n_diseases)]
            shares = np.array([np.isin(j, cause.members).sum() / max(len(j), 1) for j in own])
            best = np.argsort(-shares, kind="stable")[:2]
            pair = tuple(best[shares[best] >= SHARED].tolist())
        if len(pair) == 2:
            found.append((min(pair), max(pair)))
    return found


def _alike(network: NoisyOrNetwork, errors: Floats) -> list[Pair]:
    """Return pairs with nearly the same strengths, the likeliest first.

    Of symptoms that both have, all of one of them. Without those that standard errors tell apart
    beyond doubt: they need not be fitted.
    """
    structure = network.structure
    is_edge = structure.sparse_matrix().toarray().T != 0
    strengths = structure.sparse_matrix(1.0 - network.failures).toarray().T
    sizes, n_both = is_edge.sum(axis=1), is_edge.astype(float) @ is_edge.T
    is_inside = n_both == np.minimum.outer(sizes, sizes)
    likeness = (strengths @ strengths.T) / np.maximum(
        np.sqrt((strengths**2 @ is_edge.T) * (is_edge @ strengths.T**2)), 1e-12
    )
    pairs = np.argwhere(np.triu(is_inside & (n_both >= FEWEST_SHARED) & (likeness >= ALIKE), 1))
    variances = structure.sparse_matrix(np.nan_to_num(errors, nan=1.0) ** 2).toarray().T
    chances = np.empty(len(pairs))
    for number, (i, j) in enumerate(pairs):
        both = is_edge[i] & is_edge[j]
        variance = np.maximum((variances[i] + variances[j])[both], 1e-12)
        squares = (strengths[i] - strengths[j])[both] ** 2 / variance
        chances[number] = chdtrc(len(squares), squares.sum())
    order = np.argsort(-chances, kind="stable")[:MOST_TRIED]
    return [(int(i), int(j)) for i, j in pairs[order[chances[order] > CLEARLY]]]


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
    # As one, two diseases must explain more, or be a case of two that records do not tell apart.
    p_value = 1.0
    if gain < NOTHING:
        structure = findings.structure
        one, other = (
            set(structure.children(name).tolist()) for name in (change.disease, change.other)
        )
        is_case = one <= other or other <= one
        p_value = float(chdtrc(-n_more, 2.0 * max(-gain, 0.0))) if is_case and n_more < 0 else 0.0
    is_one = p_value > LIKELY
    return change._replace(gain=gain, gain_bic=by_bic if is_one else -np.inf, p_value=p_value)


def _once(changes: Iterable[Suggestion]) -> list[Suggestion]:
    """Return the best changes of which no two concern the same disease."""
    found, taken = [], set[str]()
    for change in sorted(changes, key=lambda each: -each.gain_bic):
        names = {change.disease, change.other} - {""}
        if not names & taken:
            found.append(change)
        taken |= names
    return found


def is_only_alike(change: Suggestion) -> bool:
    """Return True for a merge that explains nothing, but costs less."""
    return change.kind == MERGE and change.gain < NOTHING


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
