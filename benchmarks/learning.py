"""The paper's learner: seconds for schedule and solving, errors on exact and sampled moments."""

from pathlib import Path

import numpy as np

from benchmarks.measuring import print_table, seconds
from noisyor import (
    Moments,
    NoisyOrNetwork,
    Structure,
    count_moments,
    datasets,
    find_schedule,
    learn_sequential,
)
from noisyor.learning import Flag

PAPER_SCHEDULE = 4.5 * 3600
"""Seconds, on 32 processors (Section 4.2)."""
PAPER_SOLVING = 180
"""Seconds at most, on one processor."""
STRUCTURES = Path(__file__).parents[2] / "shared" / "structures"
REAL = ("orphanet570", "health_knowledge_graph", "ddxplus", "tcc4e", "plants")


def run(scale: float) -> None:
    networks = {"qmr_shaped": datasets.qmr_shaped(0)}
    for name in REAL:
        if (STRUCTURES / name).is_dir():
            networks[name] = datasets.from_folder(STRUCTURES / name, seed=1)
    schedules(networks)
    exact_moments(networks)
    figure_1(max(1, int(10 * scale)))
    for name in "qmr_shaped", "orphanet570":
        if name in networks:
            errors_by_depth(name, networks[name], [int(n * scale) for n in (100_000, 1_000_000)])


def schedules(networks: dict[str, NoisyOrNetwork]) -> None:
    structures = {name: network.structure for name, network in networks.items()}
    model = structures.get("orphanet570", structures["qmr_shaped"])
    structures["4,000 diseases"] = enlarged(model, 4000, 8000, 110_000)
    rows = [["structure", "edges", "seconds", "edges a round, with pairs", "triplets alone"]]
    for name, structure in structures.items():
        with_pairs, alone = find_schedule(structure), find_schedule(structure, pairs=False)
        time = seconds(lambda structure=structure: find_schedule(structure))
        rows.append(
            [
                name,
                f"{structure.n_edges:,}",
                f"{time:.3f}",
                *(
                    f"{each.edges_per_round}, {int((each.depths < 0).sum()):,} left"
                    for each in (with_pairs, alone)
                ),
            ]
        )
    print_table("Schedules", rows)
    time = seconds(lambda: find_schedule(structures["qmr_shaped"]))
    print(
        f"\nThe paper: 4.5 hours on 32 processors; ours on one: {PAPER_SCHEDULE / time:,.0f} times"
    )


def enlarged(model: Structure, n_diseases: int, n_symptoms: int, n_edges: int) -> Structure:
    """Return a random structure whose degrees are distributed as those of a model."""
    rng = np.random.default_rng(0)
    children = rng.choice(np.diff(model.child_offsets), n_diseases)
    popularity = rng.choice(np.diff(model.parent_offsets), n_symptoms).astype(float)
    children = np.maximum(1, np.round(children * n_edges / children.sum()).astype(int))
    edges = [
        (disease, symptom)
        for disease, size in enumerate(children)
        for symptom in rng.choice(n_symptoms, size, replace=False, p=popularity / popularity.sum())
    ]
    names = [f"D{i}" for i in range(n_diseases)], [f"S{j}" for j in range(n_symptoms)]
    return Structure(*names, np.array(edges))


def exact_moments(networks: dict[str, NoisyOrNetwork]) -> None:
    rows = [["network", "learned", "largest error at depth 0, 1, ...", "of priors", "of leaks"]]
    for name, network in ({"figure1": datasets.figure1(0)} | networks).items():
        schedule = find_schedule(network.structure)
        estimate = learn_sequential(Moments.exact(network, schedule.plan()), schedule)
        wrong = np.abs(estimate.failures.values - network.failures)
        depths = ", ".join(
            f"{wrong[estimate.failures.depths == depth].max():.0e}"
            for depth in range(schedule.n_rounds)
        )
        others = (
            f"{np.abs(part.values - truth)[part.is_learned].max():.0e}"
            for part, truth in (
                (estimate.priors, network.priors),
                (estimate.leaks, network.leaks),
            )
        )
        learned = f"{int(estimate.failures.is_learned.sum()):,} of {len(wrong):,} edges"
        rows.append([name, learned, depths, *others])
    print_table("From exact moments", rows)


def figure_1(n_sets: int) -> None:
    """Mean sum of L1 errors over 9 parameters, 64 networks a set (Section 4.1)."""
    schedule = find_schedule(datasets.figure1(0).structure)
    rows = [["records", "mean", "between sets of 64", "with the 5 leaks"]]
    for n_records in 100, 1000, 10_000, 100_000:
        errors, of_leaks = np.empty((2, n_sets, 64))
        for seed in range(64 * n_sets):
            network = datasets.figure1(seed)
            moments = count_moments(network.sample(n_records, seed=seed + 10**6), schedule.plan())
            learned = learn_sequential(moments, schedule, standard_errors=False).network
            place = divmod(seed, 64)
            errors[place] = (
                np.abs(learned.priors - network.priors).sum()
                + np.abs(learned.failures - network.failures).sum()
            )
            of_leaks[place] = errors[place] + np.abs(learned.leaks - network.leaks).sum()
        means = errors.mean(axis=1)
        rows.append(
            [
                f"{n_records:,}",
                f"{means.mean():.3f}",
                f"{means.std():.3f}",
                f"{of_leaks.mean():.3f}",
            ]
        )
    print_table(f"Figure 1, {n_sets} sets of 64 networks", rows)


def errors_by_depth(name: str, network: NoisyOrNetwork, sizes: list[int]) -> None:
    rows = [
        [
            "records", "choice", "mean error of failures at depth 0, 1, ...", "learned, clipped",
            "95% intervals that cover", "count", "solve", "with standard errors",
        ]
    ]  # fmt: skip
    for n_records in sizes:
        findings = network.sample(n_records, seed=1)
        for choice in "first", "rarest":
            schedule = find_schedule(network.structure, choice=choice)
            plan = schedule.plan()
            moments = count_moments(findings, plan)
            estimate = learn_sequential(moments, schedule)
            part = estimate.failures
            wrong = np.abs(part.values - network.failures)
            depths = ", ".join(
                f"{wrong[part.depths == depth].mean():.3f}" if (part.depths == depth).any() else "-"
                for depth in range(schedule.n_rounds)
            )
            known = np.isfinite(part.standard_errors)
            covered = (wrong[known] < 1.96 * part.standard_errors[known]).mean()
            times = (
                seconds(lambda plan=plan, findings=findings: count_moments(findings, plan)),
                seconds(
                    lambda moments=moments, schedule=schedule: learn_sequential(
                        moments, schedule, standard_errors=False
                    )
                ),
                seconds(
                    lambda moments=moments, schedule=schedule: learn_sequential(moments, schedule)
                ),
            )
            flags = f"{int(part.is_learned.sum()):,}, {part.count(Flag.CLIPPED):,}"
            rows.append(
                [
                    f"{n_records:,}", choice, depths, flags,
                    f"{covered:.1%} of {int(known.sum()):,}", *(f"{time:.2f} s" for time in times),
                ]
            )  # fmt: skip
    print_table(f"{name} from records (the paper solves in under {PAPER_SOLVING} s)", rows)
