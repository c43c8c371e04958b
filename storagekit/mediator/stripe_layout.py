"""Where an object's blocks are: stripes over agents, parity blocks that rotate over the agents of their group."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT, MOST_EXACT, NUMBER, SECTORS, SPEED, flag, hold, several, takes

# Bytes of an object, and of a block of it: so few that those of a stripe over all agents are a whole number of 64 bits.
BYTES = SECTORS.up_to(MOST_EXACT, " bytes")
UNIT = SECTORS.up_to(2**40, " bytes")
# a GB of them
MOST_BLOCKS = 10**7


def agents_of(_: str, agents: object) -> tuple[int, ...]:
    """The kind of several agents, by their numbers."""
    return several(NUMBER, of="agents")("agent", agents)


@dataclass(frozen=True)
class Blocks:
    """Blocks of an object, one column for each property, `[block]`.

    stripe; group of agents; index: among the data blocks of the stripe, -1 of a parity block; agent; offset: byte of the
    agent's part of the object; position: byte of the object, -1 of a parity block; length: bytes; check: bytes that go into
    a parity block, 0 of a data block.
    """

    stripe: NDArray
    group: NDArray
    index: NDArray
    agent: NDArray
    offset: NDArray
    position: NDArray
    length: NDArray
    check: NDArray

    @property
    def parity(self) -> NDArray:
        return self.index < 0

    @property
    def count(self) -> int:
        return self.stripe.size

    def where(self, chosen: NDArray) -> "Blocks":
        """Those that a mask or numbers choose."""
        return Blocks(**{name: column[chosen] for name, column in vars(self).items()})


@dataclass(frozen=True)
class StripeLayout:
    """Stripes of an object of `size` bytes in blocks of `unit` bytes.

    groups: the agents of each group, every agent once; parity: whether each group has a parity block in every stripe. It
    rotates over the agents of its group, the data blocks follow it (left-symmetric), and each agent holds one block of a
    stripe: stripe n lies at byte n `unit` of each agent's part. The last stripe may be short. Raises InputError where a
    number is out of range, an agent is named twice or a group with parity has no data block. Source: swift, section 2.
    """

    size: int
    unit: int
    groups: tuple[tuple[int, ...], ...]
    parity: bool = False

    def __post_init__(self):
        hold(self, size=BYTES, unit=UNIT, groups=several(agents_of, of="groups of agents"), parity=flag)
        groups = self.groups
        if not self.agents:
            raise InputError(f"groups {list(groups)}: no agents given; name at least 1")
        if len(set(self.agents)) < len(self.agents):
            raise InputError(f"agents {list(self.agents)}: name each of them once, from 0")
        if min(len(group) for group in groups) < 1 + self.parity:
            raise InputError(
                f"groups {list(groups)}: each needs {1 + self.parity} agents or more; give more, or no parity"
            )

    @classmethod
    def over(cls, size: int, unit: int, agents: tuple[int, ...], group: int | None = None) -> "StripeLayout":
        """Over all of `agents`, with a parity block for at most `group` data blocks, or none.

        Groups are as equal as can be. Raises InputError where no number of data blocks takes just these agents.
        """
        agents = agents_of("agents", agents)
        if group is None:
            return cls(size, unit, (agents,))
        group = int(COUNT("group", group))
        data = len(agents) * group // (group + 1)
        parity = -(-data // group)
        if not data or data + parity != len(agents):
            raise InputError(
                f"agents {len(agents)}: with a parity block for {group} there is one too many; leave one out"
            )
        parts = np.array_split(np.asarray(agents), parity)
        return cls(size, unit, tuple(tuple(part.tolist()) for part in parts), True)

    @property
    def agents(self) -> tuple[int, ...]:
        return tuple(agent for group in self.groups for agent in group)

    @property
    def data(self) -> int:
        """Data blocks in a stripe."""
        return len(self.agents) - self.parities

    @property
    def parities(self) -> int:
        """Parity blocks in a stripe."""
        return len(self.groups) if self.parity else 0

    @property
    def stripe_bytes(self) -> int:
        """Of data in a full stripe."""
        return self.data * self.unit

    @property
    def stripes(self) -> int:
        return -(-self.size // self.stripe_bytes)

    @takes(rate=SPEED)
    def period(self, rate: float) -> float:
        """Seconds that a stripe lasts at `rate` bytes a second."""
        return self.stripe_bytes / rate

    @takes(agent=NUMBER)
    def group_of(self, agent: int) -> int | None:
        """The number of the group that an agent is in, None where it holds nothing of the object."""
        return next((number for number, group in enumerate(self.groups) if agent in group), None)

    @takes(failed=NUMBER, spare=NUMBER)
    def replaced(self, failed: int, spare: int) -> "StripeLayout":
        """With a spare agent in the place of a failed one. Raises InputError where that holds nothing of the object, or the
        spare one does."""
        if failed not in self.agents:
            raise InputError(f"agent {failed}: it holds nothing of the object, which is on agents {list(self.agents)}")
        groups = tuple(tuple(spare if agent == failed else agent for agent in group) for group in self.groups)
        return StripeLayout(self.size, self.unit, groups, self.parity)

    def blocks(self) -> Blocks:
        """Every block that is not empty, data and parity, stripe by stripe. Raises InputError for more than ten million."""
        if (count := self.stripes * len(self.agents)) > MOST_BLOCKS:
            raise InputError(
                f"blocks {count}: at most {MOST_BLOCKS} are gone through one by one; give a larger unit or a smaller object"
            )
        stripe = np.arange(self.stripes)[:, None]
        index, first, width = [], [], []
        done = 0
        for group in self.groups:
            count = len(group)
            place = np.arange(count)
            if self.parity:
                held = (count - 1 - stripe) % count
                number = (place - held - 1) % count
                index.append(np.where(place == held, -1, done + number))
            else:
                index.append(np.broadcast_to(place + done, (self.stripes, count)))
            data = count - self.parity
            first += [done] * count
            width += [data] * count
            done += data
        return self._filled(stripe, np.hstack(index), np.array(first), np.array(width))

    def _filled(self, stripe: NDArray, index: NDArray, first: NDArray, width: NDArray) -> Blocks:
        """first, width: the first data block of an agent's group and how many it has."""
        parity = index < 0
        position = (stripe * self.data + np.where(parity, first, index)) * self.unit
        rest = self.size - position
        # a parity block is as long as the longest of its group, which is the first
        length = np.clip(rest, 0, self.unit)
        check = np.where(parity, np.clip(rest, 0, width * self.unit), 0)
        numbers = np.repeat(np.arange(len(self.groups)), [len(group) for group in self.groups])
        columns = np.broadcast_arrays(
            stripe, numbers, index, self.agents, stripe * self.unit, np.where(parity, -1, position), length, check
        )
        full = length.ravel() > 0
        return Blocks(*(np.ascontiguousarray(column).ravel()[full] for column in columns))
