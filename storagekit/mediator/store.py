"""Storage agents in memory that execute transfer plans with real bytes.

In Swift, a distribution agent does this work (swift, section 2).
"""

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import NUMBER, instance_of, shown
from storagekit.mediator.rebuilding import Rebuild
from storagekit.mediator.stripe_layout import Blocks
from storagekit.mediator.transfer_plan import TransferPlan


class Agents:
    """The parts of one object that storage agents hold.

    `parts` maps the number of an agent to its part, a bytearray. An agent without a part has no entry.
    """

    def __init__(self) -> None:
        self.parts: dict[int, bytearray] = {}

    def store(self, plan: TransferPlan, data: bytes) -> None:
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
        if not instance_of(TransferPlan, "a TransferPlan")("plan", plan).write:
            raise InputError("the plan is for a read; give the plan of a write to store an object")
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InputError(f"data {shown(data)}: give bytes")
        if len(data) != plan.layout.size:
            raise InputError(
                f"data of {len(data)} bytes: the plan is for {plan.layout.size} bytes; give data of this size"
            )
        blocks = plan.transfers.blocks
        for row in range(blocks.count):
            where, length = int(blocks.position[row]), int(blocks.length[row])
            block = _check_data(plan, blocks, row, data) if blocks.parity[row] else data[where : where + length]
            self._put(int(blocks.agent[row]), int(blocks.offset[row]), block)
        for agent in plan.failed:
            self.lose(agent)

    def retrieve(self, plan: TransferPlan) -> bytes:
        """Return the object. The blocks are read according to the plan, in the order of their disk stages.

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
        if instance_of(TransferPlan, "a TransferPlan")("plan", plan).write:
            raise InputError("the plan is for a write; give the plan of a read to retrieve an object")
        transfers, found = plan.transfers, np.zeros(plan.layout.size, np.uint8)
        blocks, moments = transfers.blocks, dict(plan.failures)
        have: dict[tuple[int, int], list[int]] = {}
        parity: dict[tuple[int, int], NDArray] = {}
        for row in np.argsort(transfers.disk_by, kind="stable"):
            agent = int(blocks.agent[row])
            if transfers.disk_by[row] > moments.get(agent, np.inf):
                raise InputError(
                    f"agent {agent}: this agent failed at {moments[agent]:g} s, but the plan reads a later block; use "
                    "a plan without this agent"
                )
            block = self._get(agent, int(blocks.offset[row]), int(blocks.length[row]))
            key = int(blocks.stripe[row]), int(blocks.group[row])
            if blocks.parity[row]:
                parity[key] = block
            else:
                found[blocks.position[row] : blocks.position[row] + block.size] = block
                have.setdefault(key, []).append(int(blocks.index[row]))
        for (stripe, group), block in parity.items():
            _restore(plan, stripe, group, have.get((stripe, group), []), block, found)
        return found.tobytes()

    def rebuild(self, work: Rebuild) -> None:
        """Restore the lost blocks on the spare agent.

        Each lost block is the exclusive or of the other blocks of its parity group.
        """
        blocks = instance_of(Rebuild, "the result of TransferPlan.rebuild")("work", work).reads.blocks
        sums: dict[int, NDArray] = {}
        for row in range(blocks.count):
            block = self._get(int(blocks.agent[row]), int(blocks.offset[row]), int(blocks.length[row]))
            total = sums.setdefault(int(blocks.stripe[row]), np.zeros(work.layout.unit, np.uint8))
            total[: block.size] ^= block
        own = work.writes.blocks
        for stripe, offset, length in zip(own.stripe.tolist(), own.offset.tolist(), own.length.tolist(), strict=True):
            self._put(work.spare, offset, sums[stripe][:length].tobytes())

    def lose(self, agent: int) -> None:
        """Delete all data of an agent."""
        self.parts.pop(NUMBER("agent", agent), None)

    def _put(self, agent: int, offset: int, block: bytes) -> None:
        part = self.parts.setdefault(agent, bytearray())
        part.extend(bytes(max(0, offset + len(block) - len(part))))
        part[offset : offset + len(block)] = block

    def _get(self, agent: int, offset: int, length: int) -> NDArray:
        part = self.parts.get(agent, bytearray())
        if len(part) < offset + length:
            raise InputError(
                f"agent {agent}: this agent has {len(part)} bytes, but the plan reads {length} bytes at offset "
                f"{offset}; use a plan without this agent"
            )
        return np.frombuffer(bytes(part[offset : offset + length]), np.uint8)


def _check_data(plan: TransferPlan, blocks: Blocks, row: int, data: bytes) -> bytes:
    """Return the exclusive or of the data that a parity block protects.

    The protected data are the first `check` bytes of the parity group in the stripe.
    """
    layout, group = plan.layout, int(blocks.group[row])
    begin = (int(blocks.stripe[row]) * layout.data + _first(plan, group)) * layout.unit
    covered = np.frombuffer(data[begin : begin + int(blocks.check[row])], np.uint8)
    padded = np.zeros(-(-covered.size // layout.unit) * layout.unit, np.uint8)
    padded[: covered.size] = covered
    return np.bitwise_xor.reduce(padded.reshape(-1, layout.unit))[: int(blocks.length[row])].tobytes()


def _restore(plan: TransferPlan, stripe: int, group: int, have: list[int], block: NDArray, found: NDArray) -> None:
    """Compute the missing data block of a parity group, and write it at its position in `found`."""
    layout, first = plan.layout, _first(plan, group)
    total = np.zeros(layout.unit, np.uint8)
    total[: block.size] = block
    missing = []
    for index in range(first, first + len(layout.groups[group]) - 1):
        begin = (stripe * layout.data + index) * layout.unit
        piece = found[begin : begin + layout.unit]
        if index in have:
            total[: piece.size] ^= piece
        elif piece.size:
            missing.append(piece)
    (lost,) = missing
    lost[:] = total[: lost.size]


def _first(plan: TransferPlan, group: int) -> int:
    """Return the number of the first data block of a parity group in a stripe."""
    return sum(len(one) - 1 for one in plan.layout.groups[:group])
