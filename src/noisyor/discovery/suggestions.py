"""suggest: which edges and diseases records ask for, and which they do not need."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa

from noisyor.discovery.checking import check_level
from noisyor.discovery.contradictions import (
    CONTRADICTED,
    FoundEdges,
    bic_of_adding,
    contradicted,
)
from noisyor.discovery.fitting import Fitter
from noisyor.discovery.scores import EdgeScores, PairScorer
from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.findings.findings import findings_of
from noisyor.findings.reading import ReadOptions, record_format
from noisyor.flags import Flag
from noisyor.immutable import EqualByValue
from noisyor.learning import Estimate
from noisyor.learning.misfit_causes import HIDDEN, disease_like
from noisyor.learning.misfits import Misfits, q_values
from noisyor.moments import MomentPlan, count_moments
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import as_seed
from noisyor.parameters import Booleans, Floats, Parameters
from noisyor.schedule import find_schedule
from noisyor.structure import Structure

ADD, DROP, ADD_DISEASE = "add edge", "drop edge", "add disease"
MOST_PAIRED = 500
"""With more symptoms, only pairs that share a disease are looked at for missing ones."""
MOST_CHECKED = 20
"""Suggestions of which it is said what they do to the schedule."""


class Suggestion(NamedTuple):
    """A change of the structure."""

    kind: str
    """"add edge", "drop edge" or "add disease"."""
    disease: str
    """Of a disease to add: empty."""
    symptoms: tuple[str, ...]
    gain: float
    """Nearly by how much the log likelihood rises; below 0 where an edge goes. NaN where edges come
    and go together."""
    gain_bic: float
    """Nearly by how much BIC falls, halved: the gain less half the log of the number of records for
    each parameter that comes, and less the log of how many such changes there are to choose from;
    an edge that goes brings its half back."""
    p_value: float
    """The chance of such a gain if the edge, or disease, was not there; large where one goes."""
    q_value: float
    """The smallest false-discovery rate at which it is found: of an edge to add (Benjamini and
    Hochberg 1995), or of one that was given and goes (on average, how likely it and those found
    before it are right). NaN of others."""
    strength: float
    """1 - f, of an edge; NaN of a disease."""
    n_reached: int | None = None
    """By how many more parameters the schedule would reach (fewer: below 0), beside the new ones;
    None where that was not looked at."""

    @property
    def sentence(self) -> str:
        """The suggestion in words."""
        reached = _reached(self.n_reached)
        names = ", ".join(self.symptoms)
        if np.isnan(self.gain):
            verb = "seems to cause" if self.kind == ADD else "does not seem to cause"
            return f"{self.disease} {verb} {names}, given the other changes of this step."
        if self.kind == ADD:
            return (
                f"{self.disease} seems to cause {names} (with a probability of about "
                f"{self.strength:.2g}): with this edge the log likelihood rises by "
                f"{self.gain:,.1f}.{reached}"
            )
        if self.kind == DROP:
            return (
                f"{self.disease} hardly causes {names}: without this edge the log likelihood falls "
                f"by {-self.gain:z,.1f}.{reached}"
            )
        return (
            f"{names} occur together as if a disease caused them that is not in the structure; the "
            f"log likelihood would rise by about {self.gain:,.1f}.{reached}"
        )


def _reached(n_reached: int | None) -> str:
    if not n_reached:
        return ""
    more, noun = ("more" if n_reached > 0 else "fewer"), "parameter"
    number = abs(n_reached)
    return f" The schedule then reaches {number:,} {more} {noun}{'s' if number > 1 else ''}."


@dataclass(frozen=True, eq=False)
class Suggestions(EqualByValue):
    """Changes of a structure, those that BIC gains most by first."""

    rows: tuple[Suggestion, ...]
    n_records: int
    n_tested: int
    """Edges that are not there and were tested."""

    def of(self, kind: str) -> tuple[Suggestion, ...]:
        """Return those of a kind: "add edge", "drop edge" or "add disease"."""
        return tuple(row for row in self.rows if row.kind == kind)

    def table(self) -> pa.Table:
        """Return a row per suggestion, as an Arrow table."""
        rows = [
            row._asdict() | {"symptoms": ", ".join(row.symptoms), "sentence": row.sentence}
            for row in self.rows
        ]
        schema = pa.schema([
            ("kind", pa.string()), ("disease", pa.string()), ("symptoms", pa.string()),
            ("gain", pa.float64()), ("gain_bic", pa.float64()), ("p_value", pa.float64()),
            ("q_value", pa.float64()), ("strength", pa.float64()), ("n_reached", pa.int64()),
            ("sentence", pa.string()),
        ])  # fmt: skip
        return pa.Table.from_pylist(rows, schema=schema)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        kinds = {ADD: "edges to add", DROP: "to drop", ADD_DISEASE: "diseases to add"}
        parts = ", ".join(f"{len(self.of(kind))} {words}" for kind, words in kinds.items())
        return f"Suggestions({parts})"


def suggest(
    estimate: Estimate | NoisyOrNetwork,
    records: Any,
    *,
    level: float = 0.05,
    diseases: bool = True,
    rng: Any = 0,
    n_jobs: int | None = None,
    **options: Unpack[ReadOptions],
) -> Suggestions:
    """Say which changes of the structure records ask for, and which edges they do not need.

    All edges that the network does not have are tested in one pass over the records, all that it
    has in another.

    Parameters
    ----------
    estimate
        What was learned from these records, by "refined" or another likelihood method: tests
        assume that its parameters fit them.
    records
        As `NoisyOrLearner.fit` takes them.
    level
        The share of false ones that is allowed among the edges to add.
    diseases
        Also look for symptoms that a missing disease may cause.
    rng
        A seed or a numpy Generator, where records have so many possible diseases that these are
        sampled.
    n_jobs
        Threads; None: as many as there are cores.
    options
        How records are read, as in `NoisyOrLearner.fit`.

    Examples
    --------
    >>> from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure
    >>> from noisyor.discovery import suggest
    >>> truth = Structure.from_matrix([[1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1]])
    >>> network = NoisyOrNetwork(truth, [0.2, 0.1], [0.4] * 9, [0.02] * 7)
    >>> records = network.sample(3000, rng=0)
    >>> wrong = Structure(truth.diseases, truth.symptoms, truth.edges[1:])  # without D0 -> S0
    >>> found = suggest(NoisyOrLearner(wrong).fit(records).estimate_, records)
    >>> [(row.kind, row.disease, row.symptoms) for row in found.rows]
    [('add edge', 'D0', ('S0',))]
    """
    check_level(level)
    seed = as_seed(rng) % 2**31
    network, flags = _network_of(estimate)
    findings = read_records(records, network.structure, options)
    scorer = PairScorer(network, findings, seed=seed, n_jobs=n_jobs)
    sums = scorer.sums()
    absent, present = scorer.absent_edges(sums), scorer.present_edges(sums)
    n = findings.n_records
    rows = [*edges_to_add(absent, network.structure, n, level)]
    if len(present.edges):
        errors = Fitter(findings, seed=seed, n_jobs=n_jobs).failure_errors(network)
        doubtful = doubtful_diseases(network.structure, flags)
        rows += edges_to_drop(present, errors, network, n, doubtful)
    if diseases:
        found = diseases_to_add(network, flags, findings, n_jobs)
        added = {(row.disease, row.symptoms[0]) for row in rows if row.kind == ADD}
        rows += [row for row in found if not _is_an_edge(network.structure, row.symptoms, added)]
    rows.sort(key=lambda row: -row.gain_bic)
    checked = with_schedules(rows, network.structure)
    return Suggestions(tuple(checked), n, len(absent.edges))


def _network_of(estimate: Any) -> tuple[NoisyOrNetwork, Parameters | None]:
    if isinstance(estimate, Estimate):
        return estimate.network, estimate.flags
    if isinstance(estimate, NoisyOrNetwork):
        return estimate, estimate.flags
    raise ParameterError(
        f"give an Estimate (learner.estimate_) or a network, not {type(estimate).__name__}."
    )


def read_records(records: Any, structure: Structure, options: ReadOptions) -> Findings:
    """Read records into memory; there must be some."""
    findings = findings_of(records, structure, record_format(options))
    if not findings.n_records:
        raise ParameterError("there is nothing to learn from: there are no records.")
    return findings.with_structure(structure)


# --- edges ---


def edges_to_add(
    absent: EdgeScores, structure: Structure, n_records: int, level: float
) -> list[Suggestion]:
    """Return the edges that are found at a false-discovery rate and that BIC wants."""
    rates = q_values(absent.p_values)
    by_bic = bic_of_adding(absent.gains, n_records, len(absent.gains))
    return _added(absent, structure, n_records, np.flatnonzero((rates <= level) & (by_bic > 0.0)))


def _added(
    absent: EdgeScores, structure: Structure, n_records: int, chosen: Indices
) -> list[Suggestion]:
    p_values, gains = absent.p_values, absent.gains
    rates, by_bic = q_values(p_values), bic_of_adding(gains, n_records, len(gains))
    return [
        Suggestion(
            ADD, structure.diseases[absent.edges[k, 0]], (structure.symptoms[absent.edges[k, 1]],),
            float(gains[k]), float(by_bic[k]), float(p_values[k]), float(rates[k]),
            float(absent.strengths[k]),
        )
        for k in chosen.tolist()
    ]  # fmt: skip


def edges_to_drop(
    present: EdgeScores, errors: Floats, network: NoisyOrNetwork, n_records: int,
    doubtful: Collection[str] = (), lost: Floats | None = None,
) -> list[Suggestion]:  # fmt: skip
    """Return the edges that BIC does not want, and that records contradict.

    `errors` are the standard errors of the failures, with all that other parameters take up; `lost`
    is by how much the log likelihood falls without each edge (None: as tests say). Edges of
    diseases that are `doubtful` stay: these may stand where others should.
    """
    structure = network.structure
    is_doubtful = np.array([name in doubtful for name in structure.diseases])
    known = np.where(is_doubtful[present.edges[:, 0]], np.nan, errors)
    rates = contradicted(FoundEdges.of(present, known, network, n_records, lost))
    by_bic = 0.5 * np.log(n_records) - present.gains
    return _dropped(present, structure, by_bic, np.flatnonzero(rates <= CONTRADICTED), rates)


def additions_to_drop(
    present: EdgeScores, is_added: Booleans, structure: Structure, n_records: int, n_choices: int,
    factor: float = 1.0,
) -> list[Suggestion]:  # fmt: skip
    """Return the edges that are no longer worth what they had to be worth when they were added.

    Or not `factor` times as much.
    """
    by_bic = -bic_of_adding(present.gains, n_records, n_choices)
    is_doubted = present.gains < factor * (present.gains + by_bic)
    rates = np.full(len(by_bic), np.nan)
    return _dropped(present, structure, by_bic, np.flatnonzero(is_doubted & is_added), rates)


def _dropped(
    present: EdgeScores, structure: Structure, by_bic: Floats, chosen: Indices, rates: Floats
) -> list[Suggestion]:
    p_values = present.p_values
    return [
        Suggestion(
            DROP, structure.diseases[present.edges[k, 0]],
            (structure.symptoms[present.edges[k, 1]],), 0.0 - float(present.gains[k]),
            float(by_bic[k]), float(p_values[k]), float(rates[k]), float(present.strengths[k]),
        )
        for k in chosen.tolist()
    ]  # fmt: skip


def doubtful_diseases(structure: Structure, flags: Parameters | None) -> set[str]:
    """Return the diseases whose priors are flagged, as if records could take them for others."""
    if flags is None:
        return set()
    is_doubtful = (flags.priors & (Flag.DOUBTFUL & ~Flag.UNCERTIFIED)) != 0
    return {structure.diseases[i] for i in np.flatnonzero(is_doubtful)}


# --- diseases ---


def diseases_to_add(
    network: NoisyOrNetwork, flags: Parameters | None, findings: Findings, n_jobs: int | None
) -> list[Suggestion]:
    """Return blocks of symptoms that occur together more often than the network explains."""
    structure, n = network.structure, findings.n_records
    is_small = structure.n_symptoms <= MOST_PAIRED
    plan = MomentPlan.all_pairs(structure) if is_small else MomentPlan.coupled(structure)
    moments = count_moments(findings, plan, n_jobs=n_jobs)
    misfits = Misfits(network, moments, flags=flags)
    if misfits.fits is not False:
        return []
    found = []
    for cause in misfits.causes:
        if cause.kind != HIDDEN:
            continue
        k, gain = len(cause.members), cause.residual**2 / 2.0
        by_bic = gain - (k + 1) / 2.0 * np.log(n) - log_choices(k, structure.n_symptoms)
        names = tuple(structure.symptoms[j] for j in cause.members)
        nan = float("nan")
        if by_bic > 0.0:
            found.append(
                Suggestion(ADD_DISEASE, "", names, gain, float(by_bic), misfits.p_value, nan, nan)
            )
    return found


def edges_in_place_of(
    block: Suggestion, absent: EdgeScores, structure: Structure, n_records: int
) -> list[Suggestion]:
    """Return edges that would give a known disease all symptoms of one that seems to be missing.

    Two edges that one disease lacks look like a disease with all of its symptoms.
    """
    members = structure.symptom_indices(block.symptoms)
    like = disease_like(structure, members.tolist())
    is_wanted = (absent.edges[:, 0] == like) & np.isin(absent.edges[:, 1], members)
    return _added(absent, structure, n_records, np.flatnonzero(is_wanted))


def log_choices(n_chosen: int, n_symptoms: int) -> float:
    """Return the log of how many sets of symptoms there are, or a little more."""
    return float(n_chosen * np.log(n_symptoms) - np.log(np.arange(1, n_chosen + 1)).sum())


def _is_an_edge(structure: Structure, symptoms: Sequence[str], added: set[tuple[str, str]]) -> bool:
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


# --- what they do to the schedule ---


def changed(structure: Structure, changes: Sequence[Suggestion]) -> Structure:
    """Return a structure with changes made; diseases that come are named after their symptoms."""
    edges = dict.fromkeys((int(i), int(j)) for i, j in structure.edges)
    diseases = list(structure.diseases)
    for change in changes:
        symptoms = [structure.symptom_index(name) for name in change.symptoms]
        if change.kind == ADD_DISEASE:
            diseases.append(new_name(change.symptoms, diseases))
            edges |= {(len(diseases) - 1, j): None for j in symptoms}
        elif change.kind == ADD:
            edges[structure.disease_index(change.disease), symptoms[0]] = None
        else:
            edges.pop((structure.disease_index(change.disease), symptoms[0]), None)
    return Structure(diseases, structure.symptoms, np.array(list(edges)).reshape(-1, 2))


def key_of(change: Suggestion) -> tuple[Any, ...]:
    """Return what tells a change from others."""
    return change.kind, change.disease, change.symptoms


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


def with_schedules(rows: Sequence[Suggestion], structure: Structure) -> list[Suggestion]:
    """Return suggestions, the first of them with what they do to the schedule."""
    if not rows:
        return []
    before = _n_unreached(structure)
    checked = [
        row._replace(n_reached=before - _n_unreached(changed(structure, [row])))
        for row in rows[:MOST_CHECKED]
    ]
    return [*checked, *rows[MOST_CHECKED:]]


def _n_unreached(structure: Structure) -> int:
    """Return how many edges no schedule learns."""
    return int((find_schedule(structure).depths < 0).sum())
