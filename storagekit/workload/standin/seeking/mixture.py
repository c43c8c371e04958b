"""How often requests jump and re-read."""

from __future__ import annotations

from dataclasses import dataclass

from storagekit.checks import require_share

__all__ = ["Mixture"]


@dataclass(frozen=True)
class Mixture:
    """Where requests go, as shares: `jump` of those that do not re-read go anywhere on the data, the others move a short
    way; `reread` of the reads go where an earlier write of the same hour went.

    Raises InputError where one is not from 0 to 1.
    """

    jump: float
    reread: float

    def __post_init__(self):
        for name in ("jump", "reread"):
            require_share(name, getattr(self, name))
