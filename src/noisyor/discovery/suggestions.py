"""suggest: which edges and diseases records ask for, and which they do not need."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from noisyor.discovery.changes import ADD, ADD_DISEASE, DROP, MERGE, SPLIT, Suggestion, changed
from noisyor.discovery.checking import check_level
from noisyor.discovery.contradictions import (
    CONTRADICTED,
    FoundEdges,
    bic_of_adding,
    contradicted,
)
from noisyor.discovery.fitting import Fitter
from noisyor.discovery.reading import read_records
from noisyor.discovery.rearranging import starving
from noisyor.discovery.scores import EdgeScores, PairScorer
from noisyor.discovery.suggested_diseases import (
    diseases_to_add,
    fitted_changes,
    is_an_edge,
    is_only_alike,
    is_said,
    merges_of,
    misfits_of,
    split_of,
)
from noisyor.errors import ParameterError, give_notice, some_of
from noisyor.findings.reading import ReadOptions
from noisyor.flags import Flag
from noisyor.immutable import EqualByValue
from noisyor.learning import Estimate
from noisyor.learning.misfit_causes import disease_like
from noisyor.learning.misfits import q_values
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import as_seed
from noisyor.parameters import Booleans, Floats, Parameters
from noisyor.schedule import find_schedule
from noisyor.structure import Structure

Edge = tuple[str, str]
FEWEST_CASES = 3.0
"""Expected records with a disease, below which tests of its edges tell nothing."""
MOST_CHECKED = 20
"""Suggestions of which it is said what they do to the schedule."""


@dataclass(frozen=True, eq=False)
class Suggestions(EqualByValue):
    """Changes of a structure, those that BIC gains most by first.

    Diseases that records only do not tell apart come last.
    """

    rows: tuple[Suggestion, ...]
    n_records: int
    n_tested: int
    """Edges that are not there and were tested."""

    def of(self, kind: str) -> tuple[Suggestion, ...]:
        """Return those of a kind: "add edge", "drop edge", "add disease" and so on."""
        return tuple(row for row in self.rows if row.kind == kind)

    def table(self) -> pa.Table:
        """Return a row per suggestion, as an Arrow table."""
        rows = [
            row._asdict()
            | {name: ", ".join(getattr(row, name)) for name in ("symptoms", "shared")}
            | {"sentence": row.sentence}
            for row in self.rows
        ]
        schema = pa.schema([
            ("kind", pa.string()), ("disease", pa.string()), ("symptoms", pa.string()),
            ("gain", pa.float64()), ("gain_bic", pa.float64()), ("p_value", pa.float64()),
            ("q_value", pa.float64()), ("strength", pa.float64()), ("n_reached", pa.int64()),
            ("other", pa.string()), ("shared", pa.string()), ("sentence", pa.string()),
        ])  # fmt: skip
        return pa.Table.from_pylist(rows, schema=schema)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        kinds = {
            ADD: "edges to add", DROP: "to drop", ADD_DISEASE: "diseases to add",
            SPLIT: "to split", MERGE: "to merge",
        }  # fmt: skip
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
    client: Any = None,
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
        Also look for diseases to add, to split and to merge. Splits and merges are fitted anew.
    rng
        A seed or a numpy Generator, where records have so many possible diseases that these are
        sampled.
    n_jobs
        Threads; None: as many as there are cores.
    client
        Of a Dask cluster, whose workers read the records and send them here as bits.
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
    findings = read_records(records, network.structure, options, client)
    _tell_starved(network, findings.n_records)
    scorer = PairScorer(network, findings, seed=seed, n_jobs=n_jobs)
    sums = scorer.sums()
    absent, present = scorer.absent_edges(sums), scorer.present_edges(sums)
    n = findings.n_records
    fitter = Fitter(findings, seed=seed, n_jobs=n_jobs)
    rows = [*edges_to_add(absent, network.structure, n, level)]
    errors = fitter.failure_errors(network) if len(present.edges) else np.empty(0)
    if len(present.edges):
        doubtful = doubtful_diseases(network.structure, flags)
        rows += edges_to_drop(present, errors, network, n, doubtful)
    if diseases:
        rows = _with_diseases(network, flags, fitter, rows, errors, n_jobs)
    # Where records only do not tell two diseases apart, nothing speaks for a change.
    rows.sort(key=lambda row: (is_only_alike(row), -row.gain_bic))
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


def _tell_starved(network: NoisyOrNetwork, n_records: int) -> None:
    """Say of which diseases no test can tell anything, since near-duplicates have their cases."""
    names, n_cases = network.structure.diseases, n_records * network.priors
    found = [names[i] for i, _ in starving(network) if n_cases[i] < FEWEST_CASES]
    if found:
        give_notice(
            f"diseases with hardly a case, as they were fitted: {some_of(found)}. Another one has "
            "most of the symptoms of each, and perhaps the cases. Records then say nothing of the "
            "edges: one that is false, or missing, is not named. repair (noisyor repair) fits such "
            "diseases once more, with cases."
        )


def _with_diseases(
    network: NoisyOrNetwork, flags: Parameters | None, fitter: Fitter, rows: list[Suggestion],
    errors: Floats, n_jobs: int | None,
) -> list[Suggestion]:  # fmt: skip
    """Return edges that were found, and diseases to add, to split and to merge.

    What else shows of diseases to split or to merge is the same in other words.
    """
    structure, findings = network.structure, fitter.findings
    misfits = misfits_of(network, flags, findings, n_jobs)
    blocks = diseases_to_add(misfits, structure, findings.n_records)
    splits = (split_of(block, network, fitter) for block in blocks)
    tried = [*filter(None, splits), *merges_of(network, misfits, errors, fitter)]
    changes = fitted_changes(tried, network, fitter)
    added = {(row.disease, row.symptoms[0]) for row in rows if row.kind == ADD}
    new = (each for each in blocks if not is_an_edge(structure, each.symptoms, added))
    certain = (each for each in changes if not is_only_alike(each))
    wrong = {name for each in certain for name in (each.disease, each.other)}
    return [
        *(row for row in rows if row.disease not in wrong),
        *(each for each in new if not is_said(each, changes, structure)),
        *changes,
    ]


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


# --- what they do to the schedule ---


def with_schedules(rows: Sequence[Suggestion], structure: Structure) -> list[Suggestion]:
    """Return suggestions, the first of them with what they do to the schedule."""
    if not rows:
        return []
    before = _reached(structure)
    return [
        *(row._replace(n_reached=_n_more(row, structure, before)) for row in rows[:MOST_CHECKED]),
        *rows[MOST_CHECKED:],
    ]


def _n_more(row: Suggestion, structure: Structure, before: dict[Edge, bool]) -> int:
    """Return by how many more of the edges that stay a schedule reaches with a change."""
    after = _reached(changed(structure, [row]))
    return sum(after[edge] - before[edge] for edge in before.keys() & after.keys())


def _reached(structure: Structure) -> dict[Edge, bool]:
    """Return of each edge, by names, whether the schedule reaches it."""
    names = zip(*structure.edge_names().values(), strict=True)
    return dict(zip(names, (find_schedule(structure).depths >= 0).tolist(), strict=True))
