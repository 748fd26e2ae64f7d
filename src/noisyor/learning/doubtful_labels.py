"""Labels that contradict the findings of their records.

The learned network says of each labelled record how probable each disease is by its findings alone,
without its labels: p. Labels y that belong to the records are draws from these, also where they
were taken because of the findings, and so three sums over the records are known but for chance:

    log score  the sum of log P(y)    its mean is the sum of p log p + (1 - p) log(1 - p)
    cases      the sum of y           its mean is the sum of p
    symptoms   the sum of k y         its mean is the sum of k p; k of the disease's symptoms are
                                      present in a record

A low log score shows labels of other records, or of another disease, and wrong ones; cases, those
that were chosen by the disease; symptoms, labels that go against the findings, which a network that
followed them can only take for chance. How unlikely a sum S is, the bound of Chernoff (1952) says:

    P(S <= s) <= E[exp(-t S)] exp(t s) for every t > 0

Posteriors have been learned from these labels too, which makes them look a little better.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from noisyor.errors import count_of, quoted, some_of
from noisyor.findings import Findings
from noisyor.findings.labels import Labels
from noisyor.flags import Flag
from noisyor.inference.answers import make_request
from noisyor.inference.posterior import posteriors_of
from noisyor.names import Indices, Name
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Floats

MOST_RECORDS = 1000
"""Labelled records that are looked at, and..."""
BUDGET = 0.003
"""... the seconds that each is worth; those that take longer exactly are left out."""
MISTAKES = 0.001
"""The share of labels that may be wrong in any case: no posterior is surer than that."""
LEVEL = 0.001
"""The chance of a message where all labels are right."""
STEPS = np.geomspace(0.01, 100.0, 40)
"""Where the bound is looked for."""
TOO_FAR = 3.0
"""Standard deviations from chance at which posteriors and labels go together, or against."""
NEAR_CHANCE = 0.15
"""How far from one half concordance may be for labels that are no better than chance."""
WELL_KNOWN = 0.02
"""The standard deviation of concordance from which it says that labels tell nothing."""
CLEARLY = np.log(100.0)
"""How much better labels must fit another disease's posteriors."""


class Surprise(NamedTuple):
    """A sum over labelled records, and what it would be by their findings."""

    found: float
    expected: float
    error: float
    p_value: float
    """The chance of anything as unlikely if the labels belong to the findings; at most."""

    def __str__(self) -> str:
        digits = 1 if abs(self.expected) < 10.0 else 0
        expected, error = f"{self.expected:,.{digits}f}", f"{self.error:,.1f}"
        return f"{self.found:,.0f}, expected {expected} +- {error}"


class LabelsOfDisease(NamedTuple):
    """The labels of a disease beside the findings of their records."""

    disease: str
    log_score: Surprise
    cases: Surprise
    symptoms: Surprise
    """That its cases have."""

    @property
    def p_value(self) -> float:
        """The chance of any of them; at most."""
        return min(1.0, 3.0 * min(each.p_value for each in self[1:]))

    @property
    def has_too_many(self) -> bool:
        """True if it is cases that are unlikely, so many are there."""
        is_more = self.cases.found > self.cases.expected
        return is_more and self.cases.p_value < self.log_score.p_value

    def __str__(self) -> str:
        """Return the most unlikely of them in words; symptoms where nothing else is unlikely."""
        sums = {"log score": self.log_score, "cases": self.cases}
        if min(each.p_value for each in sums.values()) > LEVEL:
            sums = {"symptoms of cases": self.symptoms}
        name = min(sums, key=lambda each: sums[each].p_value)
        return f"{quoted(self.disease)} ({name} {sums[name]})"


class LabelCheck(NamedTuple):
    """What was found when labels were compared with the findings of their records."""

    n_records: int
    """Labelled records that were looked at."""
    doubtful: tuple[LabelsOfDisease, ...] = ()
    """The diseases whose labels contradict the findings, the clearest first."""
    n_diseases: int = 0
    """Of so many whose labels were looked at."""
    hint: str = ""
    """What may be wrong, in words; without a doubtful disease it is of all labels together."""

    @property
    def sentence(self) -> str:
        """What is wrong in words; nothing where labels and findings go together."""
        if not self.doubtful:
            return self.hint
        listed = "; ".join(map(str, self.doubtful[:3]))
        more = len(self.doubtful) - 3
        rest = f"; and {more:,} more" if more > 0 else ""
        return (
            f"The labels of {len(self.doubtful):,} of {count_of(self.n_diseases, 'disease')} "
            f"contradict the findings of their records, by the learned network: {listed}{rest}. "
            f"{self.hint}"
        )

    def to_document(self) -> dict[str, Any]:
        """Return it for JSON."""
        names = LabelsOfDisease._fields
        rows = [dict(zip(names, (each[0], *map(list, each[1:])), strict=True)) for each in self[1]]
        return self._asdict() | {"doubtful": rows}

    @classmethod
    def from_document(cls, listed: dict[str, Any]) -> Self:
        """Return what `to_document` gave; keys that are not known are passed over."""
        rows = tuple(_row_of(row) for row in listed.get("doubtful", ()))
        n_records, n_diseases = int(listed["n_records"]), int(listed["n_diseases"])
        return cls(n_records, rows, n_diseases, str(listed.get("hint", "")))


def _row_of(row: dict[str, Any]) -> LabelsOfDisease:
    sums = (Surprise(*map(float, row[name])) for name in LabelsOfDisease._fields[1:])
    return LabelsOfDisease(str(row["disease"]), *sums)


class ComparedLabels(NamedTuple):
    """Labels and posteriors, records x diseases; only those that are known count."""

    posteriors: Floats
    is_on: Booleans
    is_known: Booleans
    n_symptoms: Floats
    """How many symptoms of the disease the record has."""

    def column(self, disease: int) -> tuple[Floats, Booleans]:
        """Return the posteriors and the labels of one disease, where it has both."""
        here = self.is_known[:, disease]
        return self.posteriors[here, disease], self.is_on[here, disease]

    def taken(self, records: Booleans, labels: Indices, posteriors: Indices) -> "ComparedLabels":
        """Return the labels of some diseases beside the posteriors of as many, of some records."""
        of_labels, of_findings = np.ix_(records, labels), np.ix_(records, posteriors)
        return ComparedLabels(
            self.posteriors[of_findings], self.is_on[of_labels], self.is_known[of_labels],
            self.n_symptoms[of_findings],
        )  # fmt: skip

    def log_scores(self) -> Floats:
        """Return the log probability of the labels of each disease."""
        p = np.where(self.is_on, self.posteriors, 1.0 - self.posteriors)
        return np.asarray(np.where(self.is_known, np.log(p), 0.0).sum(axis=0))


def check_labelled(
    network: NoisyOrNetwork,
    findings: Findings,
    *,
    rows: Floats | None = None,
    n_jobs: int | None = None,
) -> LabelCheck | None:
    """Compare labels with what a learned network says of their records by the findings alone.

    `rows` are the covariates of the records. What rests on parameters that were not learned is left
    out. None where there is nothing to compare.

    >>> import numpy as np
    >>> from noisyor import datasets
    >>> clinic = datasets.clinic()
    >>> findings, diseases = clinic.sample(200, rng=1, return_diseases=True)
    >>> check_labelled(clinic, findings.with_labels(diseases)).sentence
    ''
    >>> wrong = check_labelled(clinic, findings.with_labels(np.roll(diseases, 1, axis=0)))
    >>> wrong.hint
    'They go together no better than by chance: are they of other records (ids)?'
    """
    compared = compared_labels(network, findings, rows=rows, n_jobs=n_jobs)
    if compared is None:
        return None
    found = doubted(compared, network.structure.diseases)
    assert findings.labels is not None
    if found.doubtful or 2 * int(findings.labels.is_labelled.sum()) < findings.n_records:
        return found
    return found._replace(hint=_unrelated(compared))


def compared_labels(
    network: NoisyOrNetwork,
    findings: Findings,
    *,
    rows: Floats | None = None,
    n_jobs: int | None = None,
) -> ComparedLabels | None:
    """Return the labels of some of the records beside exact posteriors."""
    if findings.labels is None:
        return None
    chosen = _chosen(findings.labels)
    some = findings.chosen(chosen)
    assert some.labels is not None
    found = posteriors_of(
        network, some, make_request("exact", BUDGET, 0), n_jobs=n_jobs,
        rows=None if rows is None else rows[chosen],
    )  # fmt: skip
    is_known, is_on = some.labels.of_diseases(network.structure.diseases).unpacked()
    is_known &= np.isfinite(found.probabilities) & found.is_exact[:, np.newaxis]
    if found.flags is not None:
        is_known &= (found.flags & np.uint16(Flag.NOT_LEARNED)) == 0
    sure = MISTAKES + (1.0 - 2.0 * MISTAKES) * np.nan_to_num(found.probabilities)
    present, structure = np.nan_to_num(some.to_numpy()).astype(np.float64), network.structure
    n_symptoms = np.stack(
        [present[:, structure.children(i)].sum(axis=1) for i in range(structure.n_diseases)], axis=1
    )
    return ComparedLabels(sure, is_on, is_known, n_symptoms) if is_known.any() else None


def _chosen(labels: Labels) -> Booleans:
    """Return which records are looked at: those that have a label, or some of them."""
    labelled = np.flatnonzero(labels.is_labelled)
    if len(labelled) > MOST_RECORDS:
        labelled = np.random.default_rng(0).choice(labelled, MOST_RECORDS, replace=False)
    chosen = np.zeros(len(labels), dtype=np.bool_)
    chosen[labelled] = True
    return chosen


def doubted(compared: ComparedLabels, diseases: Sequence[Name]) -> LabelCheck:
    """Return what labels and posteriors say of each other."""
    has_absent = (compared.is_known & ~compared.is_on).any(axis=0)  # else `tell_one_sided` tells it
    looked = np.flatnonzero(has_absent).tolist()
    rows = {i: _of_disease(compared, i, str(diseases[i])) for i in looked}
    wrong = [i for i in looked if rows[i].p_value * len(looked) < LEVEL]
    wrong.sort(key=lambda i: rows[i].p_value)
    return LabelCheck(
        int(compared.is_known.any(axis=1).sum()), tuple(rows[i] for i in wrong), len(looked),
        _hint(compared, wrong, rows, diseases) if wrong else "",
    )  # fmt: skip


def _of_disease(compared: ComparedLabels, disease: int, name: str) -> LabelsOfDisease:
    """Compare the labels of one disease with its posteriors."""
    p, is_on = compared.column(disease)
    n_symptoms = compared.n_symptoms[compared.is_known[:, disease], disease]
    nothing = np.zeros(len(p))
    return LabelsOfDisease(
        name,
        surprise(p, is_on, np.log(p), np.log1p(-p), only_less=True),
        surprise(p, is_on, nothing + 1.0, nothing),
        surprise(p, is_on, n_symptoms, nothing),
    )


def surprise(
    p: Floats, is_on: Booleans, on: Floats, off: Floats, *, only_less: bool = False
) -> Surprise:
    """Compare a sum with its mean: a label that is 1, with probability p, adds `on`, 0 `off`."""
    found = float(np.where(is_on, on, off).sum())
    expected = float((p * on + (1.0 - p) * off).sum())
    error = float(np.sqrt((p * (1.0 - p) * (on - off) ** 2).sum()))
    if only_less:
        return Surprise(found, expected, error, tail_bound(p, on, off, found))
    sign = 1.0 if found < expected else -1.0
    chance = 2.0 * tail_bound(p, sign * on, sign * off, sign * found)
    return Surprise(found, expected, error, min(1.0, chance))


def tail_bound(p: Floats, on: Floats, off: Floats, total: float) -> float:
    """Bound the chance that a sum of independent terms, `on` with probability p, is so small.

    >>> p = np.full(10, 0.5)
    >>> round(tail_bound(p, np.ones(10), np.zeros(10), 0), 4)  # exactly 0.5^10
    0.001
    """
    least = 0.0
    for t in STEPS:
        of_terms = np.logaddexp(np.log(p) - t * on, np.log1p(-p) - t * off)
        at = float(of_terms.sum()) + t * total
        if at >= least:  # it is convex
            break
        least = at
    return float(np.exp(least))


# --- what may be wrong ---


def _hint(
    compared: ComparedLabels,
    wrong: list[int],
    rows: dict[int, LabelsOfDisease],
    diseases: Sequence[Name],
) -> str:
    """Return what the pattern of wrong labels looks like."""
    share, error = concordance(compared, wrong)
    if share < 0.5 - max(NEAR_CHANCE, TOO_FAR * error):
        return "They go against the findings: are 0 and 1 exchanged (the wrong way round)?"
    pairs = exchanged(compared, wrong)
    if pairs:
        names = some_of([f"{diseases[i]} and {diseases[j]}" for i, j in pairs], most=3)
        return f"Each fits the findings as the other's would: are columns exchanged ({names})?"
    of_structure = "Diseases that occur together, and a wrong structure, show like this, too."
    if all(rows[i].has_too_many for i in wrong):
        return f"Were records labelled because of the disease? {of_structure}"
    if abs(share - 0.5) < NEAR_CHANCE and 2 * len(wrong) > _n_with_cases(compared):
        return "They go together no better than by chance: are they of other records (ids)?"
    return f"Are some of them wrong, or of other records or another column? {of_structure}"


def _n_with_cases(compared: ComparedLabels) -> int:
    """Return how many diseases have both kinds of labels."""
    on = (compared.is_known & compared.is_on).any(axis=0)
    off = (compared.is_known & ~compared.is_on).any(axis=0)
    return int((on & off).sum())


def _unrelated(compared: ComparedLabels) -> str:
    """Return a sentence if labels have nothing to do with the findings; else nothing.

    Where most records are labelled, the network follows labels of other records, and takes symptoms
    for chance: then its posteriors are no judges. But cases have more of their symptoms than other
    records have, in any noisy-or.
    """
    by_symptoms = compared._replace(posteriors=compared.n_symptoms)
    share, error = concordance(by_symptoms, list(range(compared.is_on.shape[1])))
    if error > WELL_KNOWN or share > 0.5 + TOO_FAR * error:
        return ""
    return (
        "The labels go together with the symptoms of their diseases no better than by chance: are "
        "they of other records (ids)?"
    )


def concordance(compared: ComparedLabels, diseases: list[int]) -> tuple[float, float]:
    """Return how often a case has the greater posterior, and how far from one half chance goes.

    A case and a record without the disease at a time, as Mann and Whitney (1947); the error is the
    standard deviation under chance, infinite where there is nothing to say.
    """
    wins = pairs = variance = 0.0
    for disease in diseases:
        p, is_on = compared.column(disease)
        in_order, n_on = np.sort(p), int(is_on.sum())
        ranks = (np.searchsorted(in_order, p) + np.searchsorted(in_order, p, "right") + 1.0) / 2.0
        n_pairs = n_on * (len(p) - n_on)
        wins += float(ranks[is_on].sum()) - n_on * (n_on + 1) / 2.0
        pairs, variance = pairs + n_pairs, variance + n_pairs * (len(p) + 1) / 12.0
    if not pairs:
        return 0.5, np.inf
    return wins / pairs, float(np.sqrt(variance)) / pairs


def exchanged(compared: ComparedLabels, diseases: list[int]) -> list[tuple[int, int]]:
    """Return pairs of diseases whose labels both fit the other's posteriors clearly better."""
    found = []
    for i, j in itertools.combinations(diseases, 2):
        here = compared.is_known[:, i] & compared.is_known[:, j]
        both = np.array([i, j])
        own, theirs = (compared.taken(here, both, others) for others in (both, both[::-1]))
        share, error = concordance(theirs, [0, 1])
        fits = share > 0.5 + max(NEAR_CHANCE, TOO_FAR * error)
        if fits and bool((theirs.log_scores() - own.log_scores() > CLEARLY).all()):
            found.append((i, j))
    return found
