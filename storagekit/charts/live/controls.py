"""Controls of a board: what may be chosen, how it is called, where it begins, and which values an exported page has of it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from storagekit.core.errors import InputError
from storagekit.core.kinds import POSITIVE, REAL, a, hold, several, text

if TYPE_CHECKING:
    from ipywidgets import ValueWidget

# values of a slider that an exported page has unless told which
_FEW = 5


class Control(ABC):
    """One number or thing to choose; label: what it is called, unit included."""

    label: str

    @abstractmethod
    def widget(self) -> "ValueWidget":
        """The control in JupyterLab; `meaning` of its `value` is what the board is asked with."""

    def meaning(self, value: Any) -> Any:
        """What a value of the widget stands for."""
        return value

    @abstractmethod
    def stops(self) -> list[tuple[str, Any]]:
        """What an exported page has of it: each value with its words, in order."""

    @abstractmethod
    def first(self) -> int:
        """The stop at which it begins."""

    def beginning(self, value: Any) -> "Control":
        """The same, beginning at another value."""
        return replace(cast(Any, self), value=value)


@dataclass(frozen=True)
class Slider(Control):
    """A number from `low` to `high` in steps; whole if all of value, low, high and step are. few: the values that an exported
    page has, by default five from end to end, and where it begins."""

    label: str
    value: float
    low: float
    high: float
    step: float = 1
    few: Sequence[float] = ()

    def __post_init__(self):
        hold(self, label=text, value=REAL, low=REAL, high=REAL, step=POSITIVE, few=several(REAL))
        if not self.low <= self.value <= self.high:
            raise InputError(f"{self.label}: begins at {self.value:g}, not within {self.low:g} to {self.high:g}")

    @property
    def whole(self) -> bool:
        return all(float(one).is_integer() for one in (self.value, self.low, self.high, self.step))

    def widget(self):
        from ipywidgets import FloatSlider, IntSlider

        form = "d" if self.whole else f".{_digits(self.step)}f"
        kind = IntSlider if self.whole else FloatSlider
        given = [int(one) if self.whole else float(one) for one in (self.value, self.low, self.high, self.step)]
        value, low, high, step = given
        return kind(value, min=low, max=high, step=step, description=self.label, readout_format=form)

    def first(self):
        return [value for _, value in self.stops()].index(self.value)

    def stops(self):
        steps = round((self.high - self.low) / self.step)
        even = [self.low + self.step * round(steps * place / (_FEW - 1)) for place in range(_FEW)]
        chosen = sorted({*(self.few or even), self.value})
        return [(f"{one:g}", int(one) if self.whole else float(one)) for one in chosen]


@dataclass(frozen=True)
class StepsControl(Control):
    """A number among some that are far apart, as 1, 2, 4, 8: a slider over them. few: those an exported page has, by default
    all."""

    label: str
    value: float
    values: Sequence[float]
    few: Sequence[float] = ()

    def __post_init__(self):
        hold(self, label=text, value=REAL, values=several(REAL), few=several(REAL))
        if self.value not in self.values:
            raise InputError(f"{self.label}: begins at {self.value:g}, which is none of its values")

    def widget(self):
        from ipywidgets import SelectionSlider

        options = [(f"{one:g}", one) for one in self.values]
        return SelectionSlider(options=options, value=self.value, description=self.label)

    def first(self):
        return [value for _, value in self.stops()].index(self.value)

    def stops(self):
        return [(f"{one:g}", one) for one in sorted({*(self.few or self.values), self.value})]


@dataclass(frozen=True)
class ChoiceControl(Control):
    """One of some named things; value: the name at which it begins, by default the first. few: the names that an exported
    page has, by default all."""

    label: str
    options: Mapping[str, Any]
    value: str = ""
    few: Sequence[str] = ()

    def __post_init__(self):
        hold(self, label=text, options=a(Mapping, "things by name"), value=text, few=several(text))
        if not self.options:
            raise InputError(f"{self.label}: nothing to choose from")
        if self.value and self.value not in self.options:
            raise InputError(f"{self.label}: begins at {self.value!r}, which is none of {', '.join(self.options)}")

    def widget(self):
        from ipywidgets import Dropdown

        # names: widgets compare what is chosen with what was, which not all things bear
        return Dropdown(options=list(self.options), value=self._first(), description=self.label)

    def meaning(self, value):
        return self.options[value]

    def first(self):
        return [name for name, _ in self.stops()].index(self._first())

    def stops(self):
        kept = (*self.few, self._first())
        return [(name, thing) for name, thing in self.options.items() if not self.few or name in kept]

    def _first(self) -> str:
        return self.value or next(iter(self.options))


def _digits(step: float) -> int:
    return next(digits for digits in range(9) if abs(round(step, digits) - step) < 1e-9)
