"""Files of every kind with bytes changed, removed or added: read as they are, or refused."""

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
    records = network.sample(40, rng=0).to_numpy().astype(float)
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
