import json

import pyarrow.parquet as pq
import pytest

import noisyor
from noisyor import Estimate, Vocabulary, __version__, datasets


def test_info_tells_every_kind_of_file(run, tmp_path):
    network = datasets.clinic()
    findings = network.sample(300, rng=0)
    network.save(tmp_path / "network.json")
    network.structure.save(tmp_path / "structure.json")
    network.structure.to_csv(tmp_path / "edges.csv")
    findings.to_parquet(tmp_path / "wide.parquet")
    findings.to_csv(tmp_path / "long.csv", layout="long")
    for name, facts in {
        "network.json": {"kind": "network", "diseases": 20, "edges": 120},
        "structure.json": {"kind": "structure", "symptoms": 60},
        "edges.csv": {"kind": "structure", "symptoms": 60},
        "wide.parquet": {"records": 300, "symptoms": 60, "unknown_findings": 0},
        "long.csv": {"records": 300, "kind": "records, long (a row per finding)"},
    }.items():
        code, out, _ = run("info", tmp_path / name, "--json")
        assert code == 0
        assert json.loads(out).items() >= facts.items()
        assert run("info", tmp_path / name)[0] == 0
    assert json.loads(run("info", "qmr-shaped", "--json")[1])["edges"] == 45470


def test_info_reads_the_folders_of_real_structures(run, real_structures):
    code, out, _ = run("info", real_structures / "tcc4e", "--json")
    assert (code, json.loads(out)["edges"]) == (0, 186)


@pytest.mark.parametrize("name", ["only.csv", "only.parquet"])
def test_a_file_of_ids_alone(run, tmp_path, name):
    import pyarrow as pa

    (tmp_path / "only.csv").write_text("record\n1\n2\n")
    pq.write_table(pa.table({"record": [1, 2]}), tmp_path / "only.parquet")
    code, _, err = run("info", tmp_path / name)
    assert code == 2
    assert "has no columns of symptoms" in err


def test_tables_that_fit_and_diagnose_write_are_no_records(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clinic = datasets.clinic()
    clinic.sample(1000, rng=0).to_parquet("records.parquet")
    learn = "fit", "clinic", "records.parquet", "-o", "learned.json", "--method", "pooled"
    assert run(*learn, "--summary", "summary.csv", "--misfits", "misfits.csv")[0] == 0
    assert run("diagnose", "clinic", "records.parquet", "-o", "posteriors.csv")[0] == 0
    rows = (tmp_path / "summary.csv").read_text().splitlines()
    (tmp_path / "fixed.csv").write_text("parameter,disease,symptom,value\nleak,,fever,0.1\n")
    n_flagged = sum("the records say little" in row for row in rows)
    for name, facts in {
        "summary.csv": {
            "kind": "parameters with standard errors", "priors": 20, "failures": 120, "leaks": 60,
            "flagged": n_flagged,
        },
        "fixed.csv": {"kind": "values of parameters", "priors": 0, "failures": 0, "leaks": 1},
        "misfits.csv": {"kind": "pairs that are not explained (misfits)", "rows": 0},
        "posteriors.csv": {"kind": "posteriors", "rows": 1000},
    }.items():  # fmt: skip
        code, out, _ = run("info", name, "--json")
        assert (code, json.loads(out)) == (0, facts)
    _, out, _ = run("info", "learned.json", "--json")
    assert json.loads(out)["flagged_parameters"] == n_flagged


def test_a_table_of_something_else(run, tmp_path):
    """Ann was to be explained: "values={'Ann': 'present'}"."""
    (tmp_path / "people.csv").write_text("name,town\nAnn,Ulm\nBob,Bonn\n")
    code, _, err = run("info", tmp_path / "people.csv")
    assert code == 2
    assert "(columns 'name', 'town') is no structure" in err


def test_info_says_how_a_network_was_learned(run, unidentified):
    """It told a learned network from one that was made up by its flags alone."""
    _, out, _ = run("info", "learned.json", "--json")
    facts = json.loads(out)
    estimate = Estimate.load("learned.json")
    assert facts["kind"] == "network"
    assert facts["learned_by_the_method"] == estimate.method
    assert facts["learned_from_records"] == estimate.n_records
    assert (facts["learned_on"], facts["by_version"]) == (estimate.lineage.date, __version__)
    assert facts["explains_its_records"] == "yes"
    assert facts["verdict"] == " ".join(estimate.verdict.sentences)
    assert facts["flags"]["uncertified"] > 0
    _, out, _ = run("info", "learned.json")
    assert "uncertified" in out
    estimate.network.save("plain.json")
    assert "learned" not in run("info", "plain.json")[1]


def test_a_terminal_speaks_the_words_of_its_readers(run, tmp_path):
    """Pages did, tables on the terminal did not."""
    words = Vocabulary("fault", "alarm", synonyms=[("fever", "high temperature")])
    datasets.clinic().with_vocabulary(words).save(tmp_path / "named.json")
    _, out, _ = run("info", tmp_path / "named.json")
    assert "alarms" in out
    assert "symptom" not in out
    asked = "diagnose", tmp_path / "named.json", "-p", "high temperature", "-p", "cough"
    _, out, _ = run(*asked, "--explain", "--ask", "--sets", "2")
    head, *_ = [line for line in out.splitlines() if "probability" in line]
    assert head.split()[0] == "fault"
    assert "What has caused each alarm" in out
    assert "influenza: what each alarm adds" in " ".join(out.split())
    for name in "panic disorder", "reflux disease":  # a name stays what it is
        assert name in datasets.clinic().structure.diseases
    assert "reflux fault" not in out
    assert json.loads(run(*asked, "--json")[1])["diseases"]
    assert "diseases" in run("info", "clinic")[1]


def test_a_trait_that_cannot_be_told_is_told_by_info_and_report(run, tmp_path):
    structure = noisyor.Structure.from_edges([(d, f"{d}{i}") for d in "ABC" for i in range(4)])
    independent = noisyor.NoisyOrNetwork(structure, [0.2, 0.15, 0.25], [0.35] * 12, [0.03] * 12)
    learner = noisyor.NoisyOrLearner(structure, causes="trait")
    with pytest.warns(noisyor.NoisyOrWarning, match="cannot be told from none"):
        learner.fit(independent.sample(1000, rng=0))
    model, page = tmp_path / "model.json", tmp_path / "page.html"
    learner.estimate_.save(model)
    _, out, _ = run("info", model)
    assert "cannot be told from none" in " ".join(out.split())
    assert run("report", model, "-o", page)[0] == 0
    verdict = page.read_text().partition("parameters is flagged.")[2][:200]
    assert "cannot be told from none" in verdict
