"""learn_together: how diseases occur together, and depend on covariates, from the records.

The independent estimate is the start. The likelihood is climbed over more and more of the records,
as `find_maximum` does for independent diseases; all records are summed up exactly, component by
component.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.cause_models import CauseModel, LogisticModel
from noisyor.em.cells import Cells
from noisyor.em.enumerated import can_be_enumerated, observed_information
from noisyor.em.expected import BetaPriors
from noisyor.em.information import MOST_TOGETHER, MatrixInformation
from noisyor.em.joint_model import JointModel
from noisyor.em.known_causes import KnownCauses
from noisyor.em.maximum import climb_penalised
from noisyor.em.mixed import MixedExpectation, MixedLikelihood
from noisyor.em.people_on_cluster import RecordsOnCluster
from noisyor.em.runs import EMSettings, Limits, Run, best_run
from noisyor.errors import (
    ParameterError,
    collected_notices,
    count_of,
    give_notice,
    quoted,
    some_of,
)
from noisyor.findings import Findings
from noisyor.findings.joining import ROWS_IN_ORDER
from noisyor.findings.reading import RecordFormat
from noisyor.inference.flat import Floats
from noisyor.learning.estimate import Estimate
from noisyor.learning.learned_causes import (
    LearnedTogether,
    covariance_of_causes,
    item_errors,
    told_parameters,
    weak_curvature,
)
from noisyor.learning.refined import UNSHRUNK
from noisyor.learning.sampled_together import learn_sampled
from noisyor.learning.together_estimate import estimate_together
from noisyor.learning.trust import rests_on_weak
from noisyor.names import Name
from noisyor.network import Effects, NoisyOrNetwork
from noisyor.network.causes import (
    KINDS_OF_CAUSES,
    MOST_JOINT,
    MOST_TRAITS,
)
from noisyor.network.design import CATEGORY, Design, check_columns, has_columns, make_design
from noisyor.parallel import one_blas_thread
from noisyor.parameters import Parameters
from noisyor.structure import Structure

SHARE = 0.02
"""Weak priors count for this share of theirs: of few diseases many records tell enough."""
FIRST_RECORDS, MORE_RECORDS = 5000, 4
"""The first steps look at so many records, the next ones at so many times more."""
FIRST_LOADING, FIRST_STEPS = 1.0, 6
"""Loadings of traits to start with; steps that tell which start is best."""
POOLING_TURNS = 2
"""Turns of the effects of categories with the spread that they have in common."""
MOST_OPERATIONS, MOST_IF_SAMPLED = 2.0**36, 2.0**31
"""Of a pass over all records in all components; and where records can be sampled instead, which is
quicker than passes of so many."""
FLAT = 1e-4
"""A direction of the parameters is flat if the records say less than this share of what they would
say of it if all causes were seen."""


@dataclass(frozen=True)
class Together:
    """What is to be learned of how diseases occur together."""

    causes: str = "independent"
    n_traits: int = 1
    blocks: Sequence[Sequence[Name]] | None = None
    """Diseases of each block of a joint distribution; None: all in one."""
    covariates: Any = None
    """A table with a column for each, or the names of columns of the records' table."""
    unknown_covariates: str = "refuse"
    """Or "keep": whose covariates are unknown is taken for one of the others."""

    def __post_init__(self) -> None:
        if self.causes not in KINDS_OF_CAUSES:
            raise ParameterError(
                f"causes must be one of {', '.join(KINDS_OF_CAUSES)}, not {quoted(self.causes)}."
            )
        if isinstance(self.n_traits, bool) or self.n_traits not in range(1, MOST_TRAITS + 1):
            raise ParameterError(
                f"n_traits must be a whole number from 1 to {MOST_TRAITS}, not "
                f"{quoted(self.n_traits)}."
            )
        if self.unknown_covariates not in ("refuse", "keep"):
            raise ParameterError(
                f"unknown_covariates is 'refuse' or 'keep', not {quoted(self.unknown_covariates)}."
            )
        if isinstance(self.covariates, str) and not Path(self.covariates).suffix:
            raise ParameterError(
                "covariates are a table, or a list of names, not the text "
                f"{quoted(self.covariates)}."
            )
        if self.covariates is not None and self.causes == "joint":
            raise ParameterError(
                "a joint distribution of the diseases has no covariates: take causes='trait' or "
                "'independent' with them."
            )
        if self.blocks is not None and self.causes != "joint":
            raise ParameterError(f"blocks are for causes='joint', not {quoted(self.causes)}.")
        if self.n_traits != 1 and self.causes != "trait":
            raise ParameterError(
                f"n_traits (--traits) is for causes='trait' (--causes trait), not "
                f"{quoted(self.causes)}."
            )

    @property
    def is_plain(self) -> bool:
        """True if diseases are independent and there are no covariates."""
        return self.causes == "independent" and self.covariates is None

    def is_sampled(self, structure: Structure) -> bool:
        """Return True if records are sampled in any case, so many parameters there are."""
        return self.causes != "joint" and structure.n_parameters > MOST_TOGETHER

    def facts(self, effects: Effects | None) -> dict[str, Any]:
        """Return what was asked for, and the covariates that were found, for files."""
        found: dict[str, Any] = {"causes": self.causes}
        if self.causes == "trait":
            found["n_traits"] = self.n_traits
        if self.blocks is not None:
            found["blocks"] = [[str(name) for name in block] for block in self.blocks]
        if effects is not None:
            found["covariates"] = [each.name for each in effects.covariates]
            found["unknown_covariates"] = self.unknown_covariates
        return found

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns of the records' table that hold covariates, if some do."""
        names = self.covariates
        if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
            return tuple(names)
        return None

    @property
    def bare_columns(self) -> tuple[str, ...]:
        """The same, as the table calls them."""
        return tuple(name.removesuffix(CATEGORY) for name in self.columns or ())

    def design(self, findings: Findings, records: Any, form: RecordFormat) -> Design | None:
        """Read the covariates of the records, which came from `records`."""
        if self.covariates is None:
            return None
        source, names = self.covariates, self.columns
        if names is not None:
            source = records[0] if isinstance(records, list | tuple) else records
        with collected_notices() as notices:
            found = make_design(source, findings, names, form.record, self.unknown_covariates)
        for notice in notices:  # the rows of the records' own table are theirs, with or without ids
            if names is None or ROWS_IN_ORDER not in notice:
                give_notice(notice)
        return found

    def check_records(self, records: Any) -> None:
        """Raise an error where the covariates are to be columns of records that have none."""
        if self.columns is None:
            return
        source = records
        if isinstance(records, list | tuple) and has_columns(records[0] if records else None):
            if len(records) > 1:
                raise ParameterError(
                    f"covariates are read from one table, not from {len(records):,} files: put "
                    "them into a table of their own with the records' ids."
                )
            source = records[0]
        if isinstance(source, Findings) or not has_columns(source):
            raise ParameterError("the records have no columns of covariates: give a table of them.")
        check_columns(source, self.columns)

    def check_can(self, structure: Structure) -> None:
        """Raise an error where the structure forbids it."""
        childless = np.flatnonzero(np.diff(structure.child_offsets) == 0)
        if len(childless):
            names = some_of([structure.diseases[i] for i in childless.tolist()])
            raise ParameterError(
                f"no symptom tells of {names}, so nobody knows how they occur together with "
                "others: take diseases without symptoms out of the structure."
            )

    def model(self, structure: Structure, design: Design | None, known: Beliefs) -> CauseModel:
        """Return the parameters that are to be learned, with what is known of them."""
        model = self._model(structure, design).knowing(structure, known.of_causes)
        if isinstance(model, JointModel):
            model.check_possible(KnownCauses(model, known).fixed_priors)
        else:
            _check_traits(model)
        return model

    def _model(self, structure: Structure, design: Design | None) -> JointModel | LogisticModel:
        n = structure.n_diseases
        if self.causes == "joint":
            return JointModel(self._block_indices(structure), n)
        n_traits = self.n_traits if self.causes == "trait" else 0
        if n_traits and n < 2 * n_traits + 1:
            raise ParameterError(
                f"{count_of(n_traits, 'trait')} cannot be learned from {count_of(n, 'disease')}: "
                f"there must be at least {2 * n_traits + 1}. With two diseases take "
                "causes='joint'."
            )
        return LogisticModel.of(n, n_traits, design)

    def _block_indices(self, structure: Structure) -> tuple[tuple[int, ...], ...]:
        if self.blocks is None:
            n = structure.n_diseases
            if n > MOST_JOINT:
                raise ParameterError(
                    f"a joint distribution is of up to {MOST_JOINT} diseases; the structure has "
                    f"{n}: name blocks of diseases that occur together (blocks=..., --block), or "
                    "take causes='trait' (--causes trait)."
                )
            return (tuple(range(n)),)
        found = tuple(
            tuple(structure.disease_index(name) for name in block) for block in self.blocks
        )
        listed = [disease for block in found for disease in block]
        twice = sorted({disease for disease in listed if listed.count(disease) > 1})
        if twice:
            names = some_of([structure.diseases[i] for i in twice])
            raise ParameterError(f"{names} is named twice: each disease is in one block at most.")
        return found


def check_no_causes(beliefs: Beliefs) -> None:
    """Refuse what is known of loadings, effects or shares where there are none."""
    for each in beliefs.of_causes:
        options = {"loading": "causes='trait'", "effect": "covariates", "share": "causes='joint'"}
        raise ParameterError(
            f"{each} cannot be known of independent diseases: learn with "
            f"{options[each.parameter]}, from records, or leave it out."
        )


def _check_traits(model: LogisticModel) -> None:
    """Refuse traits of which too few loadings can be other than 0 to be known."""
    shape = model.n_diseases, -1
    fixed, free = model.known.fixed.reshape(shape), model.is_free.reshape(shape)
    for trait in range(1, 1 + model.n_traits):
        n_free, n_scaled = int(free[:, trait].sum()), int((np.abs(fixed[:, trait]) > 0.0).sum())
        if n_free + n_scaled == 0:
            raise ParameterError(
                "all loadings of a trait are fixed at 0, so that it does nothing: take one trait "
                "less, or causes='independent'."
            )
        if 0 < n_free < 3 and not n_scaled and not model.known.has_scale:
            raise ParameterError(
                f"a trait that only {count_of(n_free, 'disease')} may depend on cannot be learned: "
                "leave three loadings free, or fix one at another value than 0."
            )


def learn_together(
    records: Findings | RecordsOnCluster,
    independent: Estimate,
    together: Together,
    design: Design | None = None,
    *,
    fixed: Beliefs,
    shrink: bool = True,
    settings: EMSettings = EMSettings(),
    progress: Callable[[int], None] | None = None,
) -> Estimate:
    """Learn how diseases occur together, from records and what was learned as if they did not.

    Parameters
    ----------
    records
        In memory; or on a cluster, where they must have more parameters than can be summed up
        exactly (`Together.is_sampled`).
    independent
        What was learned of them with independent diseases, the start.
    together
        What is to be learned.
    design
        The covariates of the records.
    fixed
        What keeps its value, and what is believed of the rest.
    shrink
        Use weak priors at a fiftieth of their size; without, at a thousandth.
    settings
        `max_iter`, `tol`, `rng`, `n_jobs`.
    progress
        Called with the number of records looked at since the last call.
    """
    structure = independent.structure
    together.check_can(structure)
    model = together.model(structure, design, fixed)
    progress, expectation, n_records = progress or (lambda _: None), None, independent.n_records
    if isinstance(records, Findings):
        records, n_records = records.with_structure(structure), records.n_records
        if not together.is_sampled(structure):
            expectation = MixedExpectation(records, design, settings.n_jobs)
            if not _can_sum_up(expectation, model, independent.network):
                expectation = None
    if expectation is None:
        assert isinstance(model, LogisticModel)
        cells = Cells.nothing(n_records) if design is None else Cells.of(design)
        share = 1.0 if shrink else UNSHRUNK
        with one_blas_thread():
            found = learn_sampled(
                records, independent.network, model, cells, fixed=fixed, share=share,
                settings=settings, progress=progress,
            )  # fmt: skip
        return estimate_together(independent, found, fixed)
    share = SHARE if shrink else SHARE / 20.0
    climb = _Climb(expectation, fixed, share, settings, progress)
    return estimate_together(independent, _learned(*climb.run(model, independent.network)), fixed)


def _can_sum_up(expectation: MixedExpectation, model: CauseModel, network: NoisyOrNetwork) -> bool:
    """Return True if records can be summed up exactly in all components.

    If not, those of a joint distribution are refused: a block's state cannot be drawn disease by
    disease.
    """
    if expectation.has_few_states(model):
        return True
    flat = model.flat(model.causes_at(model.position_of(network.causes)), expectation.design)
    n_components = len(flat.weights)
    cost = float(np.minimum(expectation.exact.costs, 2.0**22).sum()) * n_components
    can_sample = isinstance(model, LogisticModel)
    most = MOST_IF_SAMPLED if can_sample else MOST_OPERATIONS
    can = cost <= most and expectation.exact.is_affordable
    if not can and not can_sample:
        raise ParameterError(
            f"these records cannot be summed up exactly in {n_components:,} components: they take "
            f"about 2^{np.log2(max(cost, 1.0)):.0f} operations. Learn with fewer records, smaller "
            "blocks, with causes='trait', or with independent ones."
        )
    return can


class _Climb(NamedTuple):
    """Climbs to the maximum over more and more of the records."""

    expectation: MixedExpectation
    fixed: Beliefs
    share: float
    settings: EMSettings
    progress: Callable[[int], None]

    def likelihood(
        self, part: MixedExpectation, model: CauseModel, network: NoisyOrNetwork
    ) -> MixedLikelihood:
        """Return what is maximised over some of the records, from near a network."""
        part.exact.cut(network.as_independent())
        weak = BetaPriors.weak(network.as_independent(), self.share).believing(self.fixed)
        return MixedLikelihood(part, model, weak, self.fixed, self.share, self.progress)

    def run(self, model: CauseModel, start: NoisyOrNetwork) -> tuple[Run, MixedLikelihood]:
        """Return the way to the maximum, and what was maximised."""
        limits, seed = self.settings.limits(max_iter=100, tol=0.0), self.settings.rng
        part = self.expectation.thinned(FIRST_RECORDS, seed)
        likelihood = self.likelihood(part, model, start)
        starts = _starts(likelihood, start)
        first = Limits(min(FIRST_STEPS, limits.max_iter), 0.0)
        runs = [climb_penalised(likelihood, each, first) for each in starts]
        network = max(runs, key=lambda run: run.values[-1]).network
        size = MORE_RECORDS * FIRST_RECORDS
        while 2 * size < self.expectation.n_records:
            likelihood = self.likelihood(self.expectation.thinned(size, seed), model, network)
            network = climb_penalised(likelihood, network, limits).network
            size *= MORE_RECORDS
        likelihood = self.likelihood(self.expectation, model, network)
        run = climb_penalised(likelihood, network, limits)
        if isinstance(model, LogisticModel) and model.effects is not None:
            run, likelihood = self._pooled(run, likelihood, model, limits)
        return run, likelihood

    def _pooled(
        self, run: Run, likelihood: MixedLikelihood, model: LogisticModel, limits: Limits
    ) -> tuple[Run, MixedLikelihood]:
        """Let the levels of categories have a spread in common."""
        for _ in range(POOLING_TURNS):
            if not model.has_categories:
                break
            covariance = _Precision.of(likelihood, run.network).covariance
            variances = np.diag(covariance)[: len(model.is_free)]
            model = model.with_learned_spreads(
                model.position_of(run.network.causes), np.nan_to_num(variances)
            )
            likelihood = self.likelihood(self.expectation, model, run.network)
            more = climb_penalised(likelihood, run.network, limits)
            run = more
        return run, likelihood


def _starts(likelihood: MixedLikelihood, independent: NoisyOrNetwork) -> list[NoisyOrNetwork]:
    """Return networks to start from: with traits, loadings that cannot stay 0."""
    start, model = likelihood.start_from(independent), likelihood.model
    if not isinstance(model, LogisticModel) or not model.n_traits:
        return [start]
    found, loadings = [], _first_loadings(likelihood, start, model.n_traits)
    if model.known.has_scale:  # the signs of the others are open
        loadings += [-rows for rows in loadings]
    for rows in loadings:
        position = model.position_of(start.causes).reshape(model.n_diseases, -1).copy()
        position[:, 1 : 1 + model.n_traits] = rows
        position = np.where(model.is_free, position.ravel(), 0.0)
        position = model.start_at(position, must_agree=not model.known.has_scale)
        whole = likelihood.whole_position(start)
        whole[: len(position)] = position
        found.append(likelihood.moved(start, whole[likelihood.is_free]))
    return found


def _first_loadings(
    likelihood: MixedLikelihood, start: NoisyOrNetwork, n_traits: int
) -> list[Floats]:
    """Return loadings that are all alike, and those that the posteriors' correlations have."""
    n = start.structure.n_diseases
    plain = LogisticModel.of(n, 0, None)
    scored = likelihood.expectation.without_covariates().score(start.as_independent(), plain)
    products = scored.information[:n, :n]
    scale = np.sqrt(np.maximum(np.diag(products), 1e-300))
    values, vectors = np.linalg.eigh(products / np.outer(scale, scale))
    leading = vectors[:, np.argsort(-values)[:n_traits]] * np.sqrt(n)
    signs = np.sign(leading.sum(axis=0))
    leading = np.clip(leading * np.where(signs == 0.0, 1.0, signs), -2.0, 2.0)
    alike = np.zeros((n, n_traits))
    alike[:, 0] = 1.0
    for trait in range(1, n_traits):  # a trait of every so many diseases
        alike[trait::n_traits, trait] = 1.0
    return [FIRST_LOADING * alike, FIRST_LOADING * leading]


class _Precision(NamedTuple):
    """What the records say of all parameters, by position; of those that are fixed nothing."""

    covariance: Floats
    """NaN of what is fixed or flat."""
    is_weak: Parameters
    """True where weak priors of the usual size would say more than the records do."""

    @classmethod
    def of(cls, likelihood: MixedLikelihood, network: NoisyOrNetwork) -> "_Precision":
        """Look at the records."""
        point, free = likelihood.at(network), likelihood.is_free
        assert isinstance(point.information, MatrixInformation)
        information, records = point.information.matrix, likelihood.expectation.records
        if can_be_enumerated(network, len(records.weights)):
            seen = likelihood.expectation.exact.seen
            observed = observed_information(network, likelihood.model, records, seen)
            observed = likelihood.fixed.rates.information(network.parameters, observed)
            likelihood.believe(network.causes, np.zeros(len(free)), observed)
            information = observed[np.ix_(free, free)]
        whole = np.full((len(free), len(free)), np.nan)
        whole[np.ix_(free, free)] = covariance_of_causes(
            information, point.if_seen, point.curvature, FLAT, likelihood.is_gauge
        )
        weak, model = weak_curvature(likelihood.model, network)[free], likelihood.model
        told = told_parameters(model, network, len(free) - len(model.is_free))[:, free]
        is_weak = rests_on_weak(information, weak, model.free_gauges(free), told)
        return cls(whole, Parameters.split(network.structure, is_weak))


def _learned(run: Run, likelihood: MixedLikelihood) -> LearnedTogether:
    """Return what was found at the maximum."""
    network, trace = best_run([run], "penalised log likelihood")
    model, records = likelihood.model, likelihood.expectation
    known = _Precision.of(likelihood, network)
    n_causes = len(model.is_free)
    log_likelihood = records.score(network, model).log_likelihood
    totals = records.exact.totals
    variances = likelihood.fixed.rates.variances(network.parameters, known.covariance)
    errors = item_errors(network, variances[n_causes:], totals.known)
    return LearnedTogether(
        network, trace, model, known.covariance[:n_causes, :n_causes], errors,
        totals, log_likelihood, known.is_weak,
    )  # fmt: skip
