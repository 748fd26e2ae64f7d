import json

import numpy as np
import pytest

from conftest import parts, whole
from noisyor import Findings, MomentPlan, Moments, count_moments, datasets
from noisyor.moments import resuming


def test_count_merge_info(run, sites):
    code, out, err = run(
        "count",
        sites / "clinic.json",
        sites / "part*.parquet",
        "-o",
        sites / "all.moments",
    )
    assert (code, err) == (0, "")
    assert "12,000 records" in out
    assert Moments.load(sites / "all.moments") == whole(sites)
    assert sorted(path.name for path in sites.glob("all*")) == ["all.moments"]
    for number, path in enumerate(parts(sites)):
        run("count", "clinic", path, "-o", sites / f"site{number}.moments", "--quiet")
    code, out, _ = run("merge", sites / "site*.moments", "-o", sites / "merged.moments")
    assert code == 0
    assert Moments.load(sites / "merged.moments") == whole(sites)
    code, out, _ = run("info", sites / "merged.moments", "--json")
    facts = json.loads(out)
    assert (facts["kind"], facts["records"], facts["triplets"]) == ("moments", 12_000, 0)


def test_count_what_a_plan_lists(run, sites):
    plan = MomentPlan(datasets.clinic().structure, triplets=[[0, 1, 2]])
    plan.save(sites / "some.plan")
    run(
        "count",
        "clinic",
        sites / "part0.parquet",
        "--plan",
        sites / "some.plan",
        "-o",
        sites / "x.moments",
    )
    assert Moments.load(sites / "x.moments") == count_moments(sites / "part0.parquet", plan)
    assert json.loads(run("info", sites / "some.plan", "--json")[1])["triplets"] == 1
    arguments = [
        "count",
        "figure1",
        sites / "part0.parquet",
        "--plan",
        sites / "some.plan",
    ]
    code, _, err = run(*arguments, "-o", sites / "y.moments")
    assert code == 2
    assert "was made for another structure" in err


def test_min_count_hides_small_cells(run, sites):
    run(
        "count",
        "clinic",
        sites / "part0.parquet",
        "-o",
        sites / "x.moments",
        "--min-count",
        10,
    )
    moments = Moments.load(sites / "x.moments")
    assert moments.n_groups == 1
    visible = moments.counts(2)[~moments.hidden[1]]
    assert ((visible == 0) | (visible >= 10)).all()
    assert moments.hidden[1].any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["count", "clinic", "none*.parquet", "-o", "x.moments"], "no file matches none*.parquet"),
        (["count", "clinic", "none.parquet", "-o", "x.moments"], "none.parquet does not exist"),
        (["count", "clinc", "part0.parquet", "-o", "x.moments"], "did you mean 'clinic'?"),
        (["count", "figure1", "part0.parquet", "-o", "x.moments"], "no column for the symptoms"),
        (["count", "clinic", "part0.parquet", "./part0.parquet", "-o", "x"], "counted twice"),
        (["count", "clinic", "part0.parquet", "-o", "none/x"], "the directory none does not exist"),
        (["merge", "clinic.json", "-o", "x.moments"], "clinic.json is not a readable"),
        (["merge", "none.moments", "-o", "x.moments"], "none.moments does not exist"),
    ],
)
def test_errors(run, sites, monkeypatch, arguments, message):
    monkeypatch.chdir(sites)
    before = set(sites.iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert set(sites.iterdir()) == before


def test_merging_what_does_not_belong_together_names_the_files(run, sites):
    network = datasets.figure1(0)
    other = count_moments(network.sample(5, rng=0), MomentPlan.coupled(network.structure))
    other.save(sites / "other.moments")
    whole(sites).save(sites / "one.moments")
    code, _, err = run(
        "merge",
        sites / "one.moments",
        sites / "other.moments",
        "-o",
        sites / "x.moments",
    )
    assert code == 2
    assert "other.moments cannot be merged with" in err
    assert "different structures" in err


def test_merging_the_same_counts_gives_a_notice(run, sites):
    for name in "one", "copy":
        whole(sites).save(sites / f"{name}.moments")
    code, _, err = run(
        "merge",
        sites / "one.moments",
        sites / "copy.moments",
        "-o",
        sites / "x.moments",
    )
    assert code == 0
    assert "were records counted twice?" in err
    assert np.array_equal(Moments.load(sites / "x.moments").counts(1), 2 * whole(sites).counts(1))


@pytest.mark.parametrize("name", ["clinic.json", "part0.parquet", "some.plan"])
def test_an_input_is_never_the_output(run, sites, name):
    MomentPlan.coupled(datasets.clinic().structure).save(sites / "some.plan")
    before = (sites / name).read_bytes()
    arguments = [
        sites / "clinic.json",
        sites / "part0.parquet",
        "--plan",
        sites / "some.plan",
    ]
    code, _, err = run("count", *arguments, "-o", sites / name)
    assert code == 2
    assert "is read and cannot be the output" in err
    assert (sites / name).read_bytes() == before


def test_a_device_is_never_the_output(run, sites):
    code, _, err = run("count", "clinic", sites / "part0.parquet", "-o", "/dev/null")
    assert code == 2
    assert "/dev/null is not a file that could be replaced" in err


def test_a_copy_is_noticed_wherever_it_stands(run, sites):
    for number in range(2):
        run(
            "count",
            "clinic",
            sites / f"part{number}.parquet",
            "-o",
            sites / f"{number}.moments",
        )
    (sites / "copy.moments").write_bytes((sites / "1.moments").read_bytes())
    files = [sites / name for name in ("0.moments", "1.moments", "copy.moments")]
    _, _, err = run("merge", *files, "-o", sites / "x.moments")
    assert "copy.moments holds the same counts as" in err


@pytest.fixture
def labelled_sites(tmp_path):
    """Three files of records with ids, labels of some of them, and what counting both gives."""
    network = datasets.clinic()
    structure, parts, lines = network.structure, [], []
    for site in range(3):
        found, diseases = network.sample(1000, rng=site, return_diseases=True)
        ids = [f"{site}-{number}" for number in range(1000)]
        parts.append(Findings.from_numpy(found.to_numpy(), structure, record_ids=ids))
        parts[-1].to_parquet(tmp_path / f"site{site}.parquet")
        rows = zip(ids[:150], diseases[:150].astype(int).tolist(), strict=True)
        lines += [",".join(map(str, [name, *values])) for name, values in rows]
    header = ",".join(["record", *map(str, structure.diseases)])
    (tmp_path / "labels.csv").write_text("\n".join([header, *lines[::-1]]) + "\n")
    labelled = Findings.concatenate(parts).with_labels(tmp_path / "labels.csv")
    return tmp_path, count_moments(labelled, MomentPlan.coupled(structure))


def test_labelled_records_of_sites_merge(run, labelled_sites):
    folder, expected = labelled_sites
    labels = "--labels", folder / "labels.csv"
    code, out, err = run(
        "count", "clinic", folder / "site*.parquet", "-o", folder / "all.moments", *labels
    )
    assert (code, err) == (0, "")
    assert "450 records with a label" in out
    assert Moments.load(folder / "all.moments") == expected
    for site in range(3):
        code, _, err = run(
            "count", "clinic", folder / f"site{site}.parquet", *labels, "-o",
            folder / f"{site}.moments",
        )  # fmt: skip
        assert code == 0
        assert "300 of 450 labels belong to no record" in " ".join(err.split())
    run("merge", folder / "?.moments", "-o", folder / "merged.moments")
    assert Moments.load(folder / "merged.moments") == expected
    facts = json.loads(run("info", folder / "merged.moments", "--json")[1])
    assert facts["records_with_a_label"] == 450


def test_labels_are_resumed_with_the_records(run, labelled_sites, monkeypatch):
    folder, expected = labelled_sites
    arguments = "count", "clinic", folder / "site*.parquet", "-o", folder / "all.moments"
    labels = "--labels", folder / "labels.csv"
    original, counted = resuming.ResumableCount._count, []

    def count_two_files(self, stream, advance):
        self._next_commit = 0.0
        if len(counted) == 2:
            raise KeyboardInterrupt
        original(self, stream, advance)
        counted.append(stream)

    with monkeypatch.context() as patch:
        patch.setattr(resuming.ResumableCount, "_count", count_two_files)
        assert run(*arguments, *labels)[0] == 130
    code, _, err = run(*arguments, "--resume")
    assert code == 2
    assert "with other labels" in " ".join(err.split())
    (folder / "rows.csv").write_text("asthma\n" + "1\n" * 3000)
    code, _, err = run(*arguments, "--resume", "--labels", folder / "rows.csv")
    assert code == 2
    assert "labels without ids go by the order of all records" in " ".join(err.split())
    code, _, err = run(*arguments, *labels, "--resume")
    assert (code, err) == (0, "")  # no label is told to belong to no record
    assert Moments.load(folder / "all.moments") == expected


def test_what_is_wrong_with_counted_labels_is_told(run, labelled_sites):
    folder, _ = labelled_sites
    arguments = "count", "clinic", folder / "site0.parquet", "-o", folder / "x.moments", "--labels"
    (folder / "none.csv").write_text("asthma\n1\n")
    (folder / "all.csv").write_text("asthma\n" + "1\n0\n" * 500)
    code, _, err = run(*arguments, folder / "all.csv")
    assert code == 0
    assert "its rows are taken in the order of the records" in " ".join(err.split())
    counts = Moments.load(folder / "x.moments").labelled.totals()[0]
    assert [1000, 500] in counts.tolist()
    (folder / "other.csv").write_text("record,gout\n0-1,1\n")
    for name, message in (
        ("none.csv", "there are labels of 1 record, but findings of"),
        ("other.csv", "'gout' holds labels, but the structure has no such disease"),
        ("nowhere.csv", "nowhere.csv does not exist"),
    ):
        code, _, err = run(*arguments, folder / name)
        assert code == 2
        assert message in " ".join(err.split())
