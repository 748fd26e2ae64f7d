"""Compiled sums over all states of a record's candidates."""

import numpy as np

from noisyor.em.candidate_kernels import CERTAIN, HUGE, OpenRecord
from noisyor.inference.flat import FlatNetwork, Floats, Integers, Listed
from noisyor.inference.gibbs_kernels import Random, next_uniform
from noisyor.kernels import kernel

SURE = np.log(1e12)
"""Log odds above which states without a disease are not worth the time to sum them up."""


@kernel
def enumerate_states(
    net: FlatNetwork, symptoms: Listed, n_chosen: int, workspace: OpenRecord, random: Random
) -> float:
    """Sum over all states of a record's candidates, one flip after the other (Gray code).

    Those that are present whatever the others are stay on. Fills `probabilities`, `with_disease`
    and `inverses`. A state is kept: drawn with its probability, or the most probable one where
    `random` is empty. Returns the log of how much more probable all states together are than the
    one without a candidate.
    """
    log_odds = list_entries(net, n_chosen, workspace)
    reset_absent(net, symptoms, workspace)
    in_doubt = find_doubted(net, log_odds, workspace)
    reset_absent(net, symptoms, workspace)
    scale_sums(n_chosen, len(symptoms), 0.0, workspace)
    log_weight, total, on = 0.0, 0.0, (1 << n_chosen) - 1
    for index in in_doubt:
        on ^= 1 << index
    for index in range(n_chosen):
        if (on >> index) & 1:
            log_weight += log_odds[index] + flip(net, index, True, workspace)
    reference, best, best_weight = log_weight, on, -np.inf
    for number in range(1 << len(in_doubt)):
        if number > 0:
            bit = 0
            while not (number >> bit) & 1:
                bit += 1
            index = in_doubt[bit]
            on ^= 1 << index
            turned_on = (on >> index) & 1 == 1
            log_weight += log_odds[index] if turned_on else -log_odds[index]
            log_weight += flip(net, index, turned_on, workspace)
        if not len(random) and log_weight > best_weight:
            best, best_weight = on, log_weight
        if log_weight > reference + 20.0:
            # What was summed so far is small beside this: bring it to the new scale.
            scale = np.exp(reference - log_weight)
            total *= scale
            scale_sums(n_chosen, len(symptoms), scale, workspace)
            reference = log_weight
        weight = np.exp(log_weight - reference)
        if weight >= 1e-12 * total:
            total += weight
            if len(random) and next_uniform(random) * total < weight:
                best = on
            add_state(on, n_chosen, len(symptoms), weight, workspace)
    scale_sums(n_chosen, len(symptoms), 1.0 / total, workspace)
    for index in range(n_chosen):
        workspace.is_on[workspace.chosen[index]] = (best >> index) & 1 == 1
    return float(reference + np.log(total))


@kernel
def reset_absent(net: FlatNetwork, symptoms: Listed, workspace: OpenRecord) -> None:
    """Let the findings' probabilities be those without any disease."""
    for x in range(len(symptoms)):
        workspace.absent[x] = 1.0 - net.leaks[symptoms[x]]
        if workspace.h[x] > 0.0:
            workspace.w[x] = 1.0 / (1.0 - workspace.absent[x])


@kernel
def find_doubted(net: FlatNetwork, log_odds: Floats, workspace: OpenRecord) -> Integers:
    """Return the candidates that may be on or off, those with few findings first.

    Diseases explain each other's findings away: the odds of each are smallest where all others are
    on. If it is sure even then, what all states without it add up to is as small beside the others.
    """
    for index in range(len(log_odds)):
        flip(net, index, True, workspace)
    found, n_found = workspace.in_doubt, 0
    for index in range(len(log_odds)):
        least = log_odds[index] - flip(net, index, False, workspace)
        flip(net, index, True, workspace)
        if least < SURE:
            at = n_found
            while at > 0 and n_entries_of(found[at - 1], workspace) > n_entries_of(
                index, workspace
            ):
                found[at] = found[at - 1]
                at -= 1
            found[at] = index
            n_found += 1
    return found[:n_found]


@kernel
def n_entries_of(index: int, workspace: OpenRecord) -> int:
    """Return how many present findings a candidate has: what a flip of it costs."""
    return int(workspace.entry_offsets[index + 1] - workspace.entry_offsets[index])


@kernel
def list_entries(net: FlatNetwork, n_chosen: int, workspace: OpenRecord) -> Floats:
    """List the present findings of the candidates; return their log odds without these."""
    log_odds, n_entries = workspace.log_odds[:n_chosen], 0
    for index in range(n_chosen):
        disease = workspace.chosen[index]
        workspace.entry_offsets[index] = n_entries
        log_odds[index] = net.log_odds[disease] + CERTAIN * workspace.labels[disease]
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            x = workspace.slots[net.edge_symptoms[edge]] - 1
            if x >= 0:
                log_odds[index] -= net.log_failures[edge]
                if workspace.h[x] > 0.0:
                    workspace.entry_edges[n_entries] = edge
                    workspace.entry_findings[n_entries] = x
                    n_entries += 1
    workspace.entry_offsets[n_chosen] = n_entries
    return log_odds


@kernel
def flip(net: FlatNetwork, index: int, turned_on: bool, workspace: OpenRecord) -> float:
    """Turn a candidate on or off; return the change of the log probability of its findings."""
    change, ratio = 0.0, 1.0
    for entry in range(workspace.entry_offsets[index], workspace.entry_offsets[index + 1]):
        x = workspace.entry_findings[entry]
        f = net.failures[workspace.entry_edges[entry]]
        absent = workspace.absent[x] * f if turned_on else workspace.absent[x] / f
        ratio *= (1.0 - absent) * workspace.w[x]
        workspace.absent[x], workspace.w[x] = absent, 1.0 / (1.0 - absent)
        if ratio > HUGE or ratio < 1.0 / HUGE:
            change += np.log(ratio)
            ratio = 1.0
    return float(change + np.log(ratio))


@kernel
def add_state(
    on: int, n_chosen: int, n_findings: int, weight: float, workspace: OpenRecord
) -> None:
    """Add a state, given as bits of the candidates, to the sums."""
    for x in range(n_findings):
        workspace.inverses[x] += weight * workspace.w[x]
    for index in range(n_chosen):
        if (on >> index) & 1:
            workspace.probabilities[index] += weight
            for entry in range(workspace.entry_offsets[index], workspace.entry_offsets[index + 1]):
                workspace.with_disease[entry] += (
                    weight * workspace.w[workspace.entry_findings[entry]]
                )


@kernel
def scale_sums(n_chosen: int, n_findings: int, scale: float, workspace: OpenRecord) -> None:
    """Multiply all sums; by 0 to begin them, whatever they are."""
    for sums, n in (
        (workspace.probabilities, n_chosen),
        (workspace.with_disease, workspace.entry_offsets[n_chosen]),
        (workspace.inverses, n_findings),
    ):
        for index in range(n):
            sums[index] = sums[index] * scale if scale > 0.0 else 0.0
