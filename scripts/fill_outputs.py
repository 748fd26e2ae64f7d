"""Run the Python blocks of pages and write what they print into the text blocks below them.

python scripts/fill_outputs.py docs/tutorial.md

An empty text block below a Python block is the place for its output; tests/test_docs.py checks that
what stands there is still printed.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

BLOCKS = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?P<output>\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL
)


def filled(text: str) -> str:
    """Return a page with the outputs of its blocks, which share their names.

    >>> fence = "`" * 3
    >>> page = f"{fence}python\\nprint(1 + 1)\\n{fence}\\n\\n{fence}text\\n{fence}\\n"
    >>> filled(page).split(fence)[-2]
    'text\\n2\\n'
    """
    names: dict[str, Any] = {}

    def run(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], "page", "exec"), names)
        if block["output"] is None:
            return block[0]
        return f"```python\n{block['code']}```\n\n```text\n{printed.getvalue()}```\n"

    return BLOCKS.sub(run, text)


def main() -> None:
    """Fill the pages that the command line names, each in a folder of its own."""
    for page in [Path(name).resolve() for name in sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            text = filled(page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")
        print(os.path.relpath(page))


if __name__ == "__main__":
    main()
