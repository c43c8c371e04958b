"""Parser of the syntax of DiskSim 3 and 4 parameter files (.parv, .diskspecs, .model).

    TYPE NAME { parameter = value, ... }

A value is a number, a word, a list in brackets, or a block. Names of parameters and blocks are words, separated by
blanks. `#` begins a comment. `source FILE` includes a file, which is in the same folder as the file that names it. The
tokens are defined by libparam, the parser of DiskSim 4.0, and by the files that come with DiskSim.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from storagekit.core.errors import InputError

# Largest depth of nested blocks and lists, and of nested files; in the files of DiskSim these depths are 6 and 3.
DEEPEST = 32
_TOKEN = re.compile(r"\s+|#.*|(?P<mark>[{}\[\],=;:?])|(?P<word>[^\s{}\[\],=;:?#][^\s{}\[\],=;:?]*)")
_WHOLE = re.compile(r"-?\d+|-?0[xX][0-9a-fA-F]+")
_REAL = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?")
_MARKS = frozenset("{}[],=;:?")


class ParameterBlock(NamedTuple):
    """A block of a parameter file.

    kind: type of the block. name: its name, "" if it has none. values: its parameters, in order. file: the file that
    contains it.
    """

    kind: str
    name: str
    values: "dict[str, Value]"
    file: Path

    @property
    def where(self) -> str:
        """Return file and block, for error messages."""
        return f"drive file {self.file}: {f'{self.kind} {self.name}'.strip()}"


Value: TypeAlias = int | float | str | ParameterBlock | list[Any]


class _Token(NamedTuple):
    text: str
    file: Path
    line: int


def read_blocks(path: Path) -> list[ParameterBlock]:
    """Return the outermost blocks of a parameter file and of the files that it includes.

    Instantiations and topologies are ignored.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    list of ParameterBlock
        The blocks, in order.

    Raises
    ------
    InputError
        If a file cannot be read, or violates the syntax. The message names file and line.
    """
    return _Parser(list(_tokens(path, ()))).file()


def _tokens(path: Path, above: tuple[Path, ...]) -> Iterator[_Token]:
    """Return the tokens of a file. The tokens of an included file replace its `source` statement.

    above: the files that include this file, outermost first.
    """
    tokens = _of_text(_text(path, above), path)
    for token in tokens:
        if token.text != "source":
            yield token
            continue
        named = next(tokens, None)
        if named is None or named.text in _MARKS:
            raise _fault(token, "'source' without a file", "give a file name after 'source'")
        yield from _tokens(path.parent / named.text, (*above, path))


def _text(path: Path, above: tuple[Path, ...]) -> str:
    if path in above or len(above) == DEEPEST:
        raise InputError(f"drive file {above[-1]}: includes {path}, which includes this file; remove the inclusion")
    by = f" (included by {above[-1]})" if above else ""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise InputError(f"drive file {path}: {why}{by}; put the file there, or correct its name") from fault
    if re.search(r"^\s*Disk brand name\s*:", text, re.MULTILINE):
        raise InputError(f"drive file {path}: the syntax is of DiskSim 2; give a file in the syntax of DiskSim 3 or 4")
    return text


def _of_text(text: str, path: Path) -> Iterator[_Token]:
    for number, line in enumerate(text.split("\n"), start=1):
        for found in _TOKEN.finditer(line):
            if found["mark"] or found["word"]:
                yield _Token(found[0], path, number)


def _fault(at: _Token, found: str, remedy: str) -> InputError:
    return InputError(f"drive file {at.file}, line {at.line}: {found}; {remedy}")


class _Parser:
    """Recursive-descent parser: each rule of the grammar is a method."""

    def __init__(self, tokens: list[_Token]):
        self.tokens = tokens
        self.at = 0

    @property
    def next(self) -> str:
        """Return the text of the next token; "" at the end."""
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def take(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def stray(self, wanted: str) -> InputError:
        if self.next:
            return _fault(self.tokens[self.at], f"{self.next!r} instead of {wanted}", f"insert {wanted}")
        return _fault(self.tokens[-1], f"the file ends before {wanted}", "add the missing part")

    def expect(self, *marks: str) -> str:
        if self.next not in marks or not self.next:
            raise self.stray(" or ".join(map(repr, marks)))
        return self.take().text

    def words(self, wanted: str) -> list[_Token]:
        """Read consecutive words, at least one."""
        first = self.at
        while self.next and self.next not in _MARKS:
            self.at += 1
        if self.at == first:
            raise self.stray(wanted)
        return self.tokens[first : self.at]

    def file(self) -> list[ParameterBlock]:
        blocks = []
        while self.next:
            words = self.words("a block")
            if self.next == "{":
                blocks.append(self.block(words, 0))
            else:
                self.skip_list()
                if words[0].text == "instantiate":
                    self.expect("as")
                    if not self.next or self.next in _MARKS:
                        raise self.stray("the name of a block")
                    self.take()
        return blocks

    def skip_list(self) -> None:
        """Skip a list in brackets with any content, such as `topology`."""
        opened = self.tokens[self.at - 1]
        self.expect("[")
        depth = 1
        while depth:
            if not self.next:
                raise _fault(opened, "a list without ']'", "add ']'")
            depth += {"[": 1, "]": -1}.get(self.take().text, 0)

    def block(self, words: list[_Token], depth: int) -> ParameterBlock:
        opened = words[0]
        kind, name = opened.text, " ".join(word.text for word in words[1:])
        self.deeper(opened, depth)
        self.expect("{")
        values: dict[str, Value] = {}
        while self.next != "}":
            self.unclosed(opened, f"block {f'{kind} {name}'.strip()!r}", "}")
            label = self.words("a parameter")
            parameter = " ".join(word.text for word in label)
            if parameter in values:
                raise _fault(label[0], f"parameter {parameter!r} is given twice", "keep one of them")
            self.expect("=")
            values[parameter] = self.value(depth)
            self.unclosed(opened, f"block {f'{kind} {name}'.strip()!r}", "}")
            if self.next != "}":
                self.expect(",")
        self.take()
        return ParameterBlock(kind, name, values, opened.file)

    def list(self, depth: int) -> list[Value]:
        opened = self.take()
        self.deeper(opened, depth)
        values = []
        while self.next != "]":
            self.unclosed(opened, "a list", "]")
            values.append(self.value(depth))
            self.unclosed(opened, "a list", "]")
            if self.next != "]":
                self.expect(",")
        self.take()
        return values

    def value(self, depth: int) -> Value:
        if self.next == "[":
            return self.list(depth + 1)
        words = self.words("a value")
        if self.next == "{":
            return self.block(words, depth + 1)
        return _plain(" ".join(word.text for word in words))

    def unclosed(self, opened: _Token, what: str, mark: str) -> None:
        if not self.next:
            raise _fault(opened, f"{what} is not closed", f"add {mark!r}")

    def deeper(self, opened: _Token, depth: int) -> None:
        if depth >= DEEPEST:
            raise _fault(opened, f"more than {DEEPEST} nested blocks and lists", "use fewer levels")


def _plain(text: str) -> int | float | str:
    if _WHOLE.fullmatch(text):
        return int(text, 16 if "x" in text.lower() else 10)
    return float(text) if _REAL.fullmatch(text) else text
