"""What decides an answer: the constraint that holds it back."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Binding:
    """The constraint that decides, "none" where nothing does: its value, the limit it meets, and what would lift it."""

    constraint: str
    value: float | None = None
    limit: float | None = None
    remedy: str = ""

    def __str__(self) -> str:
        figures = "" if self.value is None or self.limit is None else f" ({self.value:.6g} against {self.limit:.6g})"
        return f"{self.constraint}{figures}" + (f"; {self.remedy}" if self.remedy else "")

    def to_dict(self) -> dict[str, Any]:
        return {"constraint": self.constraint, "value": self.value, "limit": self.limit, "remedy": self.remedy}
