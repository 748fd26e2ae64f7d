"""One patient: what a network says of findings that are given by name."""

import math
import sys
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import NETWORK_SOURCES, existing, read_with_errors
from noisyor.cli.output import in_words_of, note, show, show_json, text_table, working
from noisyor.errors import ParameterError
from noisyor.flags import Flag

if TYPE_CHECKING:
    from noisyor.inference import LearnedNetwork, Posterior


@dataclass(frozen=True)
class DiagnosisOptions:
    """What both kinds of diagnosis are asked with; the names are those of the options."""

    network: str
    top: int | None
    method: str
    budget: float | None
    seed: int
    as_json: bool
    quiet: bool

    def inference(self, seconds: float) -> dict[str, Any]:
        """Return the arguments of inference; `seconds` is the budget where none is given."""
        budget = seconds if self.budget is None else self.budget
        return {"method": self.method, "budget": budget, "rng": self.seed}


@dataclass(frozen=True)
class Patient(DiagnosisOptions):
    """Someone with findings, about whom a network is asked."""

    present: list[str] | None
    absent: list[str] | None
    evidence: Path | None
    given: list[str] | None
    explain: bool
    ask: bool
    about: str | None
    cost: list[str] | None
    utility: list[str] | None
    sensitivity: bool
    sets: int
    errors: Path | None

    def diagnose(self) -> None:
        """Print all answers, for people or as JSON."""
        case = self._case()
        _warn_of_misfits(case.source)
        with working("asking the network", self.quiet):
            found, facts = self._answers(case)
        if self.as_json:
            show_json(facts)
        elif not self.quiet:
            with in_words_of(found.structure):
                _show_answers(found, facts)

    def _case(self) -> "Case":
        """Read the network, and understand the names of the findings."""
        from noisyor.inference.intervals import network_of

        seen: dict[str, bool] = {}
        if self.evidence is None:
            source = read_with_errors(self.network, self.errors, self.seed)
        else:
            source, seen = self._read_case(self.evidence)
        match = network_of(source).structure.match_symptom
        present, absent = (
            [match(name) for name in names or []] for names in (self.present, self.absent)
        )
        present += [name for name, state in seen.items() if state]
        absent += [name for name, state in seen.items() if not state]
        return Case(source, network_of(source), (present, absent), options.person_of(self.given))

    def _answers(self, case: "Case") -> "tuple[Posterior, dict[str, Any]]":
        """Return the posterior, and all answers as facts."""
        from noisyor.inference.posterior_tables import facts_of

        request = {"covariates": case.person, **self.inference(1.0)}
        found = noisyor.posterior(case.source, *case.findings, **request)
        facts = facts_of(found, self.top or 10)
        if self.explain:
            facts |= self._explain(case, facts["diseases"][:3])
        if self.sets:
            facts["sets"] = self._sets(case)
        if self.ask:
            facts["questions"] = self._questions(case)
        if self.sensitivity:
            moved = noisyor.sensitivity(case.source, *case.findings)  # type: ignore[arg-type]
            rows = moved.table()[:10].to_pylist()
            facts["sensitivity"] = {
                "disease": moved.disease,
                "parameters": rows,
                "without_error": moved.n_without_error,
            }
        return found, facts

    def _sets(self, case: "Case") -> dict[str, Any]:
        budget = self.inference(1.0)["budget"]
        best = noisyor.most_probable(
            case.network, *case.findings, self.sets, covariates=case.person, budget=budget
        )
        return {"is_proven": best.is_proven, "sets": best.table().to_pylist()}

    def _questions(self, case: "Case") -> list[dict[str, Any]]:
        structure = case.network.structure
        about = None if self.about is None else structure.match_disease(self.about)
        asked = noisyor.best_questions(
            case.network, *case.findings, covariates=case.person, about=about, rng=self.seed,
            costs=options.costs_of(self.cost, structure),
            utilities=options.utilities_of(self.utility, structure),
        )  # fmt: skip
        rows: list[dict[str, Any]] = asked.table()[:10].to_pylist()
        return [{**row, "unit": asked.unit, "method": asked.method} for row in rows]

    def _read_case(self, evidence: Path) -> "tuple[noisyor.NoisyOrNetwork, dict[str, bool]]":
        """Read a network of the UAI competitions with its evidence."""
        from noisyor.exchange import read_uai_case

        if not self.network.lower().endswith(".uai"):
            raise ParameterError(
                f"--evidence names variables by their numbers in a .uai file, and {self.network} "
                "has none: give findings by name, --present and --absent."
            )
        return read_uai_case(existing(self.network, NETWORK_SOURCES), evidence)

    def _explain(self, case: "Case", rows: list[Any]) -> dict[str, Any]:
        request = self.inference(1.0)
        if self.method in ("variational", "mean_field"):
            note(f"{self.method} gives no causes: they are explained by the method auto.")
            request["method"] = "auto"
        diseases = [row["disease"] for row in rows]
        found = noisyor.explain(
            case.network, *case.findings, covariates=case.person, diseases=diseases, **request
        )
        return {
            "contributions": found.contributions.to_pylist(),
            "causes": found.causes.to_pylist(),
        }


def _warn_of_misfits(source: Any) -> None:
    """Say it where the network's own file says that it does not explain its records."""
    verdict = getattr(source, "verdict", None)
    if verdict is not None and verdict.fits is False:
        note("this network does not explain the records it was learned from: `report` says why.")
    labels = getattr(source, "label_check", None)
    if labels is not None and labels.sentence:
        note("this network was learned with labels that contradict their records: `info` says why.")


class Case(NamedTuple):
    """What the network is asked about."""

    source: "noisyor.NoisyOrNetwork | LearnedNetwork"
    network: "noisyor.NoisyOrNetwork"
    findings: tuple[list[str], list[str]]
    """Present and absent ones."""
    person: dict[str, str] | None


def _show_answers(found: "Posterior", facts: dict[str, Any]) -> None:
    """Print all that was asked about one patient."""
    show(_heading(found), posterior_table(found, facts["diseases"]))
    _show_flags(facts["diseases"])
    if found.n_without_error:
        note(
            f"{found.n_without_error:,} parameters that matter here have no standard error: the "
            "intervals that there are, are too narrow."
        )
    if "causes" in facts:
        _show_explanations(facts)
    if "sets" in facts:
        best = facts["sets"]
        proven = "" if best["is_proven"] else " (the budget did not suffice to exclude better ones)"
        rows = [
            [", ".join(row["diseases"]) or "none", _percent(row["probability"])]
            for row in best["sets"]
        ]
        titles = "diseases", "probability"
        _show_plain(f"Most probable sets{proven}", titles, rows, left=["diseases"])
    if "questions" in facts:
        _show_questions(facts["questions"])
    if "sensitivity" in facts:
        _show_sensitivity(**facts["sensitivity"])


def _show_questions(questions: list[dict[str, Any]]) -> None:
    has_costs = any("cost" in row for row in questions)
    rows = [
        [
            row["symptom"], f"{row['gain']:.3f}", _percent(row["probability"]),
            *([f"{row['cost']:g}", f"{row['gain_per_cost']:.3g}"] if has_costs else []),
        ]
        for row in questions
    ]  # fmt: skip
    unit = questions[0]["unit"] if questions else "bits"
    told = "tells (bits)" if unit == "bits" else "saves (loss)"
    titles = ["finding", told, "present", *(["cost", f"{unit} a cost"] * has_costs)]
    # Whatever the method of the diagnosis, these may be means over states that are drawn.
    sampled = " (sampled)" if any(row["method"] == "sampled" for row in questions) else ""
    _show_plain(f"What to ask for next{sampled}", titles, rows)


def _show_sensitivity(disease: str, parameters: list[dict[str, Any]], without_error: int) -> None:
    rows = [
        [
            " ".join(filter(None, (row["parameter"], row["disease"], row["symptom"]))),
            f"{row['value']:.3g}", f"{row['lower']:.3g} to {row['upper']:.3g}",
            f"{_percent(row['at_lower'])} to {_percent(row['at_upper'])}",
        ]
        for row in parameters
    ]  # fmt: skip
    titles = "parameter", "value", "95% interval", f"{disease} there"
    _show_plain(f"What {disease} hangs on", titles, rows, left=["parameter"])
    if without_error:
        note(
            f"Left out there: {without_error:,} parameters that matter and have no standard error; "
            "how far they move it is not known."
        )


def _bar(p: float) -> str:
    """Return a bar, which is 24 characters long where the probability is 1."""
    can_draw = "utf" in (sys.stdout.encoding or "").lower()
    return ("█" if can_draw else "#") * round(24 * p)


def _percent(p: float) -> str:
    if 0.0 < p < 0.0005 or 0.9995 < p < 1.0:
        return "< 0.1%" if p < 0.5 else "> 99.9%"
    return f"{100 * p:.1f}%"


def posterior_table(found: "Posterior", rows: list[dict[str, Any]]) -> Any:
    """Return the most probable diseases as a table with bars."""
    has_intervals = found.interval_lower is not None
    is_rough = found.method != "exact"
    more = ["95% interval"] * has_intervals + ["within"] * is_rough
    table = []
    for row in rows:
        name = f"{row['disease']} *" if row.get("flags") else row["disease"]
        cells = [name, _percent(row["probability"]), _percent(row["prior"])]
        if has_intervals:
            cells.append(_interval(row["interval_lower"], row["interval_upper"]))
        if is_rough:
            cells.append(f"{_percent(row['bound_lower'])} to {_percent(row['bound_upper'])}")
        table.append([*cells, _bar(row["probability"])])
    titles = "disease", "probability", "before", *more, ""
    return text_table(titles, table, left=["disease", ""], has_lines=False)


def _interval(lower: float, upper: float) -> str:
    if math.isnan(lower):
        return "not known"
    if lower == upper:
        return "certain" if lower in (0.0, 1.0) else "all fixed"
    return f"{_percent(lower)} to {_percent(upper)}"


def _show_flags(rows: list[dict[str, Any]]) -> None:
    """Say below the table why diseases are marked in it."""
    by_text: dict[str, list[str]] = {}
    flags = Flag(0)
    for row in rows:
        if row.get("flagged_by"):
            by_text.setdefault(row["flagged_by"], []).append(row["disease"])
            flags |= Flag.from_codes(row["flags"])
    if by_text:
        show("* rests on parameters that are flagged: it may be far off, and has no interval.")
    for text, diseases in by_text.items():
        show(f"  {', '.join(diseases)}: {text}.")
    for sentence in flags.sentences:
        show(f"  Flagged: {sentence}.")


def _heading(found: "Posterior") -> str:
    method = {
        "exact": "exact",
        "variational": f"bounds, no probability is off by more than {found.error:.2g}",
        "mean_field": "mean field, of unknown error",
        "gibbs": f"sampled, within {found.error:.2g} with 95% confidence",
    }[found.method]
    parts = [
        f"{state}: {', '.join(names)}"
        for state, names in (("Present", found.present), ("absent", found.absent))
        if names
    ]
    n_unknown = found.structure.n_symptoms - len(found.present) - len(found.absent)
    listed = "; ".join([*parts, f"{n_unknown:,} unknown"])
    return f"{listed[0].upper()}{listed[1:]} ({method})."


def _show_explanations(facts: dict[str, Any]) -> None:
    for name in dict.fromkeys(row["disease"] for row in facts["contributions"]):
        rows = [
            [
                f"no {row['finding']}" if row["state"] == "absent" else row["finding"],
                f"{row['log_odds']:+.2f}",
                _percent(row["without"]),
            ]
            for row in facts["contributions"]
            if row["disease"] == name
        ]
        _show_plain(f"{name}: what each finding adds", ("finding", "log odds", "without it"), rows)
    rows = []
    for finding in facts["present"]:
        causes = [row for row in facts["causes"] if row["finding"] == finding][:4]
        texts = [
            f"{row['cause'] or 'none of the diseases'} {_percent(row['probability'])}"
            for row in causes
            if row["probability"] >= 0.005
        ]
        rows.append([finding, ", ".join(texts)])
    titles = "finding", "causes (several can act at once)"
    _show_plain("What has caused each finding", titles, rows, left=titles)


def _show_plain(
    title: str, titles: Iterable[str], rows: list[list[str]], left: Container[str] = ("finding",)
) -> None:
    show("", text_table(titles, rows, title=title, left=left, has_lines=False))
