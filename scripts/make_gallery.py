"""Run the Python blocks of docs/gallery.md and save the axes of each as the picture below it.

python scripts/make_gallery.py

A block that an image follows leaves axes called `ax`; the other blocks prepare what they show.
"""

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

PAGE = Path(__file__).parents[1] / "docs" / "gallery.md"
BLOCKS = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n!\[[^\]]*\]\((?P<image>[^)]+)\))?",
    re.MULTILINE | re.DOTALL,
)


def make(page: Path, folder: Path) -> list[Path]:
    """Write the pictures of a page below a folder, and return their files."""
    names: dict[str, Any] = {}
    written = []
    for block in BLOCKS.finditer(page.read_text(encoding="utf-8")):
        exec(compile(block["code"], str(page), "exec"), names)
        if block["image"]:
            file = folder / block["image"]
            file.parent.mkdir(parents=True, exist_ok=True)
            # Without a date in it, and with the house's salt, the same results give the same file.
            with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "noisyor"}):
                names["ax"].figure.savefig(file, metadata={"Date": None})
            written.append(file)
        plt.close("all")
    return written


if __name__ == "__main__":
    for file in make(PAGE, PAGE.parent):
        print(file)
