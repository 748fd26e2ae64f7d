"""Files made to break readers: endless, huge, nested, forged; and commands that read them."""

import contextlib
import functools
import gzip
import io
import json
import os
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq

from adversary.commands import outcome_of, tried
from adversary.mutations import warm_up
from noisyor import MomentPlan, Moments, datasets
from noisyor.io.documents import write_arrow_document

LONG = "9" * 5000
STATES = '<state id="yes"/><state id="no"/>'
RECORDS = "record,fever,cough\n1,1,0\n2,0,1\n"


def xdsl(nodes, tail=""):
    return f"<smile><nodes>{nodes}</nodes>{tail}</smile>"


def cpt(key, inside="<probabilities>0.5 0.5</probabilities>"):
    return f'<cpt id="{key}">{STATES}{inside}</cpt>'


def bif(count="2", states="a, b", table="0.5 0.5"):
    variable = f"variable a {{ type discrete [ {count} ] {{ {states} }}; }}\n"
    return f"{variable}probability ( a ) {{ table {table}; }}\n"


def network_json(**changes):
    document = {
        "format": "noisyor.network", "version": 1, "diseases": ["flu"], "symptoms": ["fever"],
        "edges": [[0, 0]], "priors": [0.1], "failures": [0.5], "leaks": [0.1],
    }  # fmt: skip
    return json.dumps({**document, **changes})


def many_parents(count):
    parents = " ".join(f"a{i}" for i in range(count))
    nodes = "".join(cpt(f"a{i}") for i in range(count))
    inside = f"<parents>{parents}</parents><probabilities>0.5</probabilities>"
    return xdsl(nodes + cpt("z", inside))


def zipped(content, name="records.csv"):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


NETWORKS = {
    "comments.bif": "/* " * 300_000,
    "properties.bif": "property " * 150_000,
    "quotes.bif": "variable a { " + 'property "' * 150_000,
    "backslashes.bif": '"' + "\\" * 200_001,
    "variables.bif": "variable x { type discrete [ 2 ] { a, b }; }\n" * 20_000,
    "count.bif": bif(count=LONG),
    "number.bif": bif(table=f"{LONG} 0.5"),
    "nan.bif": bif(table="nan nan"),
    "state.bif": bif(states="a" * 1_000_000 + ", b"),
    "escape.bif": bif(states="\x1b[2Ja, \u202eb"),
    "brackets.bif": "{" * 200_000,
    "empty.bif": " ",
    "variables.uai": f"BAYES\n{LONG}",
    "states.uai": f"BAYES\n1\n{LONG}",
    "scope.uai": f"BAYES\n1\n2\n1\n{LONG} 0",
    "table.uai": f"BAYES\n1\n2\n1\n1 0\n2\n{LONG} 0.5",
    "size.uai": f"BAYES\n1\n2\n1\n1 0\n{LONG}",
    "negative.uai": "BAYES\n-1",
    "unicode.uai": "BAYES\n\u0661\n",
    "infinite.uai": "BAYES\n1\n2\n1\n1 0\n2\ninf nan",
    "word.uai": "X" * 3_000_000,
    "ids.xdsl": xdsl("".join(f'<cpt id="a{i}"/>' for i in range(60_000)) + '<cpt id="a59999"/>'),
    "parents.xdsl": many_parents(2_000),
    "numbers.xdsl": xdsl(cpt("a", f"<probabilities>{LONG} 0.5</probabilities>")),
    "nan.xdsl": xdsl(cpt("a", "<probabilities>nan nan</probabilities>")),
    "deep.xdsl": "<smile>" * 200_000,
    "entity.xdsl": '<!DOCTYPE a [<!ENTITY x "ha">]><smile><nodes/></smile>',
    "encoding.xdsl": '<?xml version="1.0" encoding="klingon"?><smile/>',
    "name.xdsl": xdsl(cpt("a" * 1_000_000, "")),
    "none.xdsl": "<smile/>",
    "nested.json": "[" * 100_000,
    "objects.json": '{"a":' * 100_000,
    "version.json": network_json(version=int("9" * 4000)),
    "digits.json": network_json().replace('"version": 1', f'"version": {LONG}'),
    "prior.json": network_json(priors=[int("9" * 4000)]),
    "nan.json": network_json(priors=[float("nan")]),
    "infinite.json": network_json(leaks=[float("inf")]),
    "surrogate.json": network_json(diseases=["\ud800"]),
    "escape.json": network_json(diseases=["\x1b[2J\x1b[31mflu"], edges=[[0, 7]]),
    "long.json": network_json(symptoms=["x" * 3_000_000, "x" * 3_000_000]),
    "edge.json": network_json(edges=[[10**30, 0]]),
    "format.json": network_json(format="x" * 1_000_000),
    "twice.json": '{"' + "k" * 500_000 + '": 1, "' + "k" * 500_000 + '": 2}',
    "zeros.json": "\0" * 100_000,
    "latin.json": b'{"format": "\xff"}',
}
"""Read by `info`."""

TABLES = {
    "line.csv": "fever,cough\n" + "1" * (20 << 20),
    "header.csv": "fever," + "x" * (20 << 20),
    "quote.csv": 'fever,"cough\n' + "1,0\n" * 200_000,
    "columns.csv": ",".join(f"c{i}" for i in range(200_000)) + "\n",
    "commas.csv": "," * 1_000_000 + "\n",
    "zeros.csv": "\0" * 100_000,
    "zeros.csv.gz": gzip.compress(b"\0" * (40 << 20), 1),
    "zeros.zip": zipped(b"\0" * (40 << 20)),
    "cut.csv.gz": gzip.compress(RECORDS.encode())[:-9],
    "cut.xz": b"\xfd7zXZ\0\0",
    "two.zip": b"PK\5\6" + b"\0" * 18,
    "bad.zip": b"PK",
    "latin.csv": b"fever,cough\n1,\xff\n",
    "utf16.csv": RECORDS.encode("utf-16"),
    "ragged.csv": "fever,cough\n1,0\n1,0,1,1\n",
    "value.csv": "fever,cough\n1," + "9" * 1_000_000 + "\n",
    "escape.csv": "fever,cough\n1,\x1b[2J\u202e\n",
    "name.csv": "fever,\x1b[2Jcough\n1,0\n",
    "digits.csv": f"record,fever,cough\n{LONG},{LONG},0\n",
    "inf.csv": "fever,cough\ninf,-inf\n",
    "bom.csv": "\ufeff\ufeff\ufefffever,cough\n1,0\n",
    "duplicate.csv": "fever,fever,cough\n1,0,1\n",
    "blank.csv": "\n" * 100_000,
    "one.csv": "fever",
    "sep.csv": "sep=\n",
    "sep2.csv": 'sep="\nfever"cough\n',
    "cr.csv": "fever,cough\r1,0\r0,1\r",
    "bad.parquet": b"PAR1" * 1000,
    "bad.xlsx": b"PK\3\4" + b"\0" * 1000,
    "bomb.xlsx": zipped(b"\0" * (1 << 20), "xl/workbook.xml"),
    "wrong.txt": "\x7fELF",
    "long.csv": "record,symptom\n1,fever\n,\n\0,cough\n",
    "state.csv": "record,symptom,state\n1,fever,\x1b]0;title\x07\n",
}
"""Read as records of the clinic, and by whatever else reads tables."""

PIPES = ("pipe.csv", "pipe.json", "pipe.xdsl", "pipe.parquet")
DEVICES = ("zero.csv", "zero.json", "zero.bif", "zero.parquet", "zero.plan")
COMMANDS = {
    "info": ["FILE"],
    "count": ["clinic.json", "FILE", "-o", "out.moments", "--ignore-unknown"],
    "check": ["clinic.json", "FILE"],
    "fit": ["clinic.json", "FILE", "-o", "out.json", "--method", "pooled"],
    "diagnose": ["clinic.json", "FILE", "-o", "out.csv"],
    "convert --from q-matrix": ["FILE", "out.json", "--from", "q-matrix"],
    "convert": ["FILE", "out.json"],
    "diagnose --errors": ["clinic.json", "-p", "fever", "--errors", "FILE"],
    "evaluate --labels": ["clinic.json", "good.csv", "--labels", "FILE"],
    "report --evaluation": ["clinic.json", "-o", "out.html", "--evaluation", "FILE"],
    "report --summary": ["clinic.json", "-o", "out.html", "--summary", "FILE"],
    "fit --fixed": ["clinic.json", "good.csv", "-o", "out.json", "--fixed", "FILE"],
    "fit --labels": ["clinic.json", "good.csv", "-o", "out.json", "--method", "observed",
                     "--labels", "FILE"],
    "count --names": ["clinic.json", "good.csv", "-o", "out.moments", "--names", "FILE"],
}  # fmt: skip
"""What reads tables, and where the file stands in the call."""


def write_forged(folder):
    """Write Arrow documents whose metadata or columns lie; return the files."""
    network = datasets.clinic()
    plan = MomentPlan.coupled(network.structure)
    plan.save(folder / "good.plan")
    columns = plan.to_columns()
    forged = {
        "empty.plan": {},
        "edges.plan": columns | {"edges": columns["edges"] + 2**40},
        "odd.plan": columns | {"pairs": columns["pairs"][:-1]},
        "negative.plan": columns | {"symptoms": -columns["symptoms"] - 1},
        "floats.plan": columns | {"edges": columns["edges"].astype(float)},
        "names.plan": columns | {"diseases": [1, 2, 3]},
        "texts.plan": columns | {"pairs": ["a"] * len(columns["pairs"])},
    }
    for name, content in forged.items():
        write_arrow_document(folder / name, "noisyor.plan", 1, content)
    for number, version in enumerate(("²", "9" * 5000, "-1", "1.0", "٣", "", "\x1b[2J")):
        table = pa.table({"diseases": pa.array([["a"]], pa.large_list(pa.string()))})
        table = table.replace_schema_metadata({"format": "noisyor.plan", "version": version})
        with pa.ipc.new_file(str(folder / f"version{number}.plan"), table.schema) as writer:
            writer.write_table(table)
    for name, columns in (("no.moments", {}), ("part.moments", {"group_records": [1]})):
        write_arrow_document(folder / name, Moments.FORMAT, 1, columns)
    pq.write_table(pa.table({"fever": [[1], [2]]}), folder / "lists.parquet")
    return sorted(folder.glob("*.plan")) + sorted(folder.glob("*.moments"))


def write_hostile(folder):
    """Write all hostile files; return them."""
    warm_up()
    for name, content in (NETWORKS | TABLES).items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for name in PIPES:
        os.mkfifo(folder / name)
    for name in DEVICES:
        (folder / name).symlink_to("/dev/zero")
    forged = write_forged(folder)
    return [folder / name for name in (*NETWORKS, *TABLES, *PIPES, *DEVICES)] + forged


def cases(command, folder):
    """Give calls of a command, with each hostile file."""
    files = write_hostile(folder)
    datasets.clinic().save(folder / "clinic.json")
    datasets.clinic().sample(200, rng=0).to_csv(folder / "good.csv")
    for file in files:
        yield functools.partial(give, command, file)


def give(command, file):
    """Give a file to a command; say how it ended."""
    call = [command.split()[0], *COMMANDS[command]]
    with contextlib.chdir(file.parent):
        return [outcome_of(tried(*(file if word == "FILE" else word for word in call)))]
