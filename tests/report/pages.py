"""Reading a page back, as a browser would: its elements, texts and data."""

import json
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "img"}
SHAPES = {"rect", "line", "circle", "path"}

HOSTILE = (
    "</script><script>window.hacked = true</script>",
    '<!-- <img src="x" onerror="window.hacked = true"> & "quotes" \'single\'',
    "Grüße \N{FACE WITH THERMOMETER} \u202e \u2028 \x00 \x1b",
    "${title} $data %s {0}",
    "x" * 300,
)


class Page(HTMLParser):
    """A page whose elements are closed in order, with what the tests look at."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.texts = [], [], [], [], []
        self.scripts = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.ids += [value for name, value in attributes if name == "id"]
        self.links += [value for name, value in attributes if name in ("href", "src")]
        assert not [name for name, _ in attributes if name.startswith("on")]
        if tag == "script":
            self.scripts.append((dict(attributes), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in SHAPES

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} is closed out of order"

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            attributes, before = self.scripts[-1]
            self.scripts[-1] = attributes, before + text
        else:
            self.texts.append(text)

    @property
    def data(self):
        return json.loads(self.scripts[0][1])

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def read_page(path):
    return Page(path.read_text(encoding="utf-8"))
