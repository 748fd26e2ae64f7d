"""How diseases occur together: independently, by any joint distribution, or by a hidden trait.

Each kind is a mixture of components in each of which the diseases are independent,

    P(D) = sum over k of w_k  product over i of p_ik^d_i (1 - p_ik)^(1 - d_i),

so that whatever is known of independent diseases serves for all of them: a component is a network
with priors of its own. The states of a block of `Joint` are components with priors of 0 and 1; the
values of a trait, on a grid, are components with log odds a_i + b_i z.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisyor.errors import FileError, ParameterError, count_of, quoted
from noisyor.immutable import Immutable, equal_by_entries
from noisyor.names import Indices
from noisyor.network.covariates import Effects, finite_array
from noisyor.parameters import from_log_odds

Floats = NDArray[np.float64]

MOST_JOINT = 12
"""Diseases in one block of a joint distribution."""
MOST_COMPONENTS = 1 << 14
"""States of all blocks together."""
MOST_TRAITS = 3
N_NODES = {1: 21, 2: 11, 3: 7}
"""Values of a trait, by the number of traits."""
FARTHEST = 4.0
"""Values of a trait reach from minus to plus so many standard deviations."""


@equal_by_entries
class Components(NamedTuple):
    """A mixture of independent diseases."""

    weights: Floats
    """Of each component; they add up to 1."""
    priors: Floats
    """Components x diseases."""


class Causes(Immutable):
    """How diseases occur together; immutable. See `Independent`, `Joint` and `Trait`."""

    __slots__ = ("_components", "n_diseases")

    kind: str
    n_diseases: int
    _components: Components | None

    def _make_components(self) -> Components:
        raise NotImplementedError

    @property
    def components(self) -> Components:
        """The mixture that it is; of people whose covariates are unknown, where it has some."""
        if self._components is None:
            object.__setattr__(self, "_components", self._make_components())
        assert self._components is not None
        return self._components

    def components_of(self, row: Floats) -> Components:
        """Return the mixture of people with a row of the design, in which NaN is unknown."""
        raise ParameterError("this network has no covariates.")

    def marginals(self) -> Floats:
        """Return P(disease) of each."""
        weights, priors = self.components
        return np.minimum(weights @ priors, 1.0)

    def log_odds(self) -> Floats:
        """Return the log odds of each disease."""
        p = self.marginals()
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p) - np.log1p(-p))

    def joint(self, diseases: Sequence[int]) -> Floats:
        """Return P(states of some diseases), by their indices: entry [d_a, d_b, ...].

        >>> Joint([0.5, 0.1, 0.1, 0.3]).joint([0, 1])
        array([[0.5, 0.1],
               [0.1, 0.3]])
        """
        if len(diseases) > 20:
            raise ParameterError(
                f"the joint distribution of {len(diseases)} diseases is too large; at most 20."
            )
        weights, priors = self.components
        tensor = np.zeros((2,) * len(diseases))
        for weight, row in zip(weights, priors[:, list(diseases)], strict=True):
            part = np.array(weight)
            for p in row:
                part = part[..., np.newaxis] * np.array([1.0 - p, p])
            tensor += part
        return tensor

    def correlations(self) -> Floats:
        """Return the correlation of each two diseases; NaN where one is certain."""
        weights, priors = self.components
        mean = self.marginals()
        covariances = (priors * weights[:, np.newaxis]).T @ priors - np.outer(mean, mean)
        np.fill_diagonal(covariances, mean * (1.0 - mean))
        scale = np.sqrt(mean * (1.0 - mean))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(covariances / np.outer(scale, scale))

    def sample(
        self, n_records: int, rng: np.random.Generator, rows: Floats | None = None
    ) -> NDArray[np.bool_]:
        """Draw which diseases some records have, records x diseases.

        `rows` are those of the design, where covariates are known.
        """
        weights, priors = self.components
        if rows is not None:
            raise ParameterError("this network has no covariates: leave them out.")
        chosen = rng.choice(len(weights), n_records, p=weights / weights.sum())
        return np.asarray(rng.random((n_records, self.n_diseases)) < priors[chosen])

    def given(self, covariates: Mapping[str, Any] | None) -> "Causes":
        """Return the causes of a person with these covariates."""
        if covariates:
            raise ParameterError(
                "this network has no covariates: it was not learned with any, so leave out "
                f"{quoted(next(iter(covariates)))}."
            )
        return self

    @property
    def effects(self) -> Effects | None:
        """How covariates change the log odds, where there are some."""
        return None

    @property
    def is_independent(self) -> bool:
        """True if there is but one component."""
        return len(self.components.weights) == 1

    @property
    def n_parameters(self) -> int:
        """How many numbers describe it."""
        raise NotImplementedError

    def to_document(self) -> dict[str, Any]:
        """Return it as a part of a JSON document."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Causes):
            return NotImplemented
        return self.to_document() == other.to_document()

    def __hash__(self) -> int:
        return hash((self.kind, self.marginals().tobytes()))


class LogisticCauses(Causes):
    """Log odds a + B x + b z, of covariates x and traits z: `Independent` and `Trait`."""

    __slots__ = ("_effects",)

    intercepts: Floats
    """The log odds of a person whose traits, and row of the design, are 0."""
    loadings: Floats
    """Diseases x traits."""
    _effects: Effects | None

    @property
    def effects(self) -> Effects | None:
        """How covariates change the log odds, where there are some."""
        return self._effects

    def components_of(self, row: Floats) -> Components:
        """Return the mixture of people with a row of the design, in which NaN is unknown."""
        return super().components_of(row) if self._effects is None else _logistic_of(self, row)

    def given(self, covariates: Mapping[str, Any] | None) -> Causes:
        """Return the causes of a person with these covariates."""
        if self._effects is None:
            return super().given(covariates)
        return _given(self, self._effects, covariates)

    def sample(
        self, n_records: int, rng: np.random.Generator, rows: Floats | None = None
    ) -> NDArray[np.bool_]:
        """Draw which diseases some records have, records x diseases."""
        if rows is None or self._effects is None:
            return super().sample(n_records, rng, rows)
        return _sample_logistic(self, self._effects, rng, rows)


class Independent(LogisticCauses):
    """Diseases that occur independently of each other, given what is known of a person.

    Parameters
    ----------
    priors
        P(disease) of each; with effects, of a person whose row of the design is 0.
    effects
        How covariates change their log odds.

    Examples
    --------
    >>> Independent([0.1, 0.2]).joint([0, 1])
    array([[0.72, 0.18],
           [0.08, 0.02]])
    """

    __slots__ = ("intercepts", "loadings", "priors")
    kind = "independent"

    def __init__(self, priors: ArrayLike, effects: Effects | None = None) -> None:
        self.priors = _shares(priors, "priors")
        self.n_diseases = len(self.priors)
        with np.errstate(divide="ignore"):
            self.intercepts = np.log(self.priors) - np.log1p(-self.priors)
        self.loadings = np.zeros((self.n_diseases, 0))
        self._effects = _checked_effects(effects, self.n_diseases)
        self._components = None
        self._seal()

    @property
    def n_parameters(self) -> int:
        """How many numbers describe it."""
        return self.n_diseases + (0 if self._effects is None else self._effects.coefficients.size)

    def _make_components(self) -> Components:
        if self._effects is None:
            return Components(np.ones(1), self.priors[np.newaxis].copy())
        return _logistic(self, self._effects.cells, self._effects.weights)

    def to_document(self) -> dict[str, Any]:
        """Return it as a part of a JSON document."""
        content: dict[str, Any] = {"kind": self.kind, "priors": self.priors.tolist()}
        if self._effects is not None:
            content["effects"] = self._effects.to_document()
        return content

    def __reduce__(self) -> tuple[Any, ...]:
        return Independent, (self.priors, self._effects)

    def __repr__(self) -> str:
        effects = "" if self._effects is None else f", {self._effects!r}"
        return f"Independent({self.n_diseases} diseases{effects})"


class Joint(Causes):
    """Any joint distribution of up to 12 diseases, or of several such blocks.

    Parameters
    ----------
    shares
        P(states) of the diseases of a block: 2^k numbers that add up to 1, as an array of shape
        (2, ..., 2) or flat, the last disease changing fastest. With several blocks a list of them.
    blocks
        The indices of the diseases of each block; None: one block of all diseases.
    priors
        P(disease) of all; those of diseases in a block are not looked at. None: all are in blocks.

    Examples
    --------
    >>> both = Joint([[0.6, 0.1], [0.1, 0.2]])
    >>> both.marginals().round(3), both.correlations()[0, 1].round(3)
    (array([0.3, 0.3]), np.float64(0.524))
    """

    __slots__ = ("blocks", "priors", "shares")
    kind = "joint"

    def __init__(
        self,
        shares: Any,
        blocks: Sequence[Sequence[int]] | None = None,
        priors: ArrayLike | None = None,
    ) -> None:
        parts = [shares] if blocks is None else list(shares)
        found = [_shares(np.ravel(np.asarray(each)), "shares") for each in parts]
        if blocks is None:
            blocks = [range(len(found[0]).bit_length() - 1)]
        self.blocks = tuple(tuple(int(i) for i in block) for block in blocks)
        named = [i for block in self.blocks for i in block]
        self.n_diseases = len(named) if priors is None else len(np.asarray(priors))
        _check_blocks(self.blocks, named, self.n_diseases, priors is None)
        if len(found) != len(self.blocks):
            raise ParameterError(
                f"there are {len(self.blocks)} blocks, but shares of {len(found)} of them."
            )
        self.shares = tuple(map(_checked_shares, self.blocks, found))
        rest = np.zeros(self.n_diseases) if priors is None else np.array(priors, np.float64)
        rest[named] = 0.0
        self.priors = _shares(rest, "priors")
        self._components = None
        self._seal()

    @property
    def is_blocked(self) -> NDArray[np.bool_]:
        """True for diseases that are in a block."""
        found = np.zeros(self.n_diseases, dtype=np.bool_)
        found[[i for block in self.blocks for i in block]] = True
        return found

    def states(self) -> tuple[Indices, ...]:
        """Return, for each block, the number of its state in each component."""
        sizes = [len(shares) for shares in self.shares]
        numbers = np.arange(int(np.prod(sizes)))
        return tuple(np.unravel_index(numbers, sizes)) if sizes else ()

    @property
    def n_parameters(self) -> int:
        """How many numbers describe it."""
        rest = int((~self.is_blocked).sum())
        return sum(len(shares) - 1 for shares in self.shares) + rest

    def _make_components(self) -> Components:
        states = self.states()
        n = len(states[0]) if states else 1
        weights, priors = np.ones(n), np.tile(self.priors, (n, 1))
        for block, shares, numbers in zip(self.blocks, self.shares, states, strict=True):
            weights *= shares[numbers]
            for position, disease in enumerate(block):
                priors[:, disease] = numbers >> (len(block) - 1 - position) & 1
        return Components(weights, priors)

    def to_document(self) -> dict[str, Any]:
        """Return it as a part of a JSON document."""
        return {
            "kind": self.kind,
            "blocks": [list(block) for block in self.blocks],
            "shares": [shares.tolist() for shares in self.shares],
            "priors": self.priors.tolist(),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Joint, (self.shares, self.blocks, self.priors)

    def __repr__(self) -> str:
        sizes = ", ".join(str(len(block)) for block in self.blocks)
        return f"Joint({self.n_diseases} diseases, blocks of {sizes})"


class Trait(LogisticCauses):
    """Diseases that depend on hidden traits of a person, standard normal: frailty, ability.

    Parameters
    ----------
    intercepts
        The log odds of each disease where all traits, and the row of the design, are 0.
    loadings
        By how much a standard deviation of a trait raises them: one per disease, or diseases x
        traits (up to 3).
    effects
        How covariates change the log odds.

    Examples
    --------
    >>> trait = Trait([-2.0, -1.0], loadings=[1.5, 1.0])
    >>> trait.marginals().round(3), trait.correlations()[0, 1].round(3)
    (array([0.19 , 0.303]), np.float64(0.19))
    """

    __slots__ = ("intercepts", "loadings")
    kind = "trait"

    def __init__(
        self, intercepts: ArrayLike, loadings: ArrayLike, effects: Effects | None = None
    ) -> None:
        self.intercepts = finite_array(intercepts, "intercepts", 1)
        self.n_diseases = len(self.intercepts)
        table = np.asarray(loadings, dtype=np.float64)
        if table.ndim == 1:
            table = table[:, np.newaxis]
        self.loadings = finite_array(table, "loadings", 2)
        if len(self.loadings) != self.n_diseases or not 1 <= self.n_traits <= MOST_TRAITS:
            raise ParameterError(
                f"the loadings have the shape {self.loadings.shape}; expected "
                f"{self.n_diseases} diseases x 1 to {MOST_TRAITS} traits."
            )
        self._effects = _checked_effects(effects, self.n_diseases)
        self._components = None
        self._seal()

    @property
    def n_traits(self) -> int:
        """How many traits there are."""
        return int(self.loadings.shape[1])

    @property
    def n_parameters(self) -> int:
        """How many numbers describe it; several traits can be rotated into each other."""
        rotations = self.n_traits * (self.n_traits - 1) // 2
        effects = 0 if self._effects is None else self._effects.coefficients.size
        return self.intercepts.size + self.loadings.size - rotations + effects

    def _make_components(self) -> Components:
        if self._effects is None:
            return _logistic(self, np.zeros((1, 0)), np.ones(1))
        return _logistic(self, self._effects.cells, self._effects.weights)

    def to_document(self) -> dict[str, Any]:
        """Return it as a part of a JSON document."""
        content: dict[str, Any] = {
            "kind": self.kind,
            "intercepts": self.intercepts.tolist(),
            "loadings": self.loadings.tolist(),
        }
        if self._effects is not None:
            content["effects"] = self._effects.to_document()
        return content

    def __reduce__(self) -> tuple[Any, ...]:
        return Trait, (self.intercepts, self.loadings, self._effects)

    def __repr__(self) -> str:
        effects = "" if self._effects is None else f", {self._effects!r}"
        return f"Trait({self.n_diseases} diseases, {count_of(self.n_traits, 'trait')}{effects})"


def trait_grid(n_traits: int) -> tuple[Floats, Floats]:
    """Return the values of traits, a row for each node, and the weights of the nodes."""
    if not n_traits:
        return np.zeros((1, 0)), np.ones(1)
    axis = np.linspace(-FARTHEST, FARTHEST, N_NODES[n_traits])
    nodes = np.stack(np.meshgrid(*[axis] * n_traits, indexing="ij"), axis=-1)
    nodes = nodes.reshape(-1, n_traits)
    weights = np.exp(-0.5 * (nodes**2).sum(axis=1))
    return nodes, weights / weights.sum()


def _logistic(causes: LogisticCauses, cells: Floats, cell_weights: Floats) -> Components:
    """Return the components of all cells and values of the traits."""
    nodes, weights = trait_grid(causes.loadings.shape[1])
    rows = np.broadcast_to(causes.intercepts, (len(cells), causes.n_diseases))
    if causes.effects is not None:
        rows = rows + cells @ causes.effects.coefficients.T
    log_odds = rows[:, np.newaxis] + nodes @ causes.loadings.T
    return Components(
        np.outer(cell_weights / cell_weights.sum(), weights).ravel(),
        from_log_odds(log_odds).reshape(-1, causes.n_diseases),
    )


def _logistic_of(causes: LogisticCauses, row: Floats) -> Components:
    """Return the components of people with a row of the design."""
    assert causes.effects is not None
    return _logistic(causes, *causes.effects.cells_like(row))


def _given(
    causes: LogisticCauses, effects: Effects, covariates: Mapping[str, Any] | None
) -> Causes:
    """Return causes of a person, whose covariates are not looked at any more."""
    if covariates is None:
        return causes
    if not hasattr(covariates, "keys"):
        raise ParameterError(
            f"covariates of a person are a mapping of names to values, not {quoted(covariates)}."
        )
    row = effects.row(dict(covariates))
    effects.tell_outside(row[np.newaxis])
    cells, weights = effects.cells_like(row)
    if len(cells) > 1:
        some = Effects(effects.covariates, effects.coefficients, cells, weights)
        if isinstance(causes, Trait):
            return Trait(causes.intercepts, causes.loadings, some)
        assert isinstance(causes, Independent)
        return Independent(causes.priors, some)
    log_odds = causes.intercepts + effects.coefficients @ cells[0]
    if isinstance(causes, Trait):
        return Trait(log_odds, causes.loadings)
    return Independent(from_log_odds(log_odds))


def _sample_logistic(
    causes: LogisticCauses, effects: Effects, rng: np.random.Generator, rows: Floats
) -> NDArray[np.bool_]:
    """Draw the diseases of people with known covariates."""
    nodes, weights = trait_grid(causes.loadings.shape[1])
    traits = nodes[rng.choice(len(weights), len(rows), p=weights)]
    log_odds = causes.intercepts + rows @ effects.coefficients.T + traits @ causes.loadings.T
    return np.asarray(rng.random(log_odds.shape) < from_log_odds(log_odds))


def causes_from_document(content: Any, n_diseases: int, path: Any) -> Causes:
    """Read what `to_document` of any kind gave."""
    if not isinstance(content, dict) or content.get("kind") not in KINDS_OF_CAUSES:
        raise FileError(
            f"{path}: 'causes' must be an object whose kind is one of {', '.join(KINDS_OF_CAUSES)}."
        )
    effects = content.get("effects")
    known = None if effects is None else Effects.from_document(effects, path)
    try:
        match content["kind"]:
            case "independent":
                causes: Causes = Independent(content.get("priors"), known)  # type: ignore[arg-type]
            case "joint":
                causes = Joint(content.get("shares"), content.get("blocks"), content.get("priors"))
            case _:
                causes = Trait(content.get("intercepts"), content.get("loadings"), known)  # type: ignore[arg-type]
    except (ParameterError, TypeError, ValueError, IndexError) as error:
        raise FileError(f"{path}, 'causes': {error}") from None
    if causes.n_diseases != n_diseases:
        raise FileError(f"{path}: 'causes' are of {causes.n_diseases} diseases, not {n_diseases}.")
    return causes


KINDS_OF_CAUSES = ("independent", "joint", "trait")


def _shares(values: ArrayLike, what: str) -> Floats:
    array = finite_array(values, what, 1)
    if not ((array >= 0.0) & (array <= 1.0)).all():
        raise ParameterError(f"{what} must lie between 0 and 1.")
    return array


def _checked_effects(effects: Effects | None, n_diseases: int) -> Effects | None:
    if effects is not None and len(effects.coefficients) != n_diseases:
        raise ParameterError(
            f"the effects have rows for {len(effects.coefficients)} diseases, not {n_diseases}."
        )
    return effects


def _check_blocks(
    blocks: tuple[tuple[int, ...], ...], named: list[int], n_diseases: int, has_no_rest: bool
) -> None:
    if len(set(named)) < len(named) or not all(0 <= i < n_diseases for i in named):
        raise ParameterError(
            f"blocks hold each disease once, by its index below {n_diseases}; they are {blocks}."
        )
    if has_no_rest and sorted(named) != list(range(n_diseases)):
        raise ParameterError("diseases outside of the blocks need priors.")
    for block in blocks:
        if not 1 <= len(block) <= MOST_JOINT:
            raise ParameterError(
                f"a joint distribution is of 1 to {MOST_JOINT} diseases, not of {len(block)} "
                f"(2^{len(block)} shares): make several blocks, or take a trait "
                "(causes='trait')."
            )
    n_states = 2 ** sum(len(block) for block in blocks)
    if n_states > MOST_COMPONENTS:
        raise ParameterError(
            f"the blocks have 2^{n_states.bit_length() - 1} states together, more than "
            f"{MOST_COMPONENTS:,}: make fewer or smaller ones, or take a trait (causes='trait')."
        )


def _checked_shares(block: tuple[int, ...], shares: Floats) -> Floats:
    if len(shares) != 2 ** len(block):
        raise ParameterError(
            f"a block of {len(block)} diseases has {2 ** len(block)} shares, not {len(shares)}."
        )
    total = float(shares.sum())
    if not abs(total - 1.0) < 1e-6:
        raise ParameterError(f"the shares of a block add up to {total:g}, not to 1.")
    exact = shares / total
    exact.flags.writeable = False
    return exact
