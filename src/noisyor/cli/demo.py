"""`noisyor demo`: what the package does, on built-in data."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from noisyor.findings import Findings
    from noisyor.network import NoisyOrNetwork


def demo(
    records: Annotated[int, typer.Option("--records", "-n", min=1, help="How many.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same records.")] = 0,
) -> None:
    """Sample patients of the built-in clinic and show what was made.

    Example: noisyor demo --records 50000
    """
    from noisyor import datasets
    from noisyor.cli.output import show

    network = datasets.clinic()
    findings, diseases = network.sample(records, seed=seed, return_diseases=True)
    show(
        f"The clinic knows {network.structure.n_diseases} diseases, "
        f"{network.structure.n_symptoms} symptoms and {network.structure.n_edges} edges between "
        f"them.\nSampled {records:,} patients: {diseases.sum() / records:.2f} diseases and "
        f"{findings.count_present().sum() / records:.2f} findings each.\n",
        _symptom_table(network, findings),
        _patient(network, findings, diseases),
    )


def _symptom_table(network: "NoisyOrNetwork", findings: "Findings", rows: int = 10) -> object:
    import numpy as np
    from rich.table import Table

    table = Table(
        title="The most frequent symptoms: exact, and in the sample", title_justify="left"
    )
    for title in "symptom", "can be caused by", "exact", "sample":
        table.add_column(title, justify="right" if title in ("exact", "sample") else "left")
    exact = network.marginals()
    seen = findings.count_present() / findings.n_records
    for j in np.argsort(-exact)[:rows]:
        causes = ", ".join(network.structure.diseases[i] for i in network.structure.parents(int(j)))
        table.add_row(network.structure.symptoms[j], causes, f"{exact[j]:.4f}", f"{seen[j]:.4f}")
    return table


def _patient(network: "NoisyOrNetwork", findings: "Findings", diseases: object) -> str:
    """Tell the story of the patient with the most diseases: what is seen, and what is hidden."""
    import numpy as np

    hidden = np.asarray(diseases)
    record = int(hidden.sum(axis=1).argmax())
    seen = [network.structure.symptoms[j] for j in np.flatnonzero(findings.to_numpy()[record])]
    had = [network.structure.diseases[i] for i in np.flatnonzero(hidden[record])]
    return (
        f"\nPatient {record} came with {', '.join(seen)}.\n"
        f"What no record tells: the patient had {', '.join(had)}.\n"
    )
