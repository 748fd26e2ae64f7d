"""Files as people have them: understood as their clean twins are, or refused in one sentence."""

import dataclasses
import functools
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pytest

from noisyor import (
    Findings,
    MomentPlan,
    Moments,
    NoisyOrError,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    count_moments,
)
from user_files.cases import Refused
from user_files.make_files import all_cases, make_files
from user_files.truth import DISEASES, EDGES, LABELS, SYMPTOMS, TWINS, file, wide

HAS_EXCEL = importlib.util.find_spec("openpyxl") is not None
CASES = all_cases()
OF_RECORDS = [pytest.param(case, id=case.name) for case in CASES if not case.labels]
OF_LABELS = [pytest.param(case, id=case.name) for case in CASES if case.labels]
BY_NAME = {case.name: case for case in CASES}
CLEAN = Structure.from_edges(EDGES)


def must_happen(case):
    """Return what must happen with a case on this machine."""
    files = *case.structure, *case.records, *case.labels
    if not HAS_EXCEL and any(name.endswith(".xlsx") for name in files):
        return Refused((r"\.xlsx", "openpyxl|pip install"))
    return case.must


def twin_array(twin):
    return np.array(list(TWINS[twin].values()), dtype=float).reshape(-1, len(SYMPTOMS))


@functools.cache
def twin_counts(twin):
    """Return what counting the clean twin gives, by names."""
    findings = Findings.from_numpy(twin_array(twin), CLEAN)
    return counts_by_name(count_moments(findings, MomentPlan.coupled(CLEAN), n_groups=1))


def counts_by_name(moments):
    """Return the counts of symptoms and pairs under their names, in whatever order they stand."""
    plan, names = moments.plan, moments.plan.structure.symptoms
    names = [unicodedata.normalize("NFC", name) for name in names]
    columns = plan.structure.edge_names()
    found = {
        "records": moments.n_records,
        "edges": {
            tuple(unicodedata.normalize("NFC", name) for name in edge)
            for edge in zip(columns["disease"], columns["symptom"], strict=True)
        },
    }
    for order in 1, 2:
        values = moments.values(order)
        for number, members in enumerate(plan.sets(order).reshape(-1, order).tolist()):
            # How many records know the set, and in how many of them none of it is present.
            known = int(np.broadcast_to(values.n_records, len(plan.sets(order)))[number])
            absent = round(float(values.absent[number]) * known) if known else 0
            present = int(moments.counts(order)[number])
            found[frozenset(names[member] for member in members)] = known, present, absent
    return found


def check_told(told, case):
    """Check that notes say what they must."""
    must = must_happen(case)
    missing = [note for note in must.notes if not re.search(note, told, re.IGNORECASE | re.DOTALL)]
    assert not missing, f"not told: {missing}; told: {told!r}"
    assert not (must.is_silent and told), told


def check_said(said, patterns):
    """Check that a sentence says where something is wrong and what to do."""
    missing = [part for part in patterns if not re.search(part, said)]
    assert not missing, f"not said: {missing}; said: {said!r}"


def refusal(code, out, err):
    """Return the one sentence with which a command ended; nothing but notes stands before it."""
    assert code == 2, (out, err)
    *notes, error = err.splitlines()
    assert error.startswith("noisyor: error: "), err
    assert all(line.startswith("noisyor: note: ") for line in notes), err
    return error.removeprefix("noisyor: error: ")


@pytest.mark.parametrize("case", OF_RECORDS)
def test_counting(case, run, tmp_path):
    folder = case.write(tmp_path)
    output = tmp_path / "x.moments"
    code, out, err = run("count", *case.arguments(folder), "-o", output, "--groups", 1)
    if isinstance(must_happen(case), Refused):
        check_said(refusal(code, out, err), must_happen(case).patterns)
        assert not output.exists()
    else:
        assert code == 0, err
        assert counts_by_name(Moments.load(output)) == twin_counts(case.must.twin)
        check_told(err, case)


@pytest.mark.parametrize("case", OF_RECORDS)
def test_reading_in_python(case, tmp_path):
    case = dataclasses.replace(case, must=case.in_python or case.must)
    folder = case.write(tmp_path)
    (structure_file,) = case.structure

    def read():
        structure = Structure.from_csv(folder / structure_file)
        files = [folder / name for name in case.records]
        return Findings.read(files, structure, **case.options_in(folder))

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if isinstance(must_happen(case), Refused):
            with pytest.raises(NoisyOrError) as error:
                read()
            assert len(str(error.value).splitlines()) == 1
            check_said(str(error.value), must_happen(case).patterns)
            return
        findings = read()
    assert {warning.category for warning in told} <= {NoisyOrWarning}
    check_told("\n".join(str(warning.message) for warning in told), case)
    names = [unicodedata.normalize("NFC", name) for name in findings.structure.symptoms]
    order = [names.index(name) for name in SYMPTOMS]
    rows = findings.to_numpy().astype(float)[:, order]
    assert sorted_rows(rows) == sorted_rows(twin_array(case.must.twin))


def sorted_rows(array):
    return sorted(tuple(-1.0 if np.isnan(value) else value for value in row) for row in array)


@pytest.mark.parametrize("word", ["da", "1,00", "mild, kurz", "a=b", "[x]"])
def test_the_remedy_can_be_copied(word, run, tmp_path):
    """What the sentence says to write is understood, with a state put in."""
    case = BY_NAME["clean"]
    folder = case.write(tmp_path)
    (folder / "records.csv").write_bytes(file(wide(words=("0", word, "")), ";"))
    arguments = ["count", *case.arguments(folder), "-o", tmp_path / "x.moments", "--groups", 1]
    code, _, err = run(*arguments)
    if code != 0:
        remedy = re.search(r'--values "(.*?)"', err)[1]
        assert remedy == f"{word}=STATE"
        code, _, err = run(*arguments, "--values", remedy.replace("STATE", "present"))
    assert code == 0, err
    assert counts_by_name(Moments.load(tmp_path / "x.moments")) == twin_counts("complete")


# --- labels ---


@pytest.fixture(scope="module")
def learned_from_twin():
    findings = Findings.from_numpy(twin_array("complete"), CLEAN)
    seen = np.array(list(LABELS.values()), dtype=bool)
    return NoisyOrLearner(CLEAN, method="observed").fit(findings, seen).network_


@pytest.mark.parametrize("case", OF_LABELS)
def test_learning_from_labels(case, run, tmp_path, learned_from_twin):
    folder = case.write(tmp_path)
    output = tmp_path / "learned.json"
    (labels,) = case.labels
    code, out, err = run(
        "fit", *case.arguments(folder), "-o", output,
        "--method", "observed", "--labels", folder / labels,
    )  # fmt: skip
    if isinstance(must_happen(case), Refused):
        check_said(refusal(code, out, err), must_happen(case).patterns)
        assert not output.exists()
    else:
        assert code == 0, err
        network = NoisyOrNetwork.load(output)
        assert network.structure == CLEAN
        for name in "priors", "failures", "leaks":
            expected = getattr(learned_from_twin, name)
            np.testing.assert_allclose(getattr(network, name), expected, rtol=1e-12)
        check_told(err, case)


def test_shuffled_labels_by_row_would_be_seen(learned_from_twin):
    """A negative control: labels joined by row, not by id, give another network."""
    findings = Findings.from_numpy(twin_array("complete"), CLEAN)
    seen = np.array(list(LABELS.values()), dtype=bool)[::-1]
    wrong = NoisyOrLearner(CLEAN, method="observed").fit(findings, seen).network_
    assert not np.allclose(wrong.failures, learned_from_twin.failures, atol=0.05)


# --- other commands read as count does ---

SOME = [
    "semicolons_quoted",
    "sep_line",
    "words_plus",
    "inverted",
    "crosses_with_values",
    "blanks_inside",
    "names_given",
    "further_columns_ignored",
    "patient_id",
    "id_of_another_name_given",
    "export_codes_with_values",
    "states_and_unmentioned",
    "all_records",
    "two_files_with_the_same_patients",
    "columns_given",
    "zip",
    "pandas_melt",
]


@pytest.fixture(scope="module")
def clean_folder(tmp_path_factory):
    """A folder with the clean twins as wide files, and a network."""
    folder = tmp_path_factory.mktemp("clean")
    for twin in "complete", "gaps":
        (folder / f"{twin}.csv").write_bytes(file(wide(TWINS[twin])))
    numbers = 0.05 + 0.9 * np.random.default_rng(0).random(CLEAN.n_parameters)
    ends = np.cumsum([CLEAN.n_diseases, CLEAN.n_edges])
    NoisyOrNetwork(CLEAN, *np.split(numbers, ends)).save(folder / "network.json")
    return folder


CHECKED = {
    *SOME,
    "clean",
    "empty_columns",
    "state_of_another_name",
    "ones_and_nothing",
    "a_two",
    "further_columns",
    "a_finding_misspelled",
    "contradiction",
    "long_as_wide",
    "labels_shuffled",
    "labels_without_ids",
    "labels_with_ids_missing",
}
"""Those that are checked in every run; the others in the slow ones."""


def checked():
    for case in CASES:
        marks = () if case.name in CHECKED else pytest.mark.slow
        yield pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", list(checked()))
def test_checking(case, run, tmp_path):
    """What check says of files is what count and fit do with them."""
    folder = case.write(tmp_path)
    labels = [argument for name in case.labels for argument in ("--labels", folder / name)]
    code, out, err = run("check", *case.arguments(folder), *labels, "--no-time", "--json")
    if case.labels and isinstance(must_happen(case), Refused):
        # Methods that learn from labels alone need all of them; fit takes what there is, or not.
        fitted, _, said = run("fit", *case.arguments(folder), *labels, "-o", tmp_path / "n.json")
        assert fitted == code
        assert all(problem in said for problem in json.loads(out)["problems"])
        return
    if isinstance(must_happen(case), Refused):
        # It speaks of all files at once, and need not say where each thing stands.
        patterns = must_happen(case).patterns
        location = re.compile(r"line|.*\.(csv|txt|parquet)")
        said = refusal(code, out, err) + out
        check_said(said, [part for part in patterns if not location.match(part)])
        return
    assert code == 0, err
    found = json.loads(out)
    assert found["problems"] == []
    assert {
        unicodedata.normalize("NFC", name): (numbers["known"], numbers["present"])
        for name, numbers in found["symptoms"].items()
    } == {
        name: (known, present)
        for (name,), (known, present, _) in (
            (tuple(names), numbers)
            for names, numbers in twin_counts(case.must.twin).items()
            if isinstance(names, frozenset) and len(names) == 1
        )
    }
    assert found["records"] == len(TWINS[case.must.twin])
    check_told(err + "\n".join(found["notices"]), case)


@pytest.mark.parametrize("name", ["misspelled", "a_finding_misspelled", "r_names"])
def test_names_are_written_to_be_corrected(name, run, tmp_path):
    """The nearest names are right here, and the table is given back as it is."""
    case = BY_NAME[name]
    arguments = case.arguments(case.write(tmp_path))
    names, output = tmp_path / "names.csv", tmp_path / "x.moments"
    code, out, err = run("check", *arguments, "--write-mapping", names, "--no-time")
    refusal(code, out, err)
    code, out, err = run("count", *arguments, "--names", names, "-o", output, "--groups", 1)
    assert code == 0, err
    assert counts_by_name(Moments.load(output)) == twin_counts("complete")


@pytest.mark.parametrize("name", SOME)
def test_diagnosing(name, run, tmp_path, clean_folder):
    case = BY_NAME[name]
    _, *arguments = case.arguments(case.write(tmp_path))
    network, clean = clean_folder / "network.json", clean_folder / f"{case.must.twin}.csv"
    outputs = tmp_path / "found.csv", tmp_path / "clean.csv"
    found = run("diagnose", network, *arguments, "-o", outputs[0])
    assert found[0] == 0, found
    check_told(found[2], case)
    assert run("diagnose", network, clean, "-o", outputs[1])[0] == 0
    rows = [sorted(output.read_text(encoding="utf-8").splitlines()) for output in outputs]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("name", SOME)
def test_learning(name, run, tmp_path, clean_folder):
    case = BY_NAME[name]
    structure, *arguments = case.arguments(case.write(tmp_path))
    clean = clean_folder / f"{case.must.twin}.csv"
    outputs = tmp_path / "found.json", tmp_path / "clean.json"
    options = ["--method", "pooled", "--groups", 1]
    found = run("fit", structure, *arguments, "-o", outputs[0], *options)
    assert found[0] == 0, found
    check_told(found[2], case)
    assert run("fit", structure, clean, "-o", outputs[1], *options)[0] == 0
    networks = [NoisyOrNetwork.load(output) for output in outputs]
    for part in "priors", "failures", "leaks":
        np.testing.assert_array_equal(*(getattr(network, part) for network in networks))


REFUSED = [
    "a_two",
    "a_column_twice",
    "further_columns",
    "state_of_another_name",
    "minus_without_plus",
    "two_columns_for_one_symptom",
    "columns_not_guessed",
    "contradiction",
    "latin_1",
]


# A cluster does not take all_records, and says so.
ON_CLUSTER = [name for name in SOME if "all_records" not in BY_NAME[name].options]


@pytest.mark.parametrize("name", [*ON_CLUSTER, *REFUSED])
def test_counting_on_a_cluster(name, tmp_path, threads):
    """Workers read parts of files, and understand them as one machine does."""
    case = BY_NAME[name]
    folder = case.write(tmp_path)
    files = [folder / each for each in case.records]
    options = {"n_groups": 1, "client": threads, **case.options_in(folder)}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", NoisyOrWarning)
        if isinstance(case.must, Refused):
            with pytest.raises(NoisyOrError) as error:
                count_moments(files, MomentPlan.coupled(CLEAN), **options)
            check_said(str(error.value), case.must.patterns)
            return
        moments = count_moments(files, MomentPlan.coupled(CLEAN), **options)
    assert counts_by_name(moments) == twin_counts(case.must.twin)
    check_told("\n".join(str(warning.message) for warning in told), case)


# --- the files themselves ---


def test_there_are_many_files_each_of_its_own_name():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 50


def test_twins_differ():
    """Where two twins had equal counts, a file taken for the wrong one would go unseen."""
    counts = [twin_counts(twin) for twin in TWINS]
    assert all(one != other for n, one in enumerate(counts) for other in counts[:n])
    assert any(not any(record) for record in TWINS["complete"].values())
    assert all(any(label[number] for label in LABELS.values()) for number in range(len(DISEASES)))


def digest(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_the_script_writes_the_same_files_every_time(tmp_path):
    make_files(tmp_path / "here")
    script = Path(__file__).parent / "make_files.py"
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    command = [sys.executable, script, tmp_path / "there"]
    subprocess.run(command, check=True, env=environment)
    assert digest(tmp_path / "here") == digest(tmp_path / "there")
    index = (tmp_path / "here" / "index.csv").read_text(encoding="utf-8")
    assert all(f"\n{case.name}," in index for case in CASES)
