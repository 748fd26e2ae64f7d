"""What misfits say in words: the verdict, what deviates, and the likely causes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from noisyor.learning.misfit_causes import DEPENDENCE, EDGE, Cause, disease_like
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import MOST_JOINT

if TYPE_CHECKING:
    from noisyor.learning.misfits import Misfits

TOLD_SHARE = 0.05
"""Causes that explain less of what is in excess are left to the table."""
FEWEST_OF_TRAIT = 3
"""Diseases from which a trait of theirs can be learned."""


def names_of(cause: Cause, network: NoisyOrNetwork) -> tuple[list[str], list[str]]:
    """Return the diseases and the symptoms that a cause is about."""
    diseases, symptoms = network.structure.diseases, network.structure.symptoms
    if cause.kind == EDGE:
        disease, symptom = cause.members
        return [diseases[disease]], [symptoms[symptom]]
    if cause.kind == DEPENDENCE:
        return [diseases[i] for i in cause.members], []
    return [], [symptoms[j] for j in cause.members]


def sentence_of(cause: Cause, network: NoisyOrNetwork) -> str:
    """Return what a cause would explain."""
    diseases, symptoms = names_of(cause, network)
    explains = f"that would explain {cause.share:.0%} of what is in excess"
    if cause.kind == EDGE:
        return f"An edge from {diseases[0]} to {symptoms[0]} may be missing: {explains}."
    if cause.kind == DEPENDENCE:
        how = "more" if cause.residual > 0 else "less"
        most = diseases[:8] + [f"{len(diseases) - 8} others"] * (len(diseases) > 8)
        both = f"{', '.join(most[:-1])} and {most[-1]}"
        than = "independent diseases" if network.is_plain else "the network says"
        return f"{both} may occur together {how} often than {than}: {explains}."
    missing = f"A disease with the symptoms {', '.join(symptoms)}{_lacking(cause, network)}"
    return f"{missing} may be missing: {explains}."


def _lacking(cause: Cause, network: NoisyOrNetwork) -> str:
    """Return which edges to a known disease would explain as much as a missing one, or nothing."""
    structure = network.structure
    like = disease_like(structure, cause.members)
    own = set() if like is None else set(structure.children(like).tolist())
    others = [structure.symptoms[j] for j in cause.members if j not in own]
    if like is None or not others:
        return ""
    return f", or edges from {structure.diseases[like]} to {', '.join(others)},"


def shown_p_value(p_value: float) -> str:
    """Return it in words; the digits of a tiny one differ from machine to machine, and say nothing.

    >>> shown_p_value(0.0312), shown_p_value(3e-91)
    ('p = 0.031', 'p < 1e-10')
    """
    return f"p = {p_value:.2g}" if p_value >= 1e-10 else "p < 1e-10"


def sentences(misfits: "Misfits") -> Iterator[str]:
    """Yield the verdict, what deviates, and the likely causes."""
    n_symptoms, n_tested = misfits.network.structure.n_symptoms, misfits.n_tested
    n_all = n_symptoms * (n_symptoms - 1) // 2
    of = f"all {n_tested:,}" if n_tested == n_all else f"{n_tested:,} of {n_all:,}"
    if not misfits.tests:
        yield "No pair of symptoms could be tested: whether the network fits is not known."
        return
    p_value = shown_p_value(misfits.p_value)
    if misfits.fits is None:
        yield (
            f"Whether the network fits is open ({p_value}, which is too small where so little "
            f"is known): {misfits.n_doubted:,} of "
            f"{misfits.network.structure.n_diseases:,} diseases are in doubt. Fix what is known "
            "of them, or bring more records."
        )
    elif misfits.fits:
        tested = f"{of} pairs of symptoms" if n_tested else "single symptoms, but no pairs,"
        yield f"The network fits ({p_value}): {tested} were tested."
    else:
        deviate = f"{misfits.n_found:,} of {n_tested:,} pairs of symptoms deviate."
        tested = deviate if n_tested else "single symptoms, but no pairs, were tested."
        yield f"The network does not fit ({p_value}): {tested}"
    if n_tested < n_all:
        yield (
            "Other pairs were not counted, cannot vary (a symptom of theirs is always or never "
            "present), or rest on parameters that were not learned."
        )
    if misfits.fits is False:
        yield from _reasons(misfits)
        yield (
            "Standard errors take the network to be right, but for those of refined with "
            "robust=True (--robust)."
        )


def learnable(network: NoisyOrNetwork) -> Iterator[str]:
    """Yield how to learn that diseases depend on each other, where they were taken not to."""
    n, causes = network.structure.n_diseases, network.causes
    if causes.kind != "independent":
        return
    kinds = ["'joint'"] if n <= MOST_JOINT and causes.effects is None else []
    kinds += ["'trait'"] if n >= FEWEST_OF_TRAIT else []
    if kinds:
        yield (
            f"How diseases occur together can be learned: causes={' or '.join(kinds)} (--causes); "
            "compare_models (noisyor compare) tells what describes the records best."
        )


def _reasons(misfits: "Misfits") -> Iterator[str]:
    """Yield what is wrong, where the network does not fit."""
    for pair in misfits.table().slice(0, 1).to_pylist():
        yield (
            f"The clearest: {pair['first']} and {pair['second']}, {pair['observed']:,} times "
            f"together, {pair['expected']:,.1f} expected."
        )
    symptoms, (mean, _, variance, expected, p_value) = misfits.symptoms, misfits.number_of_findings
    wrong = misfits.found(symptoms)
    if len(wrong):
        names = misfits.network.structure.symptoms
        listed = ", ".join(
            f"{names[symptoms.members[row, 0]]} ({symptoms.residuals[row]:+.1f})"
            for row in wrong[:5].tolist()
        )
        yield (
            f"Fixed values contradict how often {len(wrong):,} symptoms occur, in standard "
            f"deviations: {listed}{' and others' if len(wrong) > 5 else ''}."
        )
    if p_value <= misfits.level and np.isfinite(variance):
        how = "more" if variance > expected else "less"
        yield (
            f"The number of findings of a record ({mean:.1f} on average) varies {how} than the "
            f"network says: its variance is {variance:.3g}, {expected:.3g} expected."
        )
    told = [each for each in misfits.causes if each.share >= TOLD_SHARE] or misfits.causes[:1]
    yield from (sentence_of(cause, misfits.network) for cause in told)
    if misfits.remedy:
        yield misfits.remedy
    elif any(each.kind == DEPENDENCE for each in misfits.causes):
        yield from learnable(misfits.network)
    if not misfits.causes and not len(wrong):
        yield "No single edge, disease or dependence of two diseases would explain it."
