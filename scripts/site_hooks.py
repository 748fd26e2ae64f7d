"""What the site needs beyond its pages: files beside docs/, and a check that it asks nobody else.

Pages link to files of the repository (examples, the changelog), as they must on GitHub. Here each
of those files becomes a page of the site, and links to it lead there. Pages of results that come
later enter the navigation by themselves.
"""

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
TEXTS = ("CONTRIBUTING.md", "CHANGELOG.md")
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")
LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")


def shared_files() -> list[str]:
    """Return the files beside docs/ that become pages, as paths from the root."""
    examples = [*ROOT.glob("examples/*.py"), *ROOT.glob("examples/*.ipynb")]
    return [*TEXTS, *sorted(path.relative_to(ROOT).as_posix() for path in examples)]


def page_of(path: str) -> str:
    """Return the page of the site that shows a file of the repository.

    >>> page_of("examples/education.py"), page_of("CHANGELOG.md")
    ('repository/examples/education.md', 'repository/CHANGELOG.md')
    """
    return "repository/" + re.sub(r"\.(py|ipynb)$", ".md", path)


def as_markdown(path: str) -> str:
    """Return a file of the repository as a page."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    if path.endswith(".ipynb"):
        return "\n\n".join(cell_as_markdown(cell) for cell in json.loads(text)["cells"])
    return f"# {path}\n\n```python\n{text}```\n"


def cell_as_markdown(cell: dict[str, Any]) -> str:
    """Return a cell of a notebook with what it printed and drew.

    >>> print(cell_as_markdown({"cell_type": "markdown", "source": ["Now ", "look."]}))
    Now look.
    """
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return source
    parts = [f"```python\n{source}\n```"]
    for output in cell["outputs"]:
        if "text" in output:
            parts.append(f"```text\n{''.join(output['text'])}```")
        elif "image/png" in output["data"]:
            parts.append(
                f"![What the cell draws](data:image/png;base64,{output['data']['image/png']})"
            )
    return "\n\n".join(parts)


def on_config(config: Any) -> Any:
    """Add pages of results that the navigation does not name yet, below those that it does."""
    results = next(part["Results"] for part in config.nav if "Results" in part)
    named = {page for entry in results for page in entry.values()}
    for path in sorted(Path(config.docs_dir, "results").glob("*.md")):
        page = f"results/{path.name}"
        if page not in named:
            title = path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
            results.append({title: page})
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages of files that stand beside docs/."""
    for path in shared_files():
        files.append(File.generated(config, page_of(path), content=as_markdown(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Lead links out of docs/ to the pages of the site that show what they name."""
    here = page.file.src_uri
    is_shared = here.startswith("repository/")
    # Where the page stands in the repository decides what its relative links mean.
    home = posixpath.dirname(here.removeprefix("repository/") if is_shared else f"docs/{here}")

    def led(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(home, match[1]))
        if target in shared_files():
            there = page_of(target)
        elif target.startswith("docs/"):
            is_folder = (ROOT / target).is_dir()
            there = target.removeprefix("docs/") + ("/index.md" if is_folder else "")
        else:
            return match[0]
        return f"]({posixpath.relpath(there, posixpath.dirname(here) or '.')}"

    return LINK.sub(led, markdown)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Refuse a page that would load something from another host."""
    found = LOADED.search(output)
    if found:
        raise PluginError(f"{page.file.src_uri} loads from another host: {found[0]}")
    return output
