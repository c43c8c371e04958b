"""Transfers: which block comes from which agent, and when it is at its disk and on the network."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from storagekit.mediator.stripe_layout import Blocks

if TYPE_CHECKING:
    import pandas

_SHOWN = 12


@dataclass(frozen=True)
class Transfers:
    """Blocks and the time of each at its two stages, seconds, `[transfer]`.

    disk: when the block is released at its disk; sent: when it is released to the network. Each stage is to end within
    `period` of that, and a read has its disk stage first, a write its network stage.
    """

    blocks: Blocks
    disk: NDArray
    sent: NDArray
    period: float

    @classmethod
    def timed(cls, blocks: Blocks, start: float, period: float, write: bool) -> "Transfers":
        """A stripe for every period from `start` on: its first stage for one period, its second for the next."""
        first = start + blocks.stripe * period
        return cls(blocks, first + period * write, first + period * (not write), period)

    @property
    def count(self) -> int:
        return self.blocks.count

    @property
    def disk_by(self) -> NDArray:
        """When each is to be off its disk, or on it."""
        return self.disk + self.period

    @property
    def sent_by(self) -> NDArray:
        """When each is to be through the network."""
        return self.sent + self.period

    def where(self, chosen: NDArray) -> "Transfers":
        return Transfers(self.blocks.where(chosen), self.disk[chosen], self.sent[chosen], self.period)

    def delayed(self, by: NDArray) -> "Transfers":
        """Both stages later by some seconds each."""
        return replace(self, disk=self.disk + by, sent=self.sent + by)

    def to_frame(self) -> "pandas.DataFrame":
        """A row for each transfer, in order of release."""
        import pandas

        columns = {name: column for name, column in vars(self.blocks).items() if name != "check"}
        times = {"disk": self.disk, "disk_by": self.disk_by, "sent": self.sent, "sent_by": self.sent_by}
        frame = pandas.DataFrame(columns | times)
        return frame.iloc[np.argsort(np.minimum(self.disk, self.sent), kind="stable")].reset_index(drop=True)

    def __str__(self) -> str:
        rows = self.to_frame()
        text = rows.head(_SHOWN).to_string(index=False, float_format=lambda value: f"{value:.4f}")
        return text + (f"\n.. {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else "")
