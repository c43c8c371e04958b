"""Controls of a dashboard: their labels, values and initial value, and their values in an exported page."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, cast

from storagekit.core.errors import InputError
from storagekit.core.validation import REAL, Finite, Positive, instance_of, several, text, validate_fields

if TYPE_CHECKING:
    from ipywidgets import ValueWidget

# default number of values of a slider in an exported page
_FEW = 5


class Control(ABC):
    """A control for one number or one choice. label: its text, with the unit."""

    label: str

    @abstractmethod
    def widget(self) -> "ValueWidget":
        """Return the widget for JupyterLab. `meaning` converts its `value` to an argument of the answer function."""

    def meaning(self, value: Any) -> Any:
        """Convert a value of the widget to the argument that the answer function of the dashboard receives."""
        return value

    @abstractmethod
    def stops(self) -> list[tuple[str, Any]]:
        """Return the values of the control in an exported page, in order, as pairs of text and value."""

    @abstractmethod
    def first(self) -> int:
        """Return the index of the initial value among the `stops`."""

    def beginning(self, value: Any) -> "Control":
        """Return the same control with another initial value."""
        return replace(cast(Any, self), value=value)


@dataclass(frozen=True)
class Slider(Control):
    """A number from `low` to `high` in steps. It is an integer if value, low, high and step are integers.

    Parameters
    ----------
    label : str
        Text of the control, with the unit.
    value : float
        Initial value, in the unit of the label, from `low` to `high`.
    low, high : float
        Smallest and largest value.
    step : float
        Distance between two values, above 0; 1 by default.
    few : sequence of float
        The values in an exported page; by default five evenly spaced values from `low` to `high`. The initial value is
        always added.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    label: str
    value: Finite
    low: Finite
    high: Finite
    step: Positive = 1
    few: Annotated[Sequence[float], several(REAL)] = ()

    def __post_init__(self):
        validate_fields(self)
        if not self.low <= self.value <= self.high:
            raise InputError(
                f"{self.label}: initial value {self.value:g}; give a value from {self.low:g} to {self.high:g}"
            )

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
        even = [self.low + self.step * round(steps * index / (_FEW - 1)) for index in range(_FEW)]
        chosen = sorted({*(self.few or even), self.value})
        return [(f"{one:g}", int(one) if self.whole else float(one)) for one in chosen]


@dataclass(frozen=True)
class StepsControl(Control):
    """A slider over a list of numbers that are not equally spaced, such as 1, 2, 4, 8.

    Parameters
    ----------
    label : str
        Text of the control, with the unit.
    value : float
        Initial value, one of `values`.
    values : sequence of float
        All values, in the order of the slider.
    few : sequence of float
        The values in an exported page; by default all values. The initial value is always added.

    Raises
    ------
    InputError
        If the initial value is not one of `values`, or if a value is not a finite number.
    """

    label: str
    value: Finite
    values: Annotated[Sequence[float], several(REAL)]
    few: Annotated[Sequence[float], several(REAL)] = ()

    def __post_init__(self):
        validate_fields(self)
        if self.value not in self.values:
            raise InputError(
                f"{self.label}: initial value {self.value:g} is not among the values of the control; give one of its values"
            )

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
    """A choice among names.

    Parameters
    ----------
    label : str
        Text of the control.
    options : mapping of str to object
        For each name, the argument that the dashboard receives; at least one.
    value : str
        The initial name, by default the first.
    few : sequence of str
        The names in an exported page; by default all names. The initial name is always added.

    Raises
    ------
    InputError
        If there are no options, or if the initial name is not one of them.
    """

    label: str
    options: Annotated[Mapping[str, Any], instance_of(Mapping, "a mapping from names to values")]
    value: str = ""
    few: Annotated[Sequence[str], several(text)] = ()

    def __post_init__(self):
        validate_fields(self)
        if not self.options:
            raise InputError(f"{self.label}: no options; give at least one option")
        if self.value and self.value not in self.options:
            raise InputError(f"{self.label}: initial value {self.value!r}; give one of {', '.join(self.options)}")

    def widget(self):
        from ipywidgets import Dropdown

        # names, because widgets compare the new value with the old one, which not all objects support
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
