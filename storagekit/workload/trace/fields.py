"""Fields of a line of text. Each class converts a single value of a field, and validates a whole column."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

__all__ = ["Decimal", "Field", "FieldChoice", "Fields", "Hexadecimal", "Integer", "Word"]

# No digit can follow a run of digits in these expressions, so that a failed match takes time linear in the text.
_INTEGER = re.compile(r"([+-]?)([0-9]+)")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DIGITS = 19  # digits of 2**63
_HEXADECIMAL = re.compile(r"(0[xX])?[0-9a-fA-F]{1,8}")


class Field(ABC):
    """Base class of fields.

    It has the name of the field, the NumPy dtype for loadtxt, and a description of the allowed values.
    """

    name: str
    dtype: str
    allowed: str

    @abstractmethod
    def value(self, text: str) -> object:
        """Return the value of one field. Raises ValueError if the text is not allowed."""

    @abstractmethod
    def column(self, raw: np.ndarray) -> np.ndarray | None:
        """Return the values of a column that loadtxt has read; None if a value must be read line by line."""

    @abstractmethod
    def collect(self, values: Sequence) -> np.ndarray:
        """Return a column of values that `value` returned. It equals the result of `column` for the same text."""


Fields = tuple[Field, ...]


class Integer(Field):
    """A decimal integer from `low` to `high`."""

    dtype = "i8"

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

    dtype = "f8"

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


class FieldChoice(Field):
    """One of a few words, in upper or lower case. Each word means True or False."""

    dtype = "S16"

    def __init__(self, name: str, meanings: Mapping[str, bool]):
        self.name = name
        self.meanings = {word.lower(): meaning for word, meaning in meanings.items()}
        self.allowed = " or ".join(f"{word!r}" for word in meanings) + " in upper or lower case"

    def value(self, text: str) -> bool:
        try:
            return self.meanings[text.lower()]
        except KeyError:
            raise ValueError from None

    def column(self, raw: np.ndarray) -> np.ndarray | None:
        return _by_distinct(raw, self.value, bool)

    def collect(self, values: Sequence) -> np.ndarray:
        return np.array(values, bool)


class Hexadecimal(Field):
    """A hexadecimal integer of up to 32 bits, with or without 0x."""

    dtype = "S16"
    allowed = "a hexadecimal integer of up to 8 digits"

    def __init__(self, name: str):
        self.name = name

    def value(self, text: str) -> int:
        if not _HEXADECIMAL.fullmatch(text):
            raise ValueError
        return int(text, 16)

    def column(self, raw: np.ndarray) -> np.ndarray | None:
        return _by_distinct(raw, self.value, np.int64)

    def collect(self, values: Sequence) -> np.ndarray:
        return np.array(values, np.int64)


class Word(Field):
    """A name of 1 to 63 printable characters without blanks."""

    dtype = "S64"
    allowed = "a name of 1 to 63 printable characters without blanks"

    def __init__(self, name: str):
        self.name = name

    def value(self, text: str) -> bytes:
        if not 0 < len(text) < 64 or not all("!" <= character <= "~" for character in text):
            raise ValueError
        return text.encode("ascii")

    def column(self, raw: np.ndarray) -> np.ndarray | None:
        return _by_distinct(raw, self.value, "S64")

    def collect(self, values: Sequence) -> np.ndarray:
        return np.array(values, "S64")


def _by_distinct(raw: np.ndarray, value, dtype) -> np.ndarray | None:
    """Apply `value` to each distinct word of a column of bytes. Returns None if a word is not allowed."""
    result = np.empty(len(raw), dtype)
    left = np.ones(len(raw), bool)
    try:
        # most columns have two operations or one host, and comparing words is far cheaper than sorting them
        for _ in range(4):
            if not left.any():
                return result
            word = raw[np.argmax(left)]
            same = raw == word
            result[same] = value(_whole(word, raw.itemsize))
            left &= ~same
        distinct, inverse = np.unique(raw[left], return_inverse=True)
        meanings = [value(_whole(word, raw.itemsize)) for word in distinct]
        result[left] = np.array(meanings, dtype)[inverse]
    except ValueError:
        return None
    return result


def _whole(word: bytes, width: int) -> str:
    """Return the bytes `word` as text. Raises ValueError if loadtxt may have cut it to the width of the column."""
    if len(word) == width:
        raise ValueError
    return word.decode("ascii").strip(" \t")
