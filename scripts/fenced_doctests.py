"""Show doctests in docstrings as code: without a fence, Markdown takes `>>>` for a quotation."""

from itertools import groupby
from typing import Any

from griffe import Extension, Object


def fence_doctests(text: str) -> str:
    """Return the text with a fence around each paragraph that starts with a prompt."""
    parts = []
    for is_blank, lines in groupby(text.splitlines(), key=lambda line: not line.strip()):
        paragraph = list(lines)
        is_code = not is_blank and paragraph[0].lstrip().startswith(">>>")
        if is_code:
            indent = " " * (len(paragraph[0]) - len(paragraph[0].lstrip()))
            paragraph = [f"{indent}```pycon", *paragraph, f"{indent}```"]
        parts += paragraph
    return "\n".join(parts)


class FencedDoctests(Extension):
    """Fences the doctests of every docstring that is read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring before it is parsed."""
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = fence_doctests(obj.docstring.value)
