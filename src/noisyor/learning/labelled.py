"""What labels do for learning: a better start, and parameters that no findings alone could tell.

In records in which a disease was looked for, P(disease) and P(symptom absent | disease) /
P(symptom absent | no disease) are there to be counted: its prior and its failures are known,
whatever the structure. Where the labels were taken may depend on the findings, not on the diseases.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from noisyor.beliefs import FEWEST_CASES, Beliefs
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import BetaPriors, RecordTotals, Trials, inside, maximise
from noisyor.em.sampled import RecordSampler, Sampler
from noisyor.errors import ParameterError, count_of, quoted
from noisyor.findings import Findings
from noisyor.findings.labels import SeenCounts
from noisyor.learning.cleanup import Cleaned
from noisyor.moments.labelled import CASES, CASES_PRESENT, LOOKED, SEEN, LabelledCounts
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import MARGIN, Booleans, Parameters
from noisyor.structure import Structure

CLEARLY = np.log(100.0)
"""How much more likely one way round must be than the other, for names that are known."""
LABELLED_STEPS, WORTH = 10, 4.0
"""Steps over the labelled records, and the cases that the start is worth in them."""


def labelled_start(
    records: Findings | Sampler, start: NoisyOrNetwork, fixed: Beliefs
) -> NoisyOrNetwork:
    """Return a start that has learned from the labelled records what they say of it.

    Some steps of EM over them alone, where the start counts for as much as a few cases.
    """
    seen, structure = seen_in(records), start.structure
    if seen is None or not seen.is_labelled.any():
        return start
    sampler = _labelled_sampler(records, structure)
    if sampler is None:
        return start
    totals, n_blocks = RecordTotals(int(sampler.starts[-1]), sampler.known), len(sampler.starts) - 1
    inner = inside(start.parameters)
    priors = BetaPriors(inner, Parameters.full(structure, WORTH))
    network = start.with_parameters(inner).with_fixed(fixed)
    for step in range(LABELLED_STEPS):
        counts = sampler.expect(network, n_blocks, must_screen=True, n_sweeps=2, seed=step)
        network = maximise(Trials.of(structure, counts, totals), network, fixed, priors)
    return network


def _labelled_sampler(records: Findings | Sampler, structure: Structure) -> Sampler | None:
    """Return a sampler of the labelled records alone."""
    if not isinstance(records, Findings):
        return records.labelled()
    assert records.labels is not None
    labelled = records.chosen(records.labels.is_labelled)
    return RecordSampler(structure, labelled.blocks, labels=labelled.labels)


def seen_in(records: Findings | Sampler) -> SeenCounts | None:
    """Return how often diseases were seen in records; None where they have no labels."""
    if not isinstance(records, Findings):
        return records.seen
    return None if records.labels is None else records.labels.counts()


def check_labels(seen: SeenCounts | None, fixed: Beliefs) -> None:
    """Refuse labels of diseases whose fixed priors say that they cannot be."""
    if seen is None:
        return
    for n, value, text in ((seen.seen, 0.0, "seen"), (seen.absent, 1.0, "seen to be absent")):
        wrong = np.flatnonzero((n > 0) & (fixed.values.priors == value))
        if len(wrong):
            name = quoted(seen.diseases[int(wrong[0])])
            raise ParameterError(
                f"{name} was {text} in {count_of(int(n[wrong[0]]), 'record')}, but its prior is "
                f"fixed at {value:g}: correct the labels, or do not fix it."
            )


def check_findings(findings: Findings, fixed: Beliefs) -> None:
    """Refuse findings that labels and fixed leaks of 0, as anchors have, say cannot be."""
    labels, structure = findings.labels, findings.structure
    if labels is None:
        return
    rows = np.flatnonzero(labels.is_labelled)
    is_known, is_on = labels.taken(rows).unpacked()
    is_absent = is_known & ~is_on
    for symptom in np.flatnonzero(fixed.values.leaks == 0.0).tolist():
        rows_without = rows[is_absent[:, structure.parents(symptom)].all(axis=1)]
        n = int(np.count_nonzero(findings.present(symptom)[rows_without]))
        if n:
            raise ParameterError(
                f"{quoted(structure.symptoms[symptom])} is present in {count_of(n, 'record')} in "
                "which none of its diseases is, by the labels, but its leak is fixed at 0 (no "
                "false positives): correct the labels, or do not fix it."
            )


Height = Callable[[NoisyOrNetwork], float]
"""The log likelihood of what labels and beliefs say."""


def untold_swaps(
    records: Findings | None,
    counts: LabelledCounts | None,
    network: NoisyOrNetwork,
    fixed: Beliefs,
) -> Parameters:
    """Return True for diseases of equal symptoms that might as well have each other's names.

    Findings are as likely with the names changed about. What labels and beliefs say must be clearly
    less likely then: a few cases, or a belief in a prior that both may have, decide nothing. Where
    a value is fixed, it does. Labelled records say it if they are here and can be summed up, and
    otherwise their counts, a little less well.
    """
    structure = network.structure
    is_untold = np.zeros(structure.n_diseases, dtype=np.bool_)
    groups: dict[tuple[int, ...], list[int]] = {}
    for disease in range(structure.n_diseases):
        groups.setdefault(tuple(structure.children(disease)), []).append(disease)
    is_fixed = fixed.mask.priors.copy()
    is_fixed[structure.edges[fixed.mask.failures, 0]] = True
    height = None
    for symptoms, group in groups.items():
        open_ones = [i for i in group if not is_fixed[i]] if symptoms else []
        for one, other in itertools.combinations(open_ones, 2):
            height = height or _height_of(records, counts, fixed)
            if height(network) - height(_swapped(network, one, other)) < CLEARLY:
                is_untold[[one, other]] = True
    return Parameters.of_diseases(structure, is_untold, leaks=False)


def _height_of(records: Findings | None, counts: LabelledCounts | None, fixed: Beliefs) -> Height:
    """Return what gives the log likelihood of labelled records, or their counts, and beliefs."""
    beliefs, is_free = BetaPriors.none(fixed.structure).believing(fixed), ~fixed.mask.vector
    of_labels = _of_records(records) or (counts and partial(counted_height, counts))

    def height(network: NoisyOrNetwork) -> float:
        found = beliefs.log_density(network, is_free)
        return found + of_labels(network) if of_labels else found

    return height


def _of_records(records: Findings | None) -> Height | None:
    """Return what gives the log likelihood of labelled records; None where that is too much work.

    Or where there are none.
    """
    if records is None or records.labels is None:
        return None
    labelled = ExactExpectation(records.chosen(records.labels.is_labelled), may_cut=True)

    def height(network: NoisyOrNetwork) -> float:
        labelled.cut(network)
        return labelled.expect(network).log_likelihood

    return height if labelled.is_affordable else None


def counted_height(counts: LabelledCounts, network: NoisyOrNetwork) -> float:
    """Return the log likelihood of what is counted of labelled records, a count at a time.

    How often diseases were seen, and each symptom in their cases: P(j absent | i) is that of all
    records, with f_ij in place of what i does on average. Symptoms count as if independent
    given a disease, and findings of records without it not at all: others' cases have them.
    """
    structure = network.structure
    diseases, edges = counts.totals()
    owners, symptoms = structure.edges.T
    looked, seen = diseases[:, LOOKED], diseases[:, SEEN]
    cases, present = edges[:, CASES], edges[:, CASES_PRESENT]
    on_average = 1.0 - network.priors[owners] * (1.0 - network.failures)
    absent = 1.0 - network.leaks
    np.multiply.at(absent, symptoms, on_average)
    silent = np.clip(absent[symptoms] / on_average * network.failures, MARGIN, 1.0 - MARGIN)
    p = np.clip(network.priors, MARGIN, 1.0 - MARGIN)
    of_priors = seen @ np.log(p) + (looked - seen) @ np.log1p(-p)
    return float(of_priors + present @ np.log1p(-silent) + (cases - present) @ np.log(silent))


def _swapped(network: NoisyOrNetwork, one: int, other: int) -> NoisyOrNetwork:
    """Return a network in which two diseases of equal symptoms have each other's parameters."""
    priors, failures = network.priors.copy(), network.failures.copy()
    priors[[one, other]] = priors[[other, one]]
    diseases = network.structure.edges[:, 0]
    here, there = np.flatnonzero(diseases == one), np.flatnonzero(diseases == other)
    failures[here], failures[there] = network.failures[there], network.failures[here]
    return NoisyOrNetwork(network.structure, priors, failures, network.leaks)


def is_told(seen: SeenCounts | None, n_diseases: int) -> Booleans:
    """Return which diseases labels tell of: some cases, and some records without it."""
    if seen is None:
        return np.zeros(n_diseases, dtype=np.bool_)
    return np.asarray((seen.seen >= FEWEST_CASES) & (seen.absent >= FEWEST_CASES))


def known_with(seen: SeenCounts | None, fixed: Beliefs) -> Beliefs:
    """Return what need not be told by moments: what is fixed or believed, and what labels tell.

    Only that it is known counts; the values are not those that are learned.
    """
    return fixed.knowing(is_told(seen, fixed.structure.n_diseases))


def cleaned_with(known: Beliefs, cleaned: Cleaned) -> Cleaned:
    """Return what the clean-up has learned, without doubts about diseases that are known."""
    told = known.mask.priors.copy()
    told[known.structure.edges[known.mask.failures, 0]] = True
    groups = [tuple(i for i in group if not told[i]) for group in cleaned.swaps]
    return replace(
        cleaned,
        swaps=[group for group in groups if len(group) > 1],
        explained=[fit for fit in cleaned.explained if not told[fit.diseases].any()],
    )
