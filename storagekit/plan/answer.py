"""The base classes of the answers of planners: their text, their JSON, and their tables."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.units import MS

if TYPE_CHECKING:
    import xarray as xr


# a candidate, with a `name` and a conversion `to_dict`
One = TypeVar("One", bound=Any)


class Answer(ABC):
    """An answer with its assumptions. It prints as text, appears in notebooks, and converts to a dictionary for JSON."""

    assumptions: tuple[str, ...]

    @property
    def assumption_groups(self) -> Mapping[str, tuple[str, ...]]:
        """Return the assumptions by topic; by default one group without a name."""
        return {"": self.assumptions}

    @property
    def feasible(self) -> bool:
        """Return whether the question has an answer."""
        return True

    @abstractmethod
    def _lines(self) -> list[str]:
        """Return the lines of the text above the assumptions."""

    @abstractmethod
    def _content(self) -> dict[str, Any]:
        """Return the content for JSON except for the assumptions."""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a dictionary for JSON, in seconds, bytes, and requests a second."""
        return self._content() | {"assumptions": list(self.assumptions)}

    def _repr_html_(self) -> str:
        first, _, rest = str(self).partition("\n")
        return f"{headline(first)}<pre>{escape(rest)}</pre>"

    def __str__(self) -> str:
        lines = []
        for name, group in self.assumption_groups.items():
            lines += [f"  {name}:"] if name else []
            lines += [f"{'    ' if name else '  '}- {line}" for line in group]
        return "\n".join([*self._lines(), "", "assumptions:", *lines])


class RankedAnswer(Answer, Generic[One]):
    """A ranking of candidates, from the best to the worst. If there is no candidate, `binding` gives the reason.

    COLUMNS: unit and meaning of each column of the table. KIND: what the candidates are, for example "layout".
    """

    COLUMNS: ClassVar[Mapping[str, tuple[str, str]]]
    KIND: ClassVar[str]
    ranking: tuple[One, ...]
    binding: Binding

    @property
    def feasible(self) -> bool:
        return bool(self.ranking)

    @property
    def recommended(self) -> One | None:
        """Return the first candidate of the ranking; None if there is none."""
        return self.ranking[0] if self.ranking else None

    @property
    def table(self) -> "xr.Dataset":
        """Return the ranking in SI units as a Dataset over the candidates. Its `to_pandas()` returns a DataFrame."""
        import xarray as xr

        columns = {
            name: (self.KIND, [getattr(one, name) for one in self.ranking], {"units": unit, "long_name": meaning})
            for name, (unit, meaning) in self.COLUMNS.items()
        }
        names = [one.name for one in self.ranking]
        return xr.Dataset(columns, {self.KIND: names}, attrs={"assumptions": "; ".join(self.assumptions)})

    def _content(self):
        ranking = [one.to_dict() for one in self.ranking]
        return {"feasible": self.feasible, "binding": self.binding.to_dict(), "ranking": ranking}


def require_feasible(feasible: bool, binding: Binding, what: str = "check") -> None:
    """Raise InputError with the binding constraint if nothing is feasible. what: verb of the refused action."""
    if not feasible:
        raise InputError(f"nothing to {what}, because the question has no answer: {binding}")


def milliseconds(seconds: float) -> str:
    """Return the text for a time in milliseconds, with three decimals below 1 ms."""
    return f"{seconds / MS:.1f}" if seconds >= MS else f"{seconds / MS:.3f}"


def text_table(titles: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int]) -> list[str]:
    """Return the lines of a table. The first column is aligned to the left, the other columns to the right.

    Each column is at least as wide as its number in `widths`, and wider than its longest text.
    """
    every = [titles, *rows]
    first = max(widths[0], *(2 + len(row[0]) for row in every))
    others = [max(width, *(1 + len(row[at]) for row in every)) for at, width in enumerate(widths[1:], 1)]
    lines = (
        f"  {name:<{first}}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, others, strict=True))
        for name, *cells in every
    )
    return [line.rstrip() for line in lines]


def headline(line: str) -> str:
    """Return the first line of an answer in HTML."""
    return f'<p style="font-size: 115%"><b>{escape(line)}</b></p>'


def html_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in HTML. Columns without a title and without text are left out."""
    every = [list(titles), *map(list, rows)]
    used = [index for index in range(len(titles)) if any(row[index].strip() for row in every)]
    head, *body = ([escape(row[index].strip()) for index in used] for row in every)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in body)
    return (
        f"<table><thead><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr></thead><tbody>{lines}</tbody></table>"
    )


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with None instead of infinity and NaN, which JSON cannot represent."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in values.items()
    }
