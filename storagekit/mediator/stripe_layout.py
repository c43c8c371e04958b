"""Location of an object's blocks: stripes over agents, with parity blocks that rotate over the agents of each group."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import BYTES, NUMBER, SECTORS, Count, Whole, several, validate, validate_fields

# Validators for the bytes of an object and of a block. The limits keep the bytes of a stripe over all agents in 64 bits.
UNIT = SECTORS.up_to(2**40, " bytes")
# Maximum number of blocks, which takes 1 GB of memory.
MOST_BLOCKS = 10**7


def agents_of(_: str, agents: object) -> tuple[int, ...]:
    """Return a sequence of agent numbers as a tuple, or raise InputError."""
    return several(NUMBER, of="agents")("agent", agents)


@dataclass(frozen=True)
class Blocks:
    """Blocks of an object. Each property is an array `[block]`.

    Parameters
    ----------
    stripe : ndarray of int, shape [block]
        Number of the stripe.
    group : ndarray of int, shape [block]
        Number of the parity group, whose agents share a parity block.
    index : ndarray of int, shape [block]
        Number of the block among the data blocks of the stripe; -1 for a parity block.
    agent : ndarray of int, shape [block]
        Number of the agent.
    offset : ndarray of int, shape [block]
        First byte in the agent's part of the object.
    position : ndarray of int, shape [block]
        First byte in the object; -1 for a parity block.
    length : ndarray of int, shape [block]
        Length of the block, bytes.
    check : ndarray of int, shape [block]
        Number of data bytes from which a parity block is computed; 0 for a data block.
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
        """Return the mask of the parity blocks."""
        return self.index < 0

    @property
    def count(self) -> int:
        """Return the number of blocks."""
        return self.stripe.size

    def where(self, chosen: NDArray) -> "Blocks":
        """Return the blocks that a mask or an array of indices selects."""
        return Blocks(**{name: column[chosen] for name, column in vars(self).items()})

    def rows(self) -> Iterator[SimpleNamespace]:
        """Yield each block as an object whose attributes are the numbers in the fields."""
        for values in zip(*(column.tolist() for column in vars(self).values()), strict=True):
            yield SimpleNamespace(**dict(zip(vars(self), values, strict=True)))


@dataclass(frozen=True)
class StripeLayout:
    """Placement of an object's stripes on agents.

    Parameters
    ----------
    size : int
        Size of the object, bytes.
    unit : int
        Size of a block, bytes.
    groups : tuple of tuple of int
        Agents of each parity group. Each agent appears once.
    parity : bool
        Whether each group has a parity block in every stripe; False by default.

    Raises
    ------
    InputError
        If a number is out of range, if an agent appears twice, or if a group with parity has no data block.

    Notes
    -----
    The parity block rotates over the agents of its group, and the data blocks follow it (left-symmetric). Each agent
    holds one block of each stripe: stripe n starts at byte n * `unit` of each agent's part. The last stripe may be
    short.

    References
    ----------
    swift, section 2.
    """

    size: Annotated[int, BYTES]
    unit: Annotated[int, UNIT]
    groups: Annotated[tuple[tuple[int, ...], ...], several(agents_of, of="groups of agents")]
    parity: bool = False

    def __post_init__(self):
        validate_fields(self)
        groups = self.groups
        if not self.agents:
            raise InputError(f"groups {list(groups)}: no agents; give at least one agent")
        if len(set(self.agents)) < len(self.agents):
            raise InputError(f"agents {list(self.agents)}: give each agent once, numbered from 0")
        if min(len(group) for group in groups) < 1 + self.parity:
            raise InputError(
                f"groups {list(groups)}: each group needs at least {1 + self.parity} agents; give more agents, or no "
                "parity"
            )

    @classmethod
    @validate
    def over(
        cls, size: int, unit: int, agents: Annotated[tuple[int, ...], agents_of], group: Count | None = None
    ) -> "StripeLayout":
        """Return a layout over all of `agents`, with parity groups of nearly equal size.

        Parameters
        ----------
        size : int
            Size of the object, bytes.
        unit : int
            Size of a block, bytes.
        agents : tuple of int
            Agents.
        group : int, optional
            Largest number of data blocks for each parity block; by default there is no parity.

        Returns
        -------
        StripeLayout
            The layout.

        Raises
        ------
        InputError
            If stripes with at most `group` data blocks for each parity block cannot use exactly this number of agents.
        """
        if group is None:
            return cls(size, unit, (agents,))
        data = len(agents) * group // (group + 1)
        parity = -(-data // group)
        if not data or data + parity != len(agents):
            raise InputError(
                f"agents {len(agents)}: stripes with one parity block for every {group} data blocks do not fit this "
                "number of agents; omit one agent"
            )
        parts = np.array_split(np.asarray(agents), parity)
        return cls(size, unit, tuple(tuple(part.tolist()) for part in parts), True)

    @property
    def agents(self) -> tuple[int, ...]:
        """Return all agents, group by group."""
        return tuple(agent for group in self.groups for agent in group)

    @property
    def data(self) -> int:
        """Return the number of data blocks in a stripe."""
        return len(self.agents) - len(self.groups) * self.parity

    @property
    def stripe_bytes(self) -> int:
        """Return the number of data bytes in a full stripe."""
        return self.data * self.unit

    @property
    def stripes(self) -> int:
        """Return the number of stripes; a short last stripe is included."""
        return -(-self.size // self.stripe_bytes)

    @property
    def first_data(self) -> NDArray:
        """Return the number of the first data block of each group in a stripe, `[group]`."""
        data = np.array([len(group) for group in self.groups]) - self.parity
        return np.cumsum(data) - data

    @property
    def parity_bytes(self) -> int:
        """Return the number of parity bytes of the object. A short last stripe is included."""
        full, rest = divmod(self.size, self.stripe_bytes)
        # A parity block is as long as the first data block of its group.
        short = np.clip(rest - self.first_data * self.unit, 0, self.unit)
        return (full * len(self.groups) * self.unit + int(short.sum())) * self.parity

    @validate
    def group_of(self, agent: Whole) -> int | None:
        """Return the number of an agent's parity group, or None if the agent holds no part of the object."""
        return next((number for number, group in enumerate(self.groups) if agent in group), None)

    @validate
    def replaced(self, failed: Whole, spare: Whole) -> "StripeLayout":
        """Return the layout in which the agent `spare` replaces the agent `failed`.

        Raises
        ------
        InputError
            If the failed agent holds no part of the object, or if the spare agent holds a part of the object.
        """
        if failed not in self.agents:
            raise InputError(
                f"agent {failed}: this agent holds no part of the object; give one of the agents {list(self.agents)}"
            )
        if spare in self.agents:
            raise InputError(
                f"spare agent {spare}: this agent already has blocks of the object; give an agent without such blocks"
            )
        groups = tuple(tuple(spare if agent == failed else agent for agent in group) for group in self.groups)
        return StripeLayout(self.size, self.unit, groups, self.parity)

    def blocks(self) -> Blocks:
        """Return every data block and parity block that is not empty, in the order of the stripes.

        Raises
        ------
        InputError
            If there are more than ten million blocks.
        """
        if (count := self.stripes * len(self.agents)) > MOST_BLOCKS:
            raise InputError(
                f"{count} blocks: at most {MOST_BLOCKS} are possible; give a larger unit or a smaller object"
            )
        stripe = np.arange(self.stripes)[:, None]
        sizes = np.array([len(group) for group in self.groups])
        group = np.repeat(np.arange(sizes.size), sizes)
        # For each agent: number of agents and of data blocks of its group, first data block of the group, and rank of
        # the agent in the group.
        count, data = sizes[group], sizes[group] - self.parity
        first = self.first_data[group]
        rank = np.arange(group.size) - (np.cumsum(sizes) - sizes)[group]
        # Rank of the parity block in the group. Without parity, no agent has this rank.
        held = (count - 1 - stripe) % count if self.parity else -1
        parity = np.broadcast_to(rank == held, (self.stripes, group.size))
        index = np.where(parity, -1, first + (rank - held - 1) % count)
        position = (stripe * self.data + np.where(parity, first, index)) * self.unit
        rest = self.size - position
        # A parity block is as long as the longest data block of its group, which is the first.
        length = np.clip(rest, 0, self.unit)
        check = np.where(parity, np.clip(rest, 0, data * self.unit), 0)
        columns = np.broadcast_arrays(
            stripe, group, index, self.agents, stripe * self.unit, np.where(parity, -1, position), length, check
        )
        return Blocks(*(column[length > 0] for column in columns))
