"""The base classes of answers that rank the schemes of a question by further values: durability, failures, growth."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from storagekit.plan.answer import RankedAnswer, finite, text_table
from storagekit.plan.predicting import Prediction

# number of schemes in the text of an answer
_SHOWN = 10


@dataclass(frozen=True)
class RankedScheme:
    """A scheme with its predicted values; further values are in subclasses.

    COLUMNS: unit and meaning of each further value, which is an attribute.

    Parameters
    ----------
    prediction : Prediction
        The scheme with its predicted values.
    """

    COLUMNS: ClassVar[Mapping[str, tuple[str, str]]]
    prediction: Prediction

    @property
    def name(self) -> str:
        """Return the name of the scheme with its number of spare disks."""
        return self.prediction.name

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary for JSON."""
        return {"scheme": self.name, **finite({name: getattr(self, name) for name in self.COLUMNS})}


One = TypeVar("One", bound=RankedScheme)


class SchemesRanking(RankedAnswer[One], Generic[One]):
    """A ranking of the schemes of an answer by further values.

    `unknown` has the names of schemes without a formula for these values.
    """

    KIND = "scheme"
    unknown: tuple[str, ...]

    @abstractmethod
    def _first(self) -> str:
        """Return the first line of the text, about the first scheme."""

    @abstractmethod
    def _titles(self) -> tuple[Sequence[str], Sequence[int]]:
        """Return the titles and the widths of the columns of the text."""

    @abstractmethod
    def _cells(self, one: One) -> Sequence[str]:
        """Return the cells of a scheme, one for each title."""

    @property
    def _left_out(self) -> dict[str, tuple[str, ...]]:
        """Return the names of schemes that are not in the ranking, by the reason."""
        return {"no formula": self.unknown}

    def _lines(self):
        others = [f"  {reason}: {'; '.join(names)}" for reason, names in self._left_out.items() if names]
        if not self.ranking:
            return [f"not feasible: {self.binding}", *others]
        titles, widths = self._titles()
        table = text_table(titles, [self._cells(one) for one in self.ranking[:_SHOWN]], widths)
        more = len(self.ranking) - _SHOWN
        return [self._first(), "", *table, *([f"  and {more} more"] if more > 0 else []), *others]

    def _content(self):
        return super()._content() | {"unknown": list(self.unknown)}
