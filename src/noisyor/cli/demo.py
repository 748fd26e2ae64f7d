"""`noisyor demo`: what the package does, on built-in data."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from noisyor.findings import Findings
    from noisyor.learning import Estimate
    from noisyor.network import NoisyOrNetwork

MOST_ROWS = 10


def demo(
    records: Annotated[int, typer.Option("--records", "-n", min=1, help="How many.")] = 5_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same records.")] = 0,
) -> None:
    """Sample patients of the built-in clinic, forget their diseases, learn the clinic, diagnose.

    Example: noisyor demo --records 50000
    """
    from noisyor import datasets
    from noisyor.cli.output import show
    from noisyor.learner import NoisyOrLearner

    network = datasets.clinic()
    structure = network.structure
    findings, diseases = network.sample(records, seed=seed, return_diseases=True)
    show(
        f"The clinic knows {structure.n_diseases} diseases, {structure.n_symptoms} symptoms and "
        f"{structure.n_edges} edges between them.\n"
        f"Sampled {records:,} patients: {diseases.sum() / records:.2f} diseases and "
        f"{findings.count_present().sum() / records:.2f} findings each.",
        _patient(network, findings, diseases),
    )
    learner = NoisyOrLearner(structure).fit(findings)
    rounds = ", then ".join(str(n) for n in learner.schedule_.edges_per_round)
    show(
        "The diseases are thrown away. Known is only which disease can cause which symptom; from "
        f"that follows in which order the edges can be learned: {rounds} edges.\n",
        _prior_table(network, learner.estimate_),
        _closing(network, learner.estimate_),
    )
    _diagnose(learner.network_, findings, diseases)


def _most_ill(diseases: object) -> int:
    """Return the patient with the most diseases."""
    import numpy as np

    return int(np.asarray(diseases).sum(axis=1).argmax())


def _diagnose(learned: "NoisyOrNetwork", findings: "Findings", diseases: object) -> None:
    """Ask the learned network about the patient whose story was told."""
    import numpy as np

    from noisyor.cli.output import show
    from noisyor.cli.posterior_tables import posterior_table
    from noisyor.inference import posterior

    record = _most_ill(diseases)
    row = findings.to_numpy()[record]
    present, absent = np.flatnonzero(row).tolist(), np.flatnonzero(~row).tolist()
    found = posterior(learned, present, absent)
    show(
        f"\nAnd patient {record}? The learned network, which has never seen a disease, says:",
        posterior_table(found, found.table().slice(0, 5).to_pylist()),
    )


def _patient(network: "NoisyOrNetwork", findings: "Findings", diseases: object) -> str:
    """Tell the story of the patient with the most diseases: what is seen, and what is hidden."""
    import numpy as np

    hidden = np.asarray(diseases)
    record = _most_ill(diseases)
    seen = [network.structure.symptoms[j] for j in np.flatnonzero(findings.to_numpy()[record])]
    had = [network.structure.diseases[i] for i in np.flatnonzero(hidden[record])]
    return (
        f"\nPatient {record} came with {', '.join(seen) or 'nothing'}.\n"
        f"What no record tells: the patient had {', '.join(had) or 'no disease'}.\n"
    )


def _prior_table(network: "NoisyOrNetwork", estimate: "Estimate") -> object:
    import numpy as np
    from rich.table import Table

    from noisyor.learning import Flag

    table = Table(
        title="The most frequent diseases, true and learned",
        title_justify="left",
    )
    for title in "disease", "true prior", "learned", "standard error", "doubts":
        table.add_column(title, justify="left" if title == "disease" else "right")
    learned = estimate.priors
    for i in np.argsort(-network.priors)[:MOST_ROWS]:
        error = learned.standard_errors[i]
        table.add_row(
            network.structure.diseases[i],
            f"{network.priors[i]:.4f}",
            f"{learned.values[i]:.4f}",
            "unknown" if np.isnan(error) else f"{error:.4f}",
            Flag(int(learned.flags[i])).reasons.split(":")[0] or "-",
        )
    return table


def _closing(network: "NoisyOrNetwork", estimate: "Estimate") -> str:
    import numpy as np

    is_sound = estimate.failures.flags == 0
    wrong = np.abs(estimate.failures.values - network.failures)[is_sound]
    how_well = f", with a mean error of {wrong.mean():.3f}" if wrong.size else ""
    return f"{len(wrong)} of {len(is_sound)} failures were learned{how_well}."
