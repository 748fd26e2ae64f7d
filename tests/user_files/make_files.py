"""Writes the files of invented users into a folder, with an index of what must happen with each.

    python tests/user_files/make_files.py FOLDER

Every case has a folder of its own: a structure, records, perhaps labels and files that options
name. The same files are written every time.
"""

import csv
import shlex
import sys
from pathlib import Path


def all_cases():
    """Return the cases of all kinds."""
    from user_files import columns, hospital, labels, packed, software, spreadsheets, structures

    kinds = spreadsheets, columns, hospital, packed, software, structures, labels
    return [case for kind in kinds for case in kind.CASES]


def make_files(folder: Path) -> None:
    """Write all files, and index.csv."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "index.csv").open("w", encoding="utf-8", newline="") as index:
        writer = csv.writer(index)
        writer.writerow(["folder", "arguments", "what must happen"])
        for case in all_cases():
            case.write(folder)
            writer.writerow([case.name, shlex.join(case.arguments(Path())), case.in_words])


def main() -> None:
    """Write the files into the folder that is given."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} FOLDER")
    sys.path.insert(0, str(Path(__file__).parents[1]))
    make_files(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
