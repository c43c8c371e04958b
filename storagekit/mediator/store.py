"""Storage agents in memory that execute transfer plans with real bytes.

In Swift, a distribution agent does this work (swift, section 2).
"""

from collections.abc import Iterable
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import Whole, instance_of, validate
from storagekit.mediator.stripe_layout import Blocks
from storagekit.mediator.transfer_plan import Rebuild, TransferPlan

_BYTES = instance_of((bytes, bytearray, memoryview), "bytes")


class Agents:
    """The parts of one object that storage agents hold.

    `parts` maps the number of an agent to its part, a bytearray. An agent without a part has no entry.
    """

    def __init__(self) -> None:
        self.parts: dict[int, bytearray] = {}

    @validate
    def store(self, plan: TransferPlan, data: Annotated[bytes, _BYTES]) -> None:
        """Write data and check data to the agents according to the plan of a write.

        An agent that fails during the plan loses all its data.

        Parameters
        ----------
        plan : TransferPlan
            The plan of a write.
        data : bytes
            The object.

        Raises
        ------
        InputError
            If the plan is for a read, or if the size of `data` is not the object's size.
        """
        if not plan.write:
            raise InputError("the plan is for a read; give the plan of a write to store an object")
        if len(data) != plan.layout.size:
            raise InputError(
                f"data of {len(data)} bytes: the plan is for {plan.layout.size} bytes; give data of this size"
            )
        content, every = np.frombuffer(data, np.uint8), plan.without_failures.blocks
        parts = every.where(~every.parity)
        check = _exclusive_or(parts, [content[row.position :][: row.length] for row in parts.rows()], plan.layout.unit)
        for row in plan.transfers.blocks.rows():
            block = check[row.stripe, row.group] if row.index < 0 else content[row.position :]
            self._put(row.agent, row.offset, block[: row.length])
        for agent in plan.failed:
            self.lose(agent)

    @validate
    def retrieve(self, plan: TransferPlan) -> bytes:
        """Return the object. The blocks are read according to the plan.

        An agent that fails returns nothing after the time of its failure.

        Parameters
        ----------
        plan : TransferPlan
            The plan of a read.

        Returns
        -------
        bytes
            The object.

        Raises
        ------
        InputError
            If the plan is for a write, if it reads a block that an agent does not hold, or if it reads a block after the
            failure of its agent.
        """
        if plan.write:
            raise InputError("the plan is for a write; give the plan of a read to retrieve an object")
        blocks, every = plan.transfers.blocks, plan.without_failures.blocks
        failed_at = dict(plan.failures)
        for agent, end in zip(blocks.agent.tolist(), plan.transfers.disk_by.tolist(), strict=True):
            if end > failed_at.get(agent, np.inf):
                raise InputError(
                    f"agent {agent}: this agent failed at {failed_at[agent]:g} s, but the plan reads a later block; use "
                    "a plan without this agent"
                )
        content = np.zeros(plan.layout.size, np.uint8)
        read = blocks.where(~blocks.parity)
        for begin, length, block in zip(read.position.tolist(), read.length.tolist(), self._read(read), strict=True):
            content[begin : begin + length] = block
        # A lost data block is the exclusive or of the other blocks of its group, which the plan reads.
        lost = every.where(~every.parity & ~np.isin(every.position, read.position))
        groups = len(plan.layout.groups)
        used = blocks.where(np.isin(blocks.stripe * groups + blocks.group, lost.stripe * groups + lost.group))
        restored = _exclusive_or(used, self._read(used), plan.layout.unit)
        for row in lost.rows():
            content[row.position : row.position + row.length] = restored[row.stripe, row.group][: row.length]
        return content.tobytes()

    @validate
    def rebuild(self, work: Rebuild) -> None:
        """Restore the lost blocks on the spare agent.

        Each lost block is the exclusive or of the other blocks of its parity group.
        """
        reads = work.reads.blocks
        restored = _exclusive_or(reads, self._read(reads), work.layout.unit)
        for row in work.writes.blocks.rows():
            self._put(row.agent, row.offset, restored[row.stripe, row.group][: row.length])

    @validate
    def lose(self, agent: Whole) -> None:
        """Delete all data of an agent."""
        self.parts.pop(agent, None)

    def _put(self, agent: int, offset: int, block: NDArray) -> None:
        part = self.parts.setdefault(agent, bytearray())
        part.extend(bytes(max(0, offset + block.size - len(part))))
        part[offset : offset + block.size] = block.tobytes()

    def _read(self, blocks: Blocks) -> list[NDArray]:
        """Return the content of each block."""
        found = []
        for row in blocks.rows():
            part = self.parts.get(row.agent, bytearray())
            if len(part) < row.offset + row.length:
                raise InputError(
                    f"agent {row.agent}: this agent has {len(part)} bytes, but the plan reads {row.length} bytes at "
                    f"offset {row.offset}; use a plan without this agent"
                )
            found.append(np.frombuffer(part, np.uint8, row.length, row.offset))
        return found


def _exclusive_or(blocks: Blocks, contents: Iterable[NDArray], unit: int) -> dict[tuple[int, int], NDArray]:
    """Return the exclusive or of the blocks of each parity group in each stripe, keyed by stripe and group.

    A block that is shorter than `unit` bytes is filled with zeros.
    """
    sums: dict[tuple[int, int], NDArray] = {}
    for row, block in zip(blocks.rows(), contents, strict=True):
        total = sums.setdefault((row.stripe, row.group), np.zeros(unit, np.uint8))
        total[: block.size] ^= block
    return sums
