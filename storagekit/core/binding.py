"""The binding constraint: the constraint that determines a result."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Binding:
    """The constraint that determines a result.

    Parameters
    ----------
    constraint : str
        Name of the constraint; "none" if no constraint binds.
    value : float, optional
        Value of the constrained quantity.
    limit : float, optional
        Limit of that quantity.
    remedy : str
        Change that would remove the constraint, by default "".
    """

    constraint: str
    value: float | None = None
    limit: float | None = None
    remedy: str = ""

    def __str__(self) -> str:
        figures = "" if self.value is None or self.limit is None else f" ({self.value:.6g}, limit {self.limit:.6g})"
        return f"{self.constraint}{figures}" + (f"; {self.remedy}" if self.remedy else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the content for JSON."""
        return {"constraint": self.constraint, "value": self.value, "limit": self.limit, "remedy": self.remedy}
