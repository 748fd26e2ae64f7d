"""Run all benchmarks, or those named: `python -m benchmarks foundation`."""

import argparse
import importlib
import os
import platform
import sys

import noisyor

BENCHMARKS = [
    "foundation", "counting", "learning", "accuracy", "robustness", "identifiability", "baselines",
    "diagnosis", "peers", "cluster",
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    arguments = parser.parse_args()
    machine = f"{os.cpu_count()} cores, {platform.machine()}"
    print(f"noisyor {noisyor.__version__}, Python {platform.python_version()}, {machine}")
    for name in arguments.names or BENCHMARKS:
        importlib.import_module(f"benchmarks.{name}").run(0.1 if arguments.quick else 1.0)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
