"""The network of an array: nodes with several disks each, racks with several nodes each, and the rates of their links."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, Count, Validator, Whole, optional, require, validate, validate_fields

_NODES = COUNT.up_to(4096)
_RATE = Validator(least=1, most=1e15, unit="bytes/s")


class Link(NamedTuple):
    """The busiest link of a kind: "node" or "rack", its rate in bytes a second, and its share of the bytes of all disks."""

    kind: str
    rate: float
    share: float


@dataclass(frozen=True)
class Network:
    """Nodes and racks over which the disks of an array are spread as evenly as possible, and the rates of their links.

    Parameters
    ----------
    nodes : int
        Number of nodes.
    node_rate : float
        Rate of the link of a node in each direction, bytes a second, at least 1.
    racks : int
        Number of racks over which the nodes are spread; by default 1.
    rack_rate : float, optional
        Rate of the link of a rack in each direction, bytes a second; by default without limit. Several racks need it.

    Raises
    ------
    InputError
        If a value is out of range, there are more racks than nodes, or several racks without a rate.

    Examples
    --------
    >>> from storagekit.plan import Network
    >>> Network(4, 1.25e9, racks=2, rack_rate=2e9).capacity(12)
    4000000000.0
    """

    nodes: Annotated[int, _NODES]
    node_rate: Annotated[float, _RATE]
    racks: Annotated[int, _NODES] = 1
    rack_rate: Annotated[float | None, optional(_RATE)] = None

    def __post_init__(self):
        validate_fields(self)
        if self.racks > self.nodes:
            raise InputError(f"racks {self.racks}: at most {self.nodes}, the number of nodes")
        if self.racks > 1 and self.rack_rate is None:
            raise InputError(
                f"racks {self.racks} without rack_rate: give the rate of the link of a rack, bytes a second"
            )

    @validate
    def links(self, disks: Count) -> list[Link]:
        """Return the busiest link of each kind.

        Parameters
        ----------
        disks : int
            Number of disks that are used. If there are fewer disks than nodes, nodes are empty.

        Returns
        -------
        list of Link
            The link of a node, and the link of a rack if racks have a rate.

        Raises
        ------
        InputError
            If the number is out of range.
        """
        found = [Link("node", self.node_rate, _most(disks, self.nodes) / disks)]
        if self.rack_rate is not None:
            found.append(Link("rack", self.rack_rate, _most(disks, self.racks) / disks))
        return found

    @validate
    def capacity(self, disks: Count) -> float:
        """Return the number of bytes a second of all disks, in each direction, at which the busiest link is full.

        Parameters
        ----------
        disks : int
            Number of disks that are used.

        Returns
        -------
        float
            Bytes a second.

        Raises
        ------
        InputError
            If the number is out of range.
        """
        return min(one.rate / one.share for one in self.links(disks))

    @validate
    def most_lost(self, group: Count, *, nodes: Whole = 0, racks: Whole = 0) -> int:
        """Return the largest number of disks of a group that are lost with some nodes, or with some racks.

        The disks of a group are assigned to the nodes in turn, and the nodes to the racks in turn.

        Parameters
        ----------
        group : int
            Number of disks of a group, such as a mirror, a parity group or a stripe of a declustered layout.
        nodes, racks : int
            Number of failed nodes, and number of failed racks; by default 0. Only one of them may be positive.

        Returns
        -------
        int
            Number of disks.

        Raises
        ------
        InputError
            If a number is out of range, or both are given.

        Examples
        --------
        >>> from storagekit.plan import Network
        >>> Network(4, 1.25e9).most_lost(6, nodes=1)
        2
        """
        if nodes and racks:
            raise InputError(f"nodes {nodes} and racks {racks}: give the failures of one kind")
        require(nodes <= self.nodes, "nodes", nodes, f"at most {self.nodes}")
        require(racks <= self.racks, "racks", racks, f"at most {self.racks}")
        return _most_lost(group, self.nodes, self.racks if racks else self.nodes, nodes or racks)

    @validate
    def spread(self, group: Count) -> tuple[int | None, int | None]:
        """Return the numbers of nodes and of racks over which the disks of each group are spread evenly.

        The disks of a group are assigned as for `most_lost`.

        Parameters
        ----------
        group : int
            Number of disks of a group.

        Returns
        -------
        nodes, racks : int or None
            The numbers; None if some of these nodes, or of these racks, have more disks of the group than others.

        Raises
        ------
        InputError
            If the number is out of range.

        Examples
        --------
        >>> from storagekit.plan import Network
        >>> Network(4, 1.25e9, racks=2, rack_rate=2e9).spread(8), Network(4, 1.25e9).spread(6)
        ((4, 2), (None, 1))
        """
        return _evenly(group, self.nodes, self.nodes), _evenly(group, self.nodes, self.racks)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary for JSON."""
        return {name: getattr(self, name) for name in ("nodes", "node_rate", "racks", "rack_rate")}


def _most(disks: int, domains: int) -> int:
    """Return the largest number of disks in a failure domain if disks are spread over the domains as evenly as possible."""
    return -(-disks // domains)


@lru_cache(maxsize=4096)
def _most_lost(group: int, nodes: int, domains: int, failed: int) -> int:
    """Return `Network.most_lost`. domains: number of nodes, or of racks, and `failed` of them fail."""
    if failed == 0:
        return 0
    if domains == nodes:
        rounds, rest = divmod(group, nodes)
        return failed * rounds + min(failed, rest)
    return int(np.sort(_dealt(group, nodes, domains), axis=1)[:, -failed:].sum(axis=1).max())


@lru_cache(maxsize=4096)
def _evenly(group: int, nodes: int, domains: int) -> int | None:
    """Return the number of domains over which each group is spread evenly, or None. domains: number of nodes, or of racks."""
    used = min(group, nodes)
    if domains == nodes:
        return None if group % used else used
    shares = {tuple(np.unique(each[each > 0]).tolist()) for each in _dealt(group, nodes, domains)}
    (first, *others) = shares
    return None if others or len(first) > 1 else group // first[0]


def _dealt(group: int, nodes: int, domains: int) -> NDArray:
    """Return the number of disks of a group in each domain, for a group that begins at each node, `[node, domain]`."""
    rounds, rest = divmod(group, nodes)
    # each full round over the nodes is the same for all groups
    whole = np.bincount(np.arange(nodes) % domains, minlength=domains) * rounds
    # the dealing repeats if the racks divide the nodes
    begins = np.arange(nodes if nodes % domains else 1)[:, None]
    domain = (begins + np.arange(rest)) % nodes % domains
    return np.stack([np.bincount(row, minlength=domains) for row in domain]) + whole
