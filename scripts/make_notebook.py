"""Write examples/tour.ipynb, with the outputs of its cells, by running them.

python scripts/make_notebook.py

A notebook is a JSON file with its outputs in it: here is what it says, and the file is made from
that, so that no program that edits notebooks is needed.
"""

import base64
import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "examples" / "tour.ipynb"
TEXT, CODE = "markdown", "code"
CELLS = [
    (TEXT, """\
# A tour of noisyor

Records of symptoms, in which the diseases were never seen, become a network that
diagnoses. The clinic below is made up for teaching.
"""),
    (CODE, """\
from noisyor import NoisyOrLearner, best_questions, datasets, find_schedule, posterior

clinic = datasets.clinic()
records = clinic.sample(3_000, rng=0)  # the diseases are thrown away
print(records)
"""),
    (TEXT, "Before any data: which of the edges can be learned, and in which round?\n"),
    (CODE, """\
schedule = find_schedule(clinic.structure)
print(schedule)
print(schedule.step("influenza", "fever"))
"""),
    (TEXT, "Learn. Every parameter comes with a standard error; what is in doubt is flagged.\n"),
    (CODE, """\
learner = NoisyOrLearner(clinic.structure).fit(records)
estimate = learner.estimate_
print(estimate)
print(estimate.misfits())
"""),
    (TEXT, "What was learned against the truth, with 95% intervals:\n"),
    (CODE, """\
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for axis, (name, part) in zip(axes, estimate.parts.items(), strict=True):
    truth = getattr(clinic, f"{name}s")
    axis.axline((0, 0), slope=1, color="#bbbbbb", linewidth=1)
    axis.errorbar(truth, part.values, 1.96 * part.standard_errors, fmt="o", ms=3, lw=0.7)
    axis.set(title=f"{name}s", xlabel="truth", ylabel="learned")
"""),
    (TEXT, """\
One interval in twenty should miss the truth. Here two priors miss it by far: common cold and
allergic rhinitis share three symptoms, and 3,000 records can give cases of one to the other.
With 20,000 records both intervals hold it.
"""),
    (TEXT, "A patient with fever and a cough, and no runny nose; all else is unknown.\n"),
    (CODE, """\
patient = {"present": ["fever", "cough"], "absent": ["runny nose"]}
found = posterior(estimate, **patient)
for row in found.table().to_pylist()[:4]:
    interval = f"[{row['interval_lower']:.2f}, {row['interval_upper']:.2f}]"
    print(f"{row['disease']:15} {row['probability']:.2f} {interval}")
"""),
    (TEXT, "What to ask next, to know more of influenza:\n"),
    (CODE, """\
asked = best_questions(learner.network_, **patient, about="influenza")
for row in asked.table().to_pylist()[:3]:
    print(f"{row['symptom']:22} {row['gain']:.2f} bits")
"""),
]  # fmt: skip


def figure_outputs() -> list[dict[str, Any]]:
    """Return the open figures as outputs of a cell, and close them."""
    import matplotlib.pyplot as plt

    outputs = []
    for number in plt.get_fignums():
        drawn = io.BytesIO()
        plt.figure(number).savefig(drawn, format="png", dpi=72, metadata={"Software": None})
        image = base64.b64encode(drawn.getvalue()).decode()
        data = {"image/png": image}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    plt.close("all")
    return outputs


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell and return its outputs as a notebook holds them."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, NOTEBOOK.name, "exec"), names)
    lines = printed.getvalue().splitlines(keepends=True)
    text = [{"output_type": "stream", "name": "stdout", "text": lines}] if lines else []
    return text + figure_outputs()


def cell(number: int, kind: str, source: str, names: dict[str, Any]) -> dict[str, Any]:
    """Return a cell of the notebook, run if it is code."""
    lines = source.rstrip("\n").splitlines(keepends=True)
    made = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines}
    if kind == CODE:
        made |= {"execution_count": number, "outputs": run_cell(source, names)}
    return made


def main() -> None:
    """Run all cells and write the notebook."""
    import matplotlib as mpl

    mpl.use("Agg")
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        cells = [cell(number, *each, names) for number, each in enumerate(CELLS, start=1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    NOTEBOOK.write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
