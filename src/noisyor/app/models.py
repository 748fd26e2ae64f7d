"""Model: a network that is asked, by the name that the page and the interface know it under."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from noisyor.errors import ParameterError, UnknownNameError, nearest_name, quoted
from noisyor.inference.intervals import LearnedNetwork, network_of
from noisyor.io.json_text import json_text
from noisyor.learning import Estimate
from noisyor.network import NoisyOrNetwork
from noisyor.report.content import Content, content_of
from noisyor.report.opening import verdict_of
from noisyor.report.page import data_of, page_of


@dataclass(frozen=True)
class Model:
    """A network with a name, and what is known of how it was learned.

    Examples
    --------
    >>> from noisyor import datasets
    >>> model = Model("clinic", datasets.clinic())
    >>> model.symptoms(["Fever", "cou"])
    ['fever', 'cough']
    """

    name: str
    source: NoisyOrNetwork | LearnedNetwork
    """With standard errors, the answers have intervals."""
    misfits: Path | None = None
    """What `fit --misfits` wrote, for the report."""
    suggestions: Path | None = None
    """What `suggest` wrote, for the report and the pictures."""

    @cached_property
    def network(self) -> NoisyOrNetwork:
        """The network itself."""
        return network_of(self.source)

    @property
    def has_errors(self) -> bool:
        """True if there are standard errors, from which intervals follow."""
        return self._errors is not None

    @property
    def _errors(self) -> Any:
        return getattr(self.source, "standard_errors", None)

    @cached_property
    def _known_symptoms(self) -> frozenset[str]:
        return frozenset(self.network.structure.symptoms)

    def symptoms(self, names: Sequence[str]) -> list[str]:
        """Return the symptoms that are meant, as the command line understands names."""
        match, known = self.network.structure.match_symptom, self._known_symptoms
        return [name if name in known else match(name) for name in names]

    def disease(self, name: str) -> str:
        """Return the disease that is meant."""
        return self.network.structure.match_disease(name)

    @cached_property
    def _content(self) -> Content:
        gather = partial(
            content_of, misfits=self.misfits, suggestions=self.suggestions, title=self.name
        )
        if isinstance(self.source, Estimate):
            return gather(self.source)
        return gather(self.network, errors=self._errors)

    @cached_property
    def report(self) -> bytes:
        """The report of the network, as a page."""
        return page_of(self._content).encode()

    @cached_property
    def document(self) -> bytes:
        """What the page needs to know of it, as JSON: names, edges, estimates, covariates."""
        effects = self.network.causes.effects
        covariates = [] if effects is None else effects.covariates
        about = {
            "name": self.name,
            "independent": self.network.is_plain,
            "has_errors": self.has_errors,
            "covariates": [
                {"name": each.name, "levels": list(each.levels), "centre": each.centre}
                for each in covariates
            ],
        }
        vocabulary = self.network.structure.vocabulary
        standing = verdict_of(self._content)
        say = vocabulary.translator()
        about |= {"verdict": {"level": standing.level, "sentence": say(standing.sentence)}}
        about |= {"synonyms": vocabulary.to_document().get("synonyms", {})}
        return json_text(about | data_of(self._content)).encode()

    @property
    def summary(self) -> dict[str, Any]:
        """The line of a list of models."""
        structure = self.network.structure
        return {
            "name": self.name,
            "diseases": structure.n_diseases,
            "symptoms": structure.n_symptoms,
            "edges": structure.n_edges,
        }


class Models:
    """The models that are asked, the first of them where none is named."""

    def __init__(self, models: Sequence[Model]) -> None:
        if not models:
            raise ParameterError("there is no model to ask.")
        self._by_name = {model.name: model for model in models}
        if len(self._by_name) < len(models):
            raise ParameterError("two models have the same name.")

    def __iter__(self) -> Iterator[Model]:
        return iter(self._by_name.values())

    def named(self, name: str | None) -> Model:
        """Return the model of a name."""
        if name is None:
            return next(iter(self))
        if name not in self._by_name:
            hint = nearest_name(name, list(self._by_name)) or "."
            raise UnknownNameError(f"there is no model named {quoted(name)}{hint}")
        return self._by_name[name]


def distinct_names(sources: Sequence[str]) -> list[str]:
    """Return short names for files, folders and built-in networks, no two of them equal.

    >>> distinct_names(["clinic", "old/net.json", "new/net.json"])
    ['clinic', 'net', 'net (2)']
    """
    names: list[str] = []
    for source in sources:
        short = Path(source).stem or str(source)
        number, name = 1, short
        while name in names:
            number += 1
            name = f"{short} ({number})"
        names.append(name)
    return names
