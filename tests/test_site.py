"""The reference is complete and up to date, and what makes the site does what it says."""

import doctest
import importlib
import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest

import noisyor

ROOT = Path(__file__).parents[1]


def load(script):
    spec = importlib.util.spec_from_file_location(script, ROOT / "scripts" / f"{script}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown_names():
    pages = (ROOT / "docs" / "reference").glob("*.md")
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    return re.findall(r"^::: (\S+)", text, re.MULTILINE)


def test_every_public_name_stands_on_one_page_of_the_reference():
    shown = Counter(path.rsplit(".", 1)[1] for path in shown_names())
    rooms = (
        "datasets", "learning", "inference", "identifiability", "exchange", "evaluation",
        "moments", "schedule", "findings",
    )  # fmt: skip
    public = set(noisyor.__all__) - {"__version__", "METHODS"}
    for room in rooms:
        public |= set(getattr(importlib.import_module(f"noisyor.{room}"), "__all__", ()))
    public -= {"METHODS", "datasets", "ReadOptions"}
    missing = public - set(shown)
    assert not missing, f"add them to a page of docs/reference: {sorted(missing)}"
    assert max(shown.values()) == 1, shown.most_common(3)


def test_functions_are_not_mistaken_for_modules_of_their_name():
    """The reference is read from the source: there `inference.posterior` is the module."""
    for path in shown_names():
        name = path.rsplit(".", 1)[1]
        home = getattr(getattr(noisyor, name, None), "__module__", "")
        if home.rsplit(".", 1)[-1] == name:
            assert path == f"{home}.{name}"


def test_the_overview_of_the_reference_names_them_all():
    text = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    assert {name for name in noisyor.__all__ if f"`{name}`" not in text} == {"__version__"}


def test_the_reference_of_the_command_line_is_up_to_date():
    page = load("make_cli_reference").page()
    assert page == (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8"), (
        "run `make reference`"
    )
    for code in "0", "2", "130":
        assert f"- `{code}`: " in page


@pytest.mark.parametrize("script", ["fill_outputs", "make_cli_reference", "site_hooks"])
def test_doctests_of_scripts(script):
    pytest.importorskip("mkdocs", reason="the site needs mkdocs (dev)")
    failed, tried = doctest.testmod(load(script))
    assert tried
    assert not failed


def test_doctests_in_docstrings_are_fenced():
    pytest.importorskip("griffe", reason="the site needs griffe (dev)")
    fence = load("fenced_doctests").fence_doctests
    assert (
        fence("A sum.\n\n>>> 1 + 1\n2\n\nAll.") == "A sum.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nAll."
    )
    assert fence("No code, but 1 >>> 0.") == "No code, but 1 >>> 0."


def test_pages_that_load_from_another_host_are_refused():
    pytest.importorskip("mkdocs", reason="the site needs mkdocs (dev)")
    loads = load("site_hooks").LOADED.search
    assert loads('<script async src="https://cdn.example/x.js">')
    assert loads('<link rel="stylesheet" href=//fonts.example/x.css>')
    assert loads('<img alt="x" src="http://example.org/x.png">')
    assert not loads('<script src="assets/x.js"></script><a href="https://example.org">x</a>')


def test_the_gallery_is_made_of_its_page(tmp_path):
    gallery = load("make_gallery")
    images = [block["image"] for block in gallery.BLOCKS.finditer(gallery.PAGE.read_text("utf-8"))]
    wanted = [image for image in images if image]
    assert len(wanted) == 10
    for image in wanted:
        assert (gallery.PAGE.parent / image).stat().st_size > 5000, "run scripts/make_gallery.py"
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nfrom noisyor import datasets\n```\n"
        "```python\nax = datasets.figure1(0).plot()\n```\n\n![x](images/x.svg)\n"
    )
    assert gallery.make(page, tmp_path) == [tmp_path / "images" / "x.svg"]
    assert "<svg" in (tmp_path / "images" / "x.svg").read_text()
