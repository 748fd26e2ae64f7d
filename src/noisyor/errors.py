"""What can go wrong, each kind with a message that says where and what to do.

Every error that a user can cause is a `NoisyOrError`; the command line prints its message and
exits with code 2. It is a `ValueError`, so that callers who know nothing of this package catch it.
"""

import difflib
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar


class NoisyOrError(ValueError):
    """Something that the user can repair; the message says how.

    Examples
    --------
    >>> from noisyor import NoisyOrError, Structure
    >>> try:
    ...     Structure.from_edges([("flu", "fever"), ("flu", "fever")])
    ... except NoisyOrError as error:
    ...     print(error)
    edge 1: the edge from 'flu' to 'fever' was given before (edge 0).
    """


class StructureError(NoisyOrError):
    """The diseases, symptoms and edges do not make a structure."""


class ParameterError(NoisyOrError):
    """Priors, failures or leaks that are not probabilities, or an argument out of its range."""


class FindingsError(NoisyOrError):
    """Records that do not fit the structure, or values in them that are not findings."""


class UnknownNameError(NoisyOrError):
    """A disease or symptom that the structure does not have."""


class ScheduleError(NoisyOrError):
    """A schedule with a step that is not valid, or that belongs to another structure."""


class DecompositionError(NoisyOrError):
    """A tensor that is not a mixture of two products of distributions."""


class ClusterError(NoisyOrError):
    """A cluster that is not there, or whose workers die."""


class CardError(NoisyOrError):
    """A graphics card that is asked for and is not there, or not ready for use."""


class FileError(NoisyOrError):
    """A file that cannot be read or written; the message names it."""


class FileAccessError(FileError):
    """The system did not give the bytes of a file; a moment later it may, so a cluster asks again.

    What is wrong in the file itself is a plain `FileError`: reading once more would not help.
    """


class ValueFileError(FileError):
    """Values of a column that are not what the column is for."""


class ChangedFileError(FileError):
    """Files that are others than in an earlier pass over them: no result would hold for both."""


class ExchangeError(NoisyOrError):
    """A network of other software that is not a noisy-or, or a format that cannot hold one."""


class NoisyOrWarning(UserWarning):
    """Something the user should know although the work went on.

    Examples
    --------
    >>> import warnings
    >>> from noisyor import NoisyOrWarning
    >>> warnings.simplefilter("ignore", NoisyOrWarning)  # where you know it already
    """


_collected: ContextVar[list[str] | None] = ContextVar("notices", default=None)


def give_notice(message: str, *, stacklevel: int = 1) -> None:
    """Warn of something, or keep it for whoever collects the notices of this work."""
    collected = _collected.get()
    if collected is None:
        warnings.warn(message, NoisyOrWarning, stacklevel=stacklevel + 1)
    else:
        collected.append(message)


@contextmanager
def collected_notices() -> Iterator[list[str]]:
    """Give a list that takes all notices of this thread; others go on warning.

    Python's own `catch_warnings` is one for all threads of a process, of which a worker has many.

    >>> with collected_notices() as notices:
    ...     give_notice("two files have the same name.")
    >>> notices
    ['two files have the same name.']
    """
    notices: list[str] = []
    token = _collected.set(notices)
    try:
        yield notices
    finally:
        _collected.reset(token)


def some_of(names: Iterable[object], most: int = 5) -> str:
    """Return the first few names, quoted, and how many more there are.

    >>> some_of(["fever", "cough", "rash"], most=2)
    "'fever', 'cough' and 1 more"
    """
    listed = [quoted(name, most=200) for name in names]
    shown = ", ".join(listed[:most])
    return shown if len(listed) <= most else f"{shown} and {len(listed) - most} more"


def quoted(value: object, most: int = 100) -> str:
    """Return a value for a message, cut where it is long; what does not print is escaped.

    >>> quoted("a" * 200, most=10)
    "'aaaaaaaaa... (202 characters)"
    """
    text = ascii(value) if not str(value).isprintable() else repr(value)
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff]"
)
"""Controls, escapes, direction marks and what else moves or hides letters on a terminal; not the
end of a line and the tab, nor the joiners that Persian and emoji need."""


def printable(text: str) -> str:
    """Return a text for a terminal: what would act there instead of being seen is escaped.

    >>> print(printable("fever\x1b[2J"))
    fever\\x1b[2J
    """
    return _UNSHOWN.sub(lambda found: ascii(found[0])[1:-1], text)


def count_of(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "record"), count_of(2000, "record")
    ('1 record', '2,000 records')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def nearest_name(name: str, names: Sequence[str]) -> str:
    """Return a question that names the nearest known name, or nothing where none is near.

    >>> nearest_name("fevr", ["fever", "cough"])
    "; did you mean 'fever'?"
    """
    near = nearest(name, names)
    return f"; did you mean {near!r}?" if near else ""


_LONGEST_COMPARED, _MOST_COMPARED = 200, 10_000
"""Letters of names, and names, among which a near one is looked for: comparing takes long."""


def nearest(name: str, names: Sequence[str]) -> str | None:
    """Return the known name that is nearest in its letters, or None where none or several are.

    Names with the same numbers as this one, if there are any, are the only ones that can be meant.

    >>> nearest("symptom 2", ["symptom 42", "symptom 02"]), nearest("item 3", ["item 1", "item 2"])
    ('symptom 02', None)
    """
    if len(name) > _LONGEST_COMPARED:
        return None
    folded = {known.casefold(): known for known in names if len(known) <= _LONGEST_COMPARED}
    folded = _with_numbers(_numbers(name), folded) or folded
    if len(folded) > _MOST_COMPARED:
        by_length = sorted(folded, key=lambda known: abs(len(known) - len(name)))
        folded = {known: folded[known] for known in by_length[:_MOST_COMPARED]}
    near = difflib.get_close_matches(name.casefold(), folded, n=2)
    scores = [difflib.SequenceMatcher(None, each, name.casefold()).ratio() for each in near]
    is_tied = len(scores) == 2 and scores[0] == scores[1]
    return folded[near[0]] if near and not is_tied else None


def _with_numbers(numbers: list[int], folded: dict[str, str]) -> dict[str, str]:
    """Return the names that have these numbers; none where there are no numbers."""
    if not numbers:
        return {}
    return {key: known for key, known in folded.items() if _numbers(key) == numbers}


def _numbers(name: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"[0-9]+", name)]
