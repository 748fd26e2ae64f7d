"""XDSL, the files of GeNIe and SMILE (BayesFusion), with real noisy-or symptoms.

A disease is a `cpt` without parents. A symptom is a `noisymax`, whose `parameters` are columns of
P(state of the symptom), in the order of the symptom's states:

- for each parent, a column for each of its states, from the strongest to the weakest; that of the
  weakest, the parent's absence, is 0 1: without effect;
- at the end the leak.

`strengths` lists each parent's states from the strongest to the weakest. A symptom's last state is
its absence. Here states are always (present, absent) and strengths 0 1, so that columns stand in
the same order whether by strength or by state.

What the parameters mean: a column is P(Y | X_i), the effect of one parent by itself (net
parameters, after Diez), and not P(Y | X_i and the leak) (compound parameters, after Henrion). So a
column of a present disease is (1 - failure, failure), the last one (leak, 1 - leak), and P(absent)
is the product of all: Eq. 2 of the paper. The header `defnoisymax.h` says so, and a network that
GeNIe 2.0 saved both as noisymax and as a table (CancerOR2 in the repository
krzysztof/BayesianLearning) agrees to the last digit.

Identifiers are letters, digits and underscores; the name itself stands in the part that GeNIe keeps
for what it shows.

What is read may be built otherwise. Roots are diseases (`cpt`) or symptoms without parents
(`noisymax`). A symptom is a `noisymax`, or a `cpt` whose table is an exact noisy-or. Of a parent's
two columns one must be that of the parent's weakest state, which has no effect: it says "absent,
with certainty". GeNIe's columns follow `strengths`. A file whose columns follow the states' own
order instead is read alike: the column that has an effect belongs to the state that is not the
weakest.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from noisyor.errors import ExchangeError, FileError, quoted
from noisyor.exchange.divorced import two_layers
from noisyor.exchange.nodes import (
    Node,
    check_binary,
    check_parents,
    identifiers,
    names_or_identifiers,
    network_from_nodes,
    present_by_name,
    present_state,
)
from noisyor.exchange.tables import (
    MOST_PARENTS_READ,
    TOLERANCE,
    Floats,
    parent_failures,
    present_last,
    table_parameters,
)
from noisyor.exchange.text_files import write_lines
from noisyor.io.documents import read_whole
from noisyor.io.paths import PathLike, unreadable
from noisyor.network import NoisyOrNetwork

NODE_KINDS = ("cpt", "noisymax")
TWO_STATES = '<state id="present" /><state id="absent" />'
NO_XML = re.compile(r"[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
COLUMNS, WIDTH, HEIGHT, GAP = 12, 90, 45, 20
"""How nodes are laid out: rows of twelve boxes."""


@dataclass
class Element:
    """An XML element: its name, attributes, text, children, and the line where it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def child(self, tag: str) -> "Element | None":
        """Return the first child with a name, if there is one."""
        return next((each for each in self.children if each.tag == tag), None)

    def text_of(self, tag: str) -> str:
        """Return the text of the first child with a name; empty where there is none."""
        found = self.child(tag)
        return found.text if found is not None else ""

    def descendants(self, tag: str) -> list["Element"]:
        """Return all elements with a name below this one, in the order of the file."""
        found, waiting = [], self.children[::-1]
        while waiting:
            element = waiting.pop()
            if element.tag == tag:
                found.append(element)
            waiting += element.children[::-1]
        return found


def read_xml(path: PathLike) -> Element:
    """Read a file into elements.

    A document type could define entities, which expand without bound or fetch other files. No
    format here needs one.
    """
    content, file = read_whole(path), str(path)
    top = Element("", {}, 0)
    open_elements = [top]
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_: str) -> None:
        open_elements.pop()

    def text(characters: str) -> None:
        open_elements[-1].text += characters

    def refuse(*_: object) -> None:
        raise FileError(
            f"{file}, line {parser.CurrentLineNumber}: the file has a document type (DOCTYPE), "
            "which could hide anything; remove it."
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text, refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise FileError(
            f"{file}, line {error.lineno}, column {error.offset + 1}: not valid XML "
            f"({expat.ErrorString(error.code)}); the file may be truncated or damaged."
        ) from None
    except (ValueError, LookupError) as error:
        if isinstance(error, FileError):
            raise
        raise unreadable(file, error) from None
    return top.children[0]


class XdslNode:
    """A node as it stands in the file."""

    def __init__(self, element: Element, key: str, name: str, path: str) -> None:
        self.element, self.key, self.name = element, key, name
        self.location = f"{path}, line {element.line}"
        self.is_noisy = element.tag == "noisymax"
        """True for a noisymax, False for a cpt."""
        states = (each for each in element.children if each.tag == "state")
        self.states = [each.attributes.get("id", "") for each in states]
        self.parents = tuple(element.text_of("parents").split())
        self.strengths = tuple(element.text_of("strengths").split())

    def weakest(self, parent: int) -> int:
        """Return the number of a parent's weakest state, the last of its strengths."""
        order = self.strengths[2 * parent : 2 * parent + 2] if self.strengths else ("0", "1")
        if order not in (("0", "1"), ("1", "0")):
            raise ExchangeError(
                f"{self.location}: node {quoted(self.name)} has strengths that are not an order of "
                f"two states, '0 1' or '1 0', for the parent {quoted(self.parents[parent])}."
            )
        return int(order[1])

    def numbers(self, tag: str, wanted: int) -> Floats:
        """Return the numbers of a child element, of which there must be a certain number."""
        text = self.element.text_of(tag).split()
        try:
            numbers = np.array([float(word) for word in text], dtype=np.float64)
        except ValueError:
            raise FileError(
                f"{self.location}: node {quoted(self.name)} has <{tag}> that are not all numbers."
            ) from None
        if len(numbers) != wanted:
            raise FileError(
                f"{self.location}: node {quoted(self.name)} has {len(numbers)} numbers in <{tag}>; "
                f"with {len(self.parents)} parents it needs {wanted}."
            )
        return numbers


def read_xdsl(path: PathLike) -> NoisyOrNetwork:
    """Read a network that GeNIe, SMILE or noisyor wrote."""
    root = read_xml(path)
    if root.tag != "smile" or root.child("nodes") is None:
        raise FileError(f"{path} is XML, but not XDSL: it has no <smile> with <nodes>.")
    nodes = _nodes(root, str(path))
    _refuse_pyagrum(root, nodes, str(path))
    check_parents([Node(node.key, node.name, node.location, node.parents) for node in nodes])
    present = _present_states(nodes)
    found = two_layers([_read_node(node, present) for node in nodes], str(path))
    return network_from_nodes(found, str(path))


def _refuse_pyagrum(root: Element, nodes: list[XdslNode], path: str) -> None:
    """Refuse tables of pyAgrum: it lets the first parent change fastest, SMILE the last one."""
    by_pyagrum = any(
        each.attributes.get("app", "").startswith("aGrUM") for each in root.descendants("genie")
    )
    wide = [node.name for node in nodes if len(node.parents) > 1]
    if by_pyagrum and wide:
        raise ExchangeError(
            f"{path} was written by pyAgrum, whose tables of several parents (node "
            f"{quoted(wide[0])}) stand in another order than GeNIe's; save the network as .bif "
            "there."
        )


def _nodes(root: Element, path: str) -> list[XdslNode]:
    holder = root.child("nodes")
    elements = holder.children if holder is not None else []
    keys = [element.attributes.get("id", "") for element in elements]
    for element, key in zip(elements, keys, strict=True):
        if not key:
            raise FileError(f"{path}, line {element.line}: a <{element.tag}> has no id.")
        if element.tag not in NODE_KINDS:
            raise ExchangeError(
                f"{path}, line {element.line}: node {quoted(key)} is a <{element.tag}>; expected "
                "<cpt> for diseases and <noisymax> for symptoms."
            )
    if len(set(keys)) < len(keys):
        twice, _ = Counter(keys).most_common(1)[0]
        raise FileError(f"{path}: the id {quoted(twice)} appears twice.")
    extensions = root.child("extensions")
    shown = extensions.descendants("node") if extensions is not None else []
    given = {node.attributes.get("id", ""): node.text_of("name") for node in shown}
    is_symptom = [each.tag == "noisymax" or bool(each.text_of("parents")) for each in elements]
    names = names_or_identifiers(keys, [given.get(key, "") for key in keys], is_symptom, path)
    return [XdslNode(*each, path) for each in zip(elements, keys, names, strict=True)]


def _present_states(nodes: list[XdslNode]) -> dict[str, int]:
    """Return for each node the state that means present: by its name, or by what it is to others.

    The last state of a noisymax is its absence. A parent's absence is its weakest state, if all
    its children agree.
    """
    weakest: dict[str, set[int]] = {}
    for node in nodes:
        check_binary(node.states, node.location, node.name)
        for number, parent in enumerate(node.parents):
            if node.is_noisy:
                weakest.setdefault(parent, set()).add(node.weakest(number))
    present = {}
    for node in nodes:
        by_name, by_use = present_by_name(node.states), weakest.get(node.key, set())
        if node.is_noisy and by_name == 1:
            raise ExchangeError(
                f"{node.location}: node {quoted(node.name)} has {quoted(node.states[1])} as its "
                "last state, which is the one without effect in a noisymax; a symptom's last "
                "state is its absence."
            )
        if node.is_noisy:
            present[node.key] = 0
        elif by_name is None and len(by_use) == 1:
            present[node.key] = 1 - min(by_use)
        else:
            present[node.key] = present_state(node.states, node.location, node.name)
    return present


def _read_node(node: XdslNode, present: dict[str, int]) -> Node:
    read = _noisy_parameters if node.is_noisy else _table_parameters
    leak, failures = read(node, present)
    is_disease = not node.is_noisy
    return Node(node.key, node.name, node.location, node.parents, is_disease, leak, failures)


def _table_parameters(node: XdslNode, present: dict[str, int]) -> tuple[float, tuple[float, ...]]:
    """Read a table, in which the node's own state changes fastest and its first parent slowest."""
    axes = len(node.parents) + 1
    if axes > MOST_PARENTS_READ + 1:
        raise FileError(
            f"{node.location}: {quoted(node.name)} has {axes - 1:,} parents; tables are read for "
            f"up to {MOST_PARENTS_READ}."
        )
    table = node.numbers("probabilities", 2**axes).reshape((2,) * axes)
    table = present_last(table, [present[key] for key in (*node.parents, node.key)])
    return table_parameters(table, node.location, node.name)


def _noisy_parameters(node: XdslNode, present: dict[str, int]) -> tuple[float, tuple[float, ...]]:
    """Read pairs (present, absent): two for each parent, then the leak."""
    numbers = node.numbers("parameters", 4 * len(node.parents) + 2)
    columns = numbers.reshape(-1, 2)
    valid = (columns >= 0).all(axis=1) & (np.abs(columns.sum(axis=1) - 1) <= TOLERANCE)
    if not valid.all():
        pair = columns[np.flatnonzero(~valid)[0]]
        raise ExchangeError(
            f"{node.location}: node {quoted(node.name)} has the parameters {pair[0]:g} and "
            f"{pair[1]:g}, which are not two probabilities that add up to 1."
        )
    failures = []
    for number, parent in enumerate(node.parents):
        if node.weakest(number) == present[parent]:
            raise ExchangeError(
                f"{node.location}: node {quoted(node.name)} is caused by the absence of its parent "
                f"{quoted(parent)} (see its strengths); in a noisy-or diseases cause by their "
                "presence."
            )
        failures.append(_failure(node, parent, columns[2 * number : 2 * number + 2, 1]))
    return min(float(columns[-1, 0]), 1.0), tuple(failures)


def _failure(node: XdslNode, parent: str, absent: Floats) -> float:
    """Return P(absent) of the column that has an effect; the other one has P(absent) = 1."""
    if absent.max() < 1 - TOLERANCE:
        raise ExchangeError(
            f"{node.location}: node {quoted(node.name)} has no column '0 1' for the parent "
            f"{quoted(parent)}; its weakest state must have no effect."
        )
    return min(float(absent.min()), 1.0)


def write_xdsl(network: NoisyOrNetwork, path: PathLike) -> None:
    """Write a network for GeNIe and SMILE; nothing is lost."""
    structure = network.structure
    for name in chain(structure.diseases, structure.symptoms):
        found = NO_XML.search(name)
        if found:
            raise ExchangeError(
                f"the name {quoted(name)} holds the character {quoted(found[0])}, which XML cannot "
                "write; rename it."
            )
    keys = identifiers([*structure.diseases, *structure.symptoms])
    write_lines(path, _lines(network, keys))


def _lines(network: NoisyOrNetwork, keys: list[str]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<smile version="1.0" id="noisyor" numsamples="10000" discsamples="10000">'
    yield "\t<nodes>"
    for key, prior in zip(keys, network.priors.tolist(), strict=False):
        yield f'\t\t<cpt id="{key}">'
        yield f"\t\t\t{TWO_STATES}"
        yield f"\t\t\t<probabilities>{prior!r} {1.0 - prior!r}</probabilities>"
        yield "\t\t</cpt>"
    for symptom in range(network.structure.n_symptoms):
        yield from _symptom_lines(network, keys, symptom)
    yield "\t</nodes>"
    yield "\t<extensions>"
    yield '\t\t<genie version="1.0" app="noisyor" name="noisyor">'
    yield from _shown_lines(network, keys)
    yield "\t\t</genie>"
    yield "\t</extensions>"
    yield "</smile>"


def _symptom_lines(network: NoisyOrNetwork, keys: list[str], symptom: int) -> Iterator[str]:
    parents, failures = parent_failures(network, symptom)
    leak = float(network.leaks[symptom])
    effects = [f"{1.0 - failure!r} {failure!r} 0 1" for failure in failures]
    yield f'\t\t<noisymax id="{keys[network.structure.n_diseases + symptom]}">'
    yield f"\t\t\t{TWO_STATES}"
    if parents:
        yield f"\t\t\t<parents>{' '.join(keys[parent] for parent in parents)}</parents>"
        yield f"\t\t\t<strengths>{' '.join(['0 1'] * len(parents))}</strengths>"
    yield f"\t\t\t<parameters>{' '.join([*effects, f'{leak!r} {1.0 - leak!r}'])}</parameters>"
    yield "\t\t</noisymax>"


def _shown_lines(network: NoisyOrNetwork, keys: list[str]) -> Iterator[str]:
    """Yield names and boxes: diseases in rows above, symptoms in rows below."""
    structure = network.structure
    disease_rows = -(-structure.n_diseases // COLUMNS)
    for number, name in enumerate([*structure.diseases, *structure.symptoms]):
        is_symptom = number >= structure.n_diseases
        within = number - structure.n_diseases if is_symptom else number
        row = within // COLUMNS + (disease_rows + 1 if is_symptom else 0)
        left, top = GAP + within % COLUMNS * (WIDTH + GAP), GAP + row * (HEIGHT + GAP)
        yield f'\t\t\t<node id="{keys[number]}">'
        yield f"\t\t\t\t<name>{escape(name, {chr(13): '&#13;'})}</name>"
        yield '\t\t\t\t<interior color="e5f6f7" />'
        yield '\t\t\t\t<outline color="000080" />'
        yield '\t\t\t\t<font color="000000" name="Arial" size="8" />'
        yield f"\t\t\t\t<position>{left} {top} {left + WIDTH} {top + HEIGHT}</position>"
        yield "\t\t\t</node>"
