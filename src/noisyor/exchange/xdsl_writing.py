"""Writing the XDSL files of GeNIe and SMILE (BayesFusion), with real noisy-or symptoms.

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
"""

import re
from collections.abc import Iterator
from itertools import chain
from xml.sax.saxutils import escape

from noisyor.errors import ExchangeError
from noisyor.exchange.identifiers import identifiers
from noisyor.io.paths import PathLike, replaced_when_done
from noisyor.network import NoisyOrNetwork

STATES = '<state id="present" /><state id="absent" />'
NO_XML = re.compile(r"[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
COLUMNS, WIDTH, HEIGHT, GAP = 12, 90, 45, 20
"""How nodes are laid out: rows of twelve boxes."""


def write_xdsl(network: NoisyOrNetwork, path: PathLike) -> None:
    """Write a network for GeNIe and SMILE; nothing is lost."""
    structure = network.structure
    for name in chain(structure.diseases, structure.symptoms):
        found = NO_XML.search(name)
        if found:
            raise ExchangeError(
                f"the name {name!r} holds the character {found[0]!r}, which XML cannot write; "
                "rename it."
            )
    keys = identifiers([*structure.diseases, *structure.symptoms])
    with (
        replaced_when_done(path) as part,
        part.open("w", encoding="utf-8", newline="\n") as stream,
    ):
        for line in _lines(network, keys):
            stream.write(line + "\n")


def _lines(network: NoisyOrNetwork, keys: list[str]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<smile version="1.0" id="noisyor" numsamples="10000" discsamples="10000">'
    yield "\t<nodes>"
    for key, prior in zip(keys, network.priors.tolist(), strict=False):
        yield f'\t\t<cpt id="{key}">'
        yield f"\t\t\t{STATES}"
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
    structure = network.structure
    parents = structure.parents(symptom).tolist()
    start = int(structure.parent_offsets[symptom])
    edges = structure.parent_edges[start : start + len(parents)]
    leak = float(network.leaks[symptom])
    effects = [f"{1.0 - failure!r} {failure!r} 0 1" for failure in network.failures[edges].tolist()]
    yield f'\t\t<noisymax id="{keys[structure.n_diseases + symptom]}">'
    yield f"\t\t\t{STATES}"
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
