"""Flag: what is doubtful about an estimate, as a code for programs and a sentence for people.

In files a parameter's flags are codes, parted by blanks: "clipped weak". Files of version 0.1.0
have only the sentences of that version.
"""

from collections.abc import Mapping
from enum import IntFlag
from typing import Self

from noisyor.errors import FileError, ParameterError, quoted


class Flag(IntFlag):
    """What is to be known of an estimate besides its value; a parameter can have several.

    >>> (Flag.WEAK | Flag.CLIPPED).codes
    'clipped weak'
    >>> Flag.from_codes("clipped weak") == Flag.WEAK | Flag.CLIPPED
    True
    """

    CLIPPED = 1
    COMPLEX = 2
    DEGENERATE = 4
    NO_MOMENT = 8
    RESTS_ON_UNLEARNED = 16
    NOT_SCHEDULED = 32
    UNSTABLE = 64
    RESTS_ON_CLIPPED = 128
    WEAK = 256
    UNCERTIFIED = 512
    FIXED = 1024
    WEAKLY_IDENTIFIED = 2048
    SWAPPABLE = 4096
    AMBIGUOUS = 8192
    NO_ERROR = 16384
    UNMIXED = 32768

    NOT_LEARNED = COMPLEX | DEGENERATE | NO_MOMENT | RESTS_ON_UNLEARNED | NOT_SCHEDULED
    DOUBTFUL = (
        NOT_LEARNED | CLIPPED | RESTS_ON_CLIPPED | UNSTABLE | WEAK | UNCERTIFIED
        | WEAKLY_IDENTIFIED | SWAPPABLE | AMBIGUOUS | NO_ERROR | UNMIXED
    )  # fmt: skip
    """All but FIXED, which is a fact and not a doubt."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What each of the flags means, in words."""
        return tuple(text for flag, text in REASONS.items() if flag in self)

    @property
    def reasons(self) -> str:
        """What the flags mean, in words, as one text."""
        return "; ".join(self.sentences)

    @property
    def codes(self) -> str:
        """The names of the flags in lower case, parted by blanks."""
        return " ".join(flag.code for flag in self)

    @property
    def code(self) -> str:
        """The name of a single flag in lower case."""
        return (self.name or "").lower()

    @classmethod
    def from_codes(cls, text: str) -> Self:
        """Return the flags with these codes; an empty text has none."""
        flags = cls(0)
        known = {flag.code: flag for flag in cls} if text else {}
        for code in text.split():
            if code not in known:
                raise ParameterError(f"there is no flag {quoted(code)}; known: {', '.join(known)}.")
            flags |= known[code]
        return flags


REASONS = {
    Flag.CLIPPED: "outside of [0.000001, 0.999999], clipped to the bound",
    Flag.RESTS_ON_CLIPPED: "rests on a parameter that was clipped",
    Flag.COMPLEX: "not learned: its triplet is not a mixture of two (complex eigenvalues)",
    Flag.DEGENERATE: "not learned: a symptom of its triplet shows no dependence (determinant 0)",
    Flag.NO_MOMENT: "not learned: a moment it needs is hidden, or a symptom is always present",
    Flag.RESTS_ON_UNLEARNED: "not learned: it rests on a parameter that was not learned",
    Flag.NOT_SCHEDULED: "not learned: neither a schedule nor the clean-up teaches it",
    Flag.WEAK: "the records say little of it: it is mainly what the other parameters show",
    Flag.UNCERTIFIED: "neither a schedule nor the clean-up shows that it can be known",
    Flag.WEAKLY_IDENTIFIED: "the records hardly tell its disease from others: it may be far off "
    "(method='bayesian' shows how far)",
    Flag.SWAPPABLE: "its disease has the same symptoms as another: which is which is not known",
    Flag.AMBIGUOUS: "another explanation fits the moments nearly as well",
    Flag.NO_ERROR: "how exact it is, is not known: the method does not say, or fewer than 10 "
    "groups hold records",
    Flag.UNMIXED: "the chains of draws disagree: make more rounds (max_iter)",
    Flag.FIXED: "fixed at the value that was given",
    Flag.UNSTABLE: "clipped or not learned when some group of records is left out",
}

SENTENCES_0_1_0 = {
    "outside of [0.000001, 0.999999], clipped to the bound": Flag.CLIPPED,
    "rests on a parameter that was clipped": Flag.RESTS_ON_CLIPPED,
    "not learned: its triplet is no mixture of two (complex eigenvalues)": Flag.COMPLEX,
    "not learned: a symptom of its triplet shows no dependence (determinant 0)": Flag.DEGENERATE,
    "not learned: a moment it needs is hidden, or a symptom is always present": Flag.NO_MOMENT,
    "not learned: it rests on a parameter that was not learned": Flag.RESTS_ON_UNLEARNED,
    "not learned: neither a schedule nor the clean-up teaches it": Flag.NOT_SCHEDULED,
    "the records say little of it: it is mainly what the other parameters show": Flag.WEAK,
    "neither a schedule nor the clean-up shows that it can be known": Flag.UNCERTIFIED,
    "the records hardly tell its disease from others: it may be far off": Flag.WEAKLY_IDENTIFIED,
    "its disease has the same symptoms as another: which is which is not known": Flag.SWAPPABLE,
    "another explanation fits the moments nearly as well": Flag.AMBIGUOUS,
    "how exact it is, is not known: fewer than 10 groups hold records": Flag.NO_ERROR,
    "held at the value that was given": Flag.FIXED,
    "clipped or not learned when some group of records is left out": Flag.UNSTABLE,
}
"""The sentences that stand for flags in files of version 0.1.0; never to be changed."""

FLAG_COLUMNS = "flags", "flag_codes"
"""The columns of a summary: sentences for people, codes for programs."""


def flags_of_row(location: object, cells: Mapping[str, str | None]) -> tuple[Flag, tuple[str, ...]]:
    """Return the flags in a row of a summary, and sentences that are those of no flag.

    The codes decide. Only where a file has no such column, because version 0.1.0 wrote it, are
    whole sentences looked up.
    """
    if "flag_codes" in cells:
        try:
            return Flag.from_codes(cells["flag_codes"] or ""), ()
        except ParameterError as error:
            raise FileError(f"{location}, column 'flag_codes': {error}") from None
    flags, unknown = Flag(0), []
    for sentence in filter(None, (cells.get("flags") or "").split("; ")):
        if sentence in SENTENCES_0_1_0:
            flags |= SENTENCES_0_1_0[sentence]
        else:
            unknown.append(sentence)
    return flags, tuple(unknown)
