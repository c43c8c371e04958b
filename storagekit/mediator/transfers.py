"""Transfers: the agent of each block, and the times at which the block is at the disk and on the network."""

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
    """Blocks, with the times of each block at its two stages.

    Each stage has to end within `period` of its release. The disk stage of a read comes first. The network stage of a
    write comes first.

    Parameters
    ----------
    blocks : Blocks
        The blocks.
    disk : ndarray, shape [transfer]
        Time at which the block is released at its disk, seconds.
    sent : ndarray, shape [transfer]
        Time at which the block is released to the network, seconds.
    period : float
        Length of a stage, seconds.
    """

    blocks: Blocks
    disk: NDArray
    sent: NDArray
    period: float

    @classmethod
    def timed(cls, blocks: Blocks, start: float, period: float, write: bool) -> "Transfers":
        """Return transfers that release one stripe in each period. The first period begins at `start`.

        The first stage of a stripe lasts one period, and its second stage lasts the next period.
        """
        first = start + blocks.stripe * period
        return cls(blocks, first + period * write, first + period * (not write), period)

    @property
    def count(self) -> int:
        """Return the number of transfers."""
        return self.blocks.count

    @property
    def disk_by(self) -> NDArray:
        """Return the deadline of each disk access, seconds, `[transfer]`."""
        return self.disk + self.period

    @property
    def sent_by(self) -> NDArray:
        """Return the time by which each block must have crossed the network, seconds, `[transfer]`."""
        return self.sent + self.period

    def where(self, chosen: NDArray) -> "Transfers":
        """Return the chosen transfers."""
        return Transfers(self.blocks.where(chosen), self.disk[chosen], self.sent[chosen], self.period)

    def delayed(self, by: NDArray) -> "Transfers":
        """Return the transfers, with both stages of each transfer delayed by `by` seconds, `[transfer]`."""
        return replace(self, disk=self.disk + by, sent=self.sent + by)

    def to_frame(self) -> "pandas.DataFrame":
        """Return a table with one row for each transfer, in order of release."""
        import pandas

        columns = {name: column for name, column in vars(self.blocks).items() if name != "check"}
        times = {"disk": self.disk, "disk_by": self.disk_by, "sent": self.sent, "sent_by": self.sent_by}
        frame = pandas.DataFrame(columns | times)
        return frame.iloc[np.argsort(np.minimum(self.disk, self.sent), kind="stable")].reset_index(drop=True)

    def __str__(self) -> str:
        rows = self.to_frame()
        text = rows.head(_SHOWN).to_string(index=False, float_format=lambda value: f"{value:.4f}")
        return text + (f"\n.. {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else "")
