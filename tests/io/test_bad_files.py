"""Files that cannot be read: one sentence that names the file and the place, never a traceback."""

import gzip
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisyor import (
    Findings,
    MomentPlan,
    Moments,
    NoisyOrError,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    count_moments,
    datasets,
)

STRUCTURE = Structure.from_edges([("flu", "fever"), ("flu", "cough"), ("cold", "cough")])
WIDE = "fever,cough\n1,0\n0,1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "records.csv is empty"),
        (b"\n\n", "records.csv is empty: it has no header"),
        (b"fever,cough\n1,0\n0,1,1\n", "line 3: 3 values where the header has 2 columns"),
        (b"fever,cough\n1\n", "line 2: 1 values where the header has 2 columns"),
        (b"fever,cough\n1,0\n\n0,7\n", "line 4, column 'cough': '7' is not 0, 1, true or false"),
        (b"fever,cough\n1,yes\n", "line 2, column 'cough': 'yes' is not"),
        (b"fever,cough\n1,0\n\xff\xfe,1\n", "line 3: the text is not UTF-8"),
        (b"f\xffver,cough\n1,0\n", "line 1: the text is not UTF-8"),
        (b"fever,cough,cough\n1,0,0\n", "more than one column named 'cough'"),
        (b"fever\n1\n", "no column for the symptoms 'cough'"),
        (b"fever,caugh\n1,0\n", "no column for the symptoms 'cough'; did you mean 'caugh'"),
        (b"fever,cough,age\n1,0,33\n", "not symptoms of the structure: 'age'"),
        (b"fever;cough\n1;0\n", "no column for the symptoms"),
        (b"record,symptom\n1,fever\n2,rash\n", "line 3, column 'symptom': .* no symptom 'rash'"),
        (b"record,symptom\n1,fever\n,cough\n", "line 3, column 'record': .* missing"),
        (b"record,symptom,state\n1,fever,perhaps\n", "line 2, column 'state': 'perhaps' is not"),
    ],
)
def test_csv_records(tmp_path, text, message):
    path = tmp_path / "records.csv"
    path.write_bytes(text)
    with pytest.raises(NoisyOrError, match=message):
        Findings.read(path, STRUCTURE)


def test_a_header_alone_is_no_record(tmp_path):
    path = tmp_path / "records.csv"
    path.write_text("fever,cough\n")
    assert Findings.read(path, STRUCTURE).n_records == 0
    path.write_text("record,symptom\n")
    assert Findings.read(path, STRUCTURE).n_records == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"disease,symptom\n", "edges.csv has no edges below its header"),
        (b"disease,sympton\nflu,fever\n", "edges.csv has no column 'symptom'; its columns are"),
        (b"disease,symptom\nflu,fever\nflu,\n", "line 3, column 'symptom': the name is empty"),
        (
            b"disease,symptom\nflu,fever\nflu,cough\nflu,fever\n",
            "line 4: .* was given before .*line 2",
        ),
        (b"disease,symptom\nflu\n", "line 2: 1 values"),
    ],
)
def test_csv_structures(tmp_path, text, message):
    path = tmp_path / "edges.csv"
    path.write_bytes(text)
    with pytest.raises(NoisyOrError, match=message):
        Structure.from_csv(path)


def test_what_is_no_file(tmp_path):
    for path, message in (
        (tmp_path, "is a directory; give a file"),
        (tmp_path / "none.csv", "none.csv does not exist"),
        ("a\0b.csv", "does not exist"),
    ):
        for read in Structure.from_csv, Structure.load, NoisyOrNetwork.load:
            with pytest.raises(NoisyOrError, match=message):
                read(path)
    (tmp_path / "edges.xlsx").write_text("x")
    with pytest.raises(NoisyOrError, match=r"edges.xlsx: unknown kind of file; use \.csv"):
        Structure.from_csv(tmp_path / "edges.xlsx")
    with pytest.raises(NoisyOrError, match="is not a directory with an edges.csv"):
        datasets.from_folder(tmp_path / "none")


@pytest.mark.parametrize("keep", [0.0, 0.01, 0.5, 0.99])
def test_truncated_files(tmp_path, keep):
    network = datasets.clinic()
    network.save(tmp_path / "network.json")
    network.sample(500, seed=0).to_parquet(tmp_path / "records.parquet")
    (tmp_path / "records.csv.gz").write_bytes(gzip.compress(WIDE.encode() * 1))
    for name, read in (
        ("network.json", NoisyOrNetwork.load),
        ("records.parquet", lambda path: Findings.read(path, network.structure)),
        ("records.csv.gz", lambda path: Findings.read(path, STRUCTURE)),
    ):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[: int(len(content) * keep)])
        with pytest.raises(NoisyOrError, match=name):
            read(tmp_path / name)


def test_a_parquet_file_that_is_something_else(tmp_path):
    (tmp_path / "records.parquet").write_text(WIDE)
    with pytest.raises(NoisyOrError, match="records.parquet is not a readable Parquet file"):
        Findings.read(tmp_path / "records.parquet", STRUCTURE)


def network_csv(name, network):
    """The text of one of a network's three CSV files."""
    structure = network.structure
    if name == "edges":
        names = zip(*structure.edge_names().values(), strict=True)
        rows = [f"{d},{s},{1 - f}" for (d, s), f in zip(names, network.failures, strict=True)]
        return "\n".join(["disease,symptom,probability", *rows]) + "\n"
    header, names, values = {
        "priors": ("disease,prior", structure.diseases, network.priors),
        "leaks": ("symptom,leak", structure.symptoms, network.leaks),
    }[name]
    rows = [f"{each},{value}" for each, value in zip(names, values, strict=True)]
    return "\n".join([header, *rows]) + "\n"


def make_originals():
    """Small valid files of every kind, with the function that reads them."""
    network = datasets.figure1(0)
    symptoms = network.structure
    records = network.sample(40, seed=0).to_numpy().astype(float)
    records[3, 2] = np.nan
    findings = Findings.from_numpy(records, symptoms)

    plan = MomentPlan(symptoms, triplets=[[0, 1, 2]])

    def read_findings(path):
        return Findings.read(path, symptoms)

    def write_gzipped(path):
        path.write_bytes(gzip.compress(network_csv("edges", network).encode()))

    def read_network(path):
        """Read the damaged file together with sound ones for the other two."""
        files = {}
        for part in "edges", "priors", "leaks":
            files[part] = path if path.name.startswith(part) else path.parent / f"sound_{part}.csv"
            if files[part] != path:
                files[part].write_text(network_csv(part, network))
        return NoisyOrNetwork.from_csv(files["edges"], priors=files["priors"], leaks=files["leaks"])

    return {
        "edges_of_network.csv": (
            lambda path: path.write_text(network_csv("edges", network)),
            read_network,
        ),
        "priors.csv": (lambda path: path.write_text(network_csv("priors", network)), read_network),
        "leaks.csv": (lambda path: path.write_text(network_csv("leaks", network)), read_network),
        "edges.csv.gz": (write_gzipped, Structure.from_csv),
        "edges.tsv": (
            lambda path: path.write_text(network_csv("edges", network).replace(",", "\t")),
            Structure.from_csv,
        ),
        "edges.parquet": (
            lambda path: pq.write_table(pa.table(symptoms.edge_names()), path),
            Structure.from_parquet,
        ),
        "all.moments": (lambda path: count_moments(findings, plan).save(path), Moments.load),
        "pairs.plan": (plan.save, MomentPlan.load),
        "network.json": (network.save, NoisyOrNetwork.load),
        "structure.json": (symptoms.save, Structure.load),
        "edges.csv": (symptoms.to_csv, Structure.from_csv),
        "wide.csv": (findings.to_csv, read_findings),
        "long.csv": (lambda path: findings.to_csv(path, layout="long"), read_findings),
        "wide.parquet": (findings.to_parquet, read_findings),
        "long.parquet": (lambda path: findings.to_parquet(path, layout="long"), read_findings),
    }


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    contents = {}
    for name, (write, read) in make_originals().items():
        write(folder / name)
        contents[name] = (folder / name).read_bytes()
        read(folder / name)
    return contents.__getitem__  # a function, because a failure prints its arguments


MUTATIONS = st.lists(
    st.tuples(
        st.sampled_from(["replace", "insert", "delete", "truncate"]),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=4,
)


def mutated(content, mutations):
    for kind, where, piece in mutations:
        at = int(where * len(content))
        if kind == "replace":
            content = content[:at] + piece + content[at + len(piece) :]
        elif kind == "insert":
            content = content[:at] + piece + content[at:]
        elif kind == "delete":
            content = content[:at] + content[at + len(piece) :]
        else:
            content = content[:at]
    return content


@pytest.mark.parametrize("name", sorted(make_originals()))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutations=MUTATIONS)
def test_mutated_files_are_read_or_refused(originals, tmp_path, name, mutations):
    path = tmp_path / name
    path.write_bytes(mutated(originals(name), mutations))
    read = make_originals()[name][1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyOrWarning)
        try:
            read(path)
        except NoisyOrError as error:
            assert "\n" not in str(error)  # noqa: PT017 - success is as good


# --- writing ---


def test_writing_where_it_cannot_be(tmp_path):
    network = datasets.figure1(0)
    findings = network.sample(10, seed=0)
    for write in network.save, findings.to_parquet, findings.to_csv, network.structure.to_csv:
        with pytest.raises(NoisyOrError, match="is a directory; give a file to write"):
            write(tmp_path)
        with pytest.raises(NoisyOrError, match="the directory .*none does not exist"):
            write(tmp_path / "none" / "file.x")


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    target = tmp_path / "records.parquet"
    target.write_text("the old content")
    findings = datasets.clinic().sample(100, seed=0)

    def break_down(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", break_down)
    with pytest.raises(NoisyOrError, match="records.parquet cannot be written: No space left"):
        findings.to_parquet(target)
    assert target.read_text() == "the old content"
    assert list(tmp_path.iterdir()) == [target]


def test_nothing_half_written_is_left_by_ctrl_c(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", interrupt)
    with pytest.raises(KeyboardInterrupt):
        datasets.clinic().sample(100, seed=0).to_parquet(tmp_path / "records.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_for_temporary_files_says_how_to_move_them(tmp_path, monkeypatch):
    import tempfile

    def no_room(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", no_room)
    reader = pa.table({"fever": [1], "cough": [0]}).to_reader()
    with pytest.raises(NoisyOrError, match="Set the environment variable TMPDIR"):
        Findings.read(reader, STRUCTURE)
