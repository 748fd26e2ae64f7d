"""Ask the interface of `noisyor app` whatever its OpenAPI allows, and what it does not allow.

`make fuzz` runs it with schemathesis, from an environment of its own: once on the description as it
is, and once with names that the model has in place of any text, which lead past the first checks.
An answer with status 500, or one that is not as described, ends it with an error.
"""

import argparse
import base64
import copy
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance",
)  # fmt: skip
METHODS = "auto", "exact", "variational", "mean_field", "gibbs"


@contextmanager
def served(model: str) -> Iterator[str]:
    """Run the command; give its address."""
    command = [sys.executable, "-m", "noisyor", "app", model, "--api-only", "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["address"].rstrip("/")
    finally:
        process.terminate()
        process.communicate()


def read(address: str) -> Any:
    """Return the JSON at an address."""
    with urllib.request.urlopen(address, timeout=120) as answer:
        return json.load(answer)


def with_names(document: Any, model: Any) -> Any:
    """Return a description with names that the model knows, and work that is soon done."""
    document = copy.deepcopy(document)
    symptoms, diseases = model["symptoms"][:40], model["diseases"][:20]
    files = [f"{symptoms[0]},{symptoms[1]}\n1,0\n", f"record,symptom\n1,{symptoms[0]}\n", "\0", ""]
    listed = {"type": "array", "items": {"enum": symptoms}}
    known: dict[str, Any] = {
        "model": {"enum": [model["name"]]}, "present": listed, "absent": listed,
        "method": {"enum": METHODS}, "about": {"enum": diseases},
        "diseases": {"type": "array", "items": {"enum": diseases}, "maxItems": 20},
        "budget": {"type": "number", "exclusiveMinimum": 0, "maximum": 0.3},
        "name": {"enum": ["a.csv", "b.parquet"]}, "labels_name": {"enum": ["c.csv"]},
        "content": {"enum": [base64.b64encode(each.encode()).decode() for each in files]},
    }  # fmt: skip

    def put(schema: Any) -> None:
        members = schema.get("properties", {})
        members.update({name: known[name] for name in members if name in known})
        if "cases" in members:
            put(members["cases"]["items"])

    for operations in document["paths"].values():
        for operation in operations.values():
            if "requestBody" in operation:
                put(operation["requestBody"]["content"]["application/json"]["schema"])
    return document


def main() -> None:
    """Fuzz a model, clinic unless another is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("schemathesis", help="The command.")
    parser.add_argument("--model", default="clinic")
    parser.add_argument("--examples", type=int, default=200, help="Of each address.")
    given = parser.parse_args()
    with served(given.model) as address, tempfile.TemporaryDirectory() as folder:
        document = read(f"{address}/api/openapi.json")
        path = Path(folder) / "openapi.json"
        for each in document, with_names(document, read(f"{address}/api/model")):
            path.write_text(json.dumps(each), encoding="utf-8")
            options = ["--checks", ",".join(CHECKS), "--max-examples", str(given.examples)]
            options += ["--suppress-health-check", "all", "--request-timeout", "120"]
            command = [given.schemathesis, "run", str(path), "--url", address, *options]
            subprocess.run(command, check=True, cwd=folder)


if __name__ == "__main__":
    main()
