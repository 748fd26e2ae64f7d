"""Small pieces of HTML; every text that comes from elsewhere passes through `text`."""

import html
import math
import re
from collections.abc import Callable, Iterable, Sequence

CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), "\N{REPLACEMENT CHARACTER}")
"""Characters that HTML cannot hold, whatever they are written as."""


PIECE = re.compile(r"<[^>]*>|[^<]+")
"""A tag, or a text between tags."""
LABEL = re.compile(r'\b(aria-label|placeholder|title)="([^"]*)"')


def text(content: object) -> str:
    """Return any text so that a browser shows it and does nothing else with it.

    >>> text("<b>'fever' & \\x00</b>")
    '&lt;b&gt;&#x27;fever&#x27; &amp; \ufffd&lt;/b&gt;'
    """
    return html.escape(str(content).translate(CONTROLS))


def texts_translated(page: str, say: Callable[[str], str]) -> str:
    """Return markup with the texts of its elements, and of labels, in other words.

    >>> texts_translated('<a href="#disease" title="disease">disease</a>', str.upper)
    '<a href="#disease" title="DISEASE">DISEASE</a>'
    """
    if say is str:
        return page

    def label(found: re.Match[str]) -> str:
        return f'{found[1]}="{text(say(html.unescape(found[2])))}"'

    def piece(found: re.Match[str]) -> str:
        if found[0].startswith("<"):
            return LABEL.sub(label, found[0])
        return text(say(html.unescape(found[0])))

    return PIECE.sub(piece, page)


def table(
    titles: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str, texts: int = 1
) -> str:
    """Return a table of texts and numbers; the first `texts` columns are texts, aligned left."""
    kinds = ["" if column < texts else ' class="number"' for column in range(len(titles))]
    head = "".join(
        f'<th scope="col"{kind}>{text(title)}</th>'
        for kind, title in zip(kinds, titles, strict=True)
    )
    body = "".join(f"<tr>{_cells(row, kinds)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><caption>{text(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cells(row: Sequence[object], kinds: Sequence[str]) -> str:
    return "".join(f"<td{kind}>{text(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))


def paragraph(content: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    return f'<p class="{kind}">{text(content)}</p>' if kind else f"<p>{text(content)}</p>"


def bullets(contents: Iterable[str]) -> str:
    """Return a list of plain texts, or nothing where there is none."""
    items = "".join(f"<li>{text(content)}</li>" for content in contents)
    return f"<ul>{items}</ul>" if items else ""


def section(name: str, title: str, *pieces: str) -> str:
    """Return a section of the page with its heading."""
    inside = "\n".join(piece for piece in pieces if piece)
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{text(title)}</h2>\n{inside}\n</section>'
    )


def number(value: float) -> str:
    """Return a probability, or its error, with the digits that matter.

    >>> number(0.12345), number(0.0000123), number(float("nan"))
    ('0.1235', '0.000012', '')
    """
    if not math.isfinite(value):
        return ""
    if value == 0.0 or abs(value) >= 0.001:
        return f"{value:.4f}"
    digits = 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{min(digits, 9)}f}"


def counted(n: int, what: str, several: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "edge"), counted(2_000, "edge"), counted(2, "leaf", "leaves")
    ('1 edge', '2,000 edges', '2 leaves')
    """
    return f"{n:,} {what if n == 1 else several or what + 's'}"


def and_so_on(parts: Sequence[str]) -> str:
    """Join parts of a sentence.

    >>> and_so_on(["priors", "failures", "leaks"])
    'priors, failures and leaks'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
