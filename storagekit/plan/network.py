"""The network of an array: nodes with several disks each, racks with several nodes each, and the rates of their links."""

from dataclasses import dataclass
from typing import Annotated, Any

from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, Validator, optional, validate_fields

_NODES = COUNT.up_to(4096)
_RATE = Validator(least=1, most=1e15, unit="bytes/s")


@dataclass(frozen=True)
class Network:
    """Nodes over which the disks of an array are spread evenly, and the rates of their links.

    Parameters
    ----------
    nodes : int
        Number of nodes.
    node_rate : float
        Rate of the link of a node in each direction, bytes a second, at least 1.
    racks : int
        Number of racks over which the nodes are spread evenly; by default 1.
    rack_rate : float, optional
        Rate of the link of a rack in each direction, bytes a second; by default without limit.

    Raises
    ------
    InputError
        If a value is out of range, or there are more racks than nodes.

    Examples
    --------
    >>> from storagekit.plan import Network
    >>> Network(4, 1.25e9, racks=2, rack_rate=2e9).capacity
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

    @property
    def capacity(self) -> float:
        """Return the largest number of bytes a second in each direction over all links."""
        return min(count * rate for _, count, rate in self._links)

    @property
    def narrowest(self) -> tuple[str, int, float]:
        """Return the links that limit the capacity: "node" or "rack", their number, and the rate of one in bytes a second."""
        return min(self._links, key=lambda link: link[1] * link[2])

    @property
    def _links(self) -> list[tuple[str, int, float]]:
        links = [("node", self.nodes, self.node_rate)]
        return links if self.rack_rate is None else [*links, ("rack", self.racks, self.rack_rate)]

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary for JSON."""
        return {name: getattr(self, name) for name in ("nodes", "node_rate", "racks", "rack_rate")}
