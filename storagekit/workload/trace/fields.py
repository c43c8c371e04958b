"""Fields of a line of text. Each class converts a single value of a field, and validates a whole column."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple

import numpy as np

__all__ = [
    "ArrowType", "Date", "Decimal", "Field", "Fields", "Hexadecimal", "Integer", "Operation", "Text", "Word", "Words",
]  # fmt: skip

# No digit can follow a run of digits in these expressions, so that a failed match takes time linear in the text.
_INTEGER = re.compile(r"([+-]?)([0-9]+)")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DIGITS = 19  # digits of 2**63
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[T ]((?:[01]\d|2[0-3]):\d\d:\d\d)(?:\.(\d{1,9}))?Z?", re.ASCII)
_HEXADECIMAL = re.compile(r"(0[xX])?[0-9a-fA-F]{1,8}")

ArrowType = str
"""Name of the Arrow type of a parsed column: "int64", "double" or "words" (a dictionary of bytes)."""


class Words(NamedTuple):
    """A column of words. index: index of each record's word in `names`, [record] int32. names: the distinct words."""

    index: np.ndarray
    names: tuple[str, ...]

    def where(self, kept: np.ndarray) -> Words:
        """Return the words of some records, with only the names that these records have. kept: [record] bool."""
        index = self.index[kept]
        used = np.flatnonzero(np.bincount(index, minlength=len(self.names)))
        number = np.zeros(len(self.names), np.int32)
        number[used] = np.arange(len(used), dtype=np.int32)
        return Words(number[index], tuple(self.names[i] for i in used))


class Field(ABC):
    """Base class of fields.

    It has the name of the field, the Arrow type of its column, and a description of the allowed values.
    """

    name: str
    allowed: str
    arrow: ClassVar[ArrowType]

    @abstractmethod
    def value(self, text: str) -> object:
        """Return the value of one field. Raises ValueError if the text is not allowed."""

    @abstractmethod
    def column(self, raw: Any) -> Any | None:
        """Return the values of a column that Arrow has parsed; None if a value must be read line by line.

        raw: an array of numbers, or `Words`.
        """

    @abstractmethod
    def collect(self, values: Sequence) -> Any:
        """Return a column of values that `value` returned. It equals the result of `column` for the same text."""


Fields = tuple[Field, ...]


class Integer(Field):
    """A decimal integer from `low` to `high`."""

    arrow = "int64"

    def __init__(self, name: str, low: int, high: int):
        self.name, self.low, self.high = name, low, high
        self.allowed = f"an integer from {low} to {high}"

    def value(self, text: str) -> int:
        match = _INTEGER.fullmatch(text)
        if match is None:
            raise ValueError
        digits = match[2].lstrip("0") or "0"
        if len(digits) > _DIGITS:  # Python refuses thousands of digits, and converts hundreds slowly
            raise ValueError
        number = int(match[1] + digits)
        if not self.low <= number <= self.high:
            raise ValueError
        return number

    def column(self, raw: np.ndarray) -> np.ndarray | None:
        return raw if raw.min() >= self.low and raw.max() <= self.high else None

    def collect(self, values: Sequence) -> np.ndarray:
        return np.array(values, np.int64)


class Decimal(Field):
    """A decimal number from 0 to `high`, without nan and inf."""

    arrow = "double"

    def __init__(self, name: str, high: float = 1e15):
        self.name, self.high = name, high
        self.allowed = f"a number from 0 to {high:g}"

    def value(self, text: str) -> float:
        if not _DECIMAL.fullmatch(text) or not 0 <= float(text) <= self.high:
            raise ValueError
        return float(text)

    def column(self, raw: np.ndarray) -> np.ndarray | None:
        return raw if raw.min() >= 0 and raw.max() <= self.high else None  # nan fails both

    def collect(self, values: Sequence) -> np.ndarray:
        return np.array(values, np.float64)


class Date(Field):
    """A date and a time of day in UTC, as whole nanoseconds since 1970."""

    arrow = "words"
    allowed = "a date and time in UTC from 1970 to 2261, such as 2024-05-01 12:00:00.123456 or 2024-05-01T12:00:00Z"

    def __init__(self, name: str):
        self.name = name

    def value(self, text: str) -> int:
        match = _DATE.fullmatch(text)
        if match is None:
            raise ValueError
        day, clock, fraction = match.groups("0")
        when = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC)
        # until 2262, so that nanoseconds fit in 63 bits
        if not 1970 <= when.year < 2262:
            raise ValueError
        return int(when.timestamp()) * 10**9 + int(fraction.ljust(9, "0"))

    def column(self, raw: Words) -> np.ndarray | None:
        return _by_word(raw, self.value, np.int64)

    def collect(self, values: Sequence) -> np.ndarray:
        return np.array(values, np.int64)


class Operation(Field):
    """The operation of a request, one of a few words in upper or lower case.

    The value is READ, WRITE, or a number above both for a request that is neither. Such a request is skipped, and
    counted under the kind with this number.

    Parameters
    ----------
    name : str
        Name of the field.
    read, write : tuple of str
        Words for a read and for a write.
    skipped : mapping of str to str, optional
        Kind of each word that is neither a read nor a write, such as "trim".
    allowed : str, optional
        The allowed words in short; by default all of them.
    """

    arrow = "words"
    WRITE, READ = 0, 1

    def __init__(
        self, name: str, read: tuple[str, ...], write: tuple[str, ...], skipped: Mapping[str, str] | None = None,
        allowed: str | None = None,
    ):  # fmt: skip
        self.name = name
        self.kinds = tuple(dict.fromkeys((skipped or {}).values()))
        codes = dict.fromkeys(read, self.READ) | dict.fromkeys(write, self.WRITE)
        codes |= {word: self.READ + 1 + self.kinds.index(kind) for word, kind in (skipped or {}).items()}
        self._codes = {word.lower(): code for word, code in codes.items()}
        self.allowed = allowed or " or ".join(f"{word!r}" for word in codes) + " in upper or lower case"

    def value(self, text: str) -> int:
        try:
            return self._codes[text.lower()]
        except KeyError:
            raise ValueError from None

    def kind(self, code: int) -> str | None:
        """Return the kind of a request that is neither a read nor a write; None for a read or a write."""
        return None if code <= self.READ else self.kinds[code - self.READ - 1]

    def column(self, raw: Words) -> np.ndarray | None:
        return _by_word(raw, self.value, np.int8)

    def collect(self, values: Sequence) -> np.ndarray:
        return np.array(values, np.int8)


class Hexadecimal(Field):
    """A hexadecimal integer of up to 32 bits, with or without 0x."""

    arrow = "words"
    allowed = "a hexadecimal integer of up to 8 digits"

    def __init__(self, name: str):
        self.name = name

    def value(self, text: str) -> int:
        if not _HEXADECIMAL.fullmatch(text):
            raise ValueError
        return int(text, 16)

    def column(self, raw: Words) -> np.ndarray | None:
        return _by_word(raw, self.value, np.int64)

    def collect(self, values: Sequence) -> np.ndarray:
        return np.array(values, np.int64)


class Text(Field):
    """Any printable text. Its value is not used."""

    arrow = "words"
    allowed = "printable text"

    def __init__(self, name: str):
        self.name = name

    def value(self, text: str) -> str:
        return text

    def column(self, raw: Words) -> Words:
        return raw

    def collect(self, values: Sequence) -> Words:
        return Word(self.name).collect(values)


class Word(Field):
    """A name of 1 to 63 printable characters without blanks."""

    arrow = "words"
    allowed = "a name of 1 to 63 printable characters without blanks"

    def __init__(self, name: str):
        self.name = name

    def value(self, text: str) -> str:
        if not 0 < len(text) < 64 or not all("!" <= character <= "~" for character in text):
            raise ValueError
        return text

    def column(self, raw: Words) -> Words | None:
        try:
            names = [self.value(word.strip(" \t")) for word in raw.names]
        except ValueError:
            return None
        if len(set(names)) == len(names):
            return Words(raw.index, tuple(names))
        merged = {name: index for index, name in enumerate(dict.fromkeys(names))}
        return Words(np.array([merged[name] for name in names], np.int32)[raw.index], tuple(merged))

    def collect(self, values: Sequence) -> Words:
        numbers = {name: index for index, name in enumerate(dict.fromkeys(values))}
        return Words(np.array([numbers[name] for name in values], np.int32), tuple(numbers))


def _by_word(raw: Words, value: Callable[[str], int], dtype) -> np.ndarray | None:
    """Return the value of each record's word. Returns None if a word is not allowed."""
    try:
        return np.array([value(word.strip(" \t")) for word in raw.names], dtype)[raw.index]
    except ValueError:
        return None
