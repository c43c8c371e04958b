"""The request of a client to a storage mediator."""

from dataclasses import dataclass
from typing import Annotated

from storagekit.core.errors import InputError
from storagekit.core.units import MB
from storagekit.core.validation import Count, Finite, Moment, Speed, require, validate_fields
from storagekit.mediator.stripe_layout import BYTES, StripeLayout


@dataclass(frozen=True)
class Request:
    """A session: a client reads or writes an object at a constant data-rate, without interruption (swift, section 2).

    Parameters
    ----------
    client : str
        Name of the client. Sessions of one client share its processor.
    rate : float
        Data-rate, bytes/s.
    size : int
        Size of the object, bytes.
    write : bool
        Whether the object is written; False by default.
    buffer : int
        Largest stripe that the client can buffer, bytes; 4 MB by default. The client stores two stripes simultaneously:
        one arrives while the other is used.
    group : int, optional
        Number of data blocks for each parity block; by default there is no redundancy.
    layout : StripeLayout, optional
        Layout of an existing object, which determines agents, unit and redundancy.
    confidence : float
        Required probability that all stripes meet their deadlines; 0.99 by default.
    start : float
        Time at which the first stripe is released, seconds; 0 by default.

    Raises
    ------
    InputError
        If a value is out of range, or if the layout contradicts the size, the group or the buffer.
    """

    client: str
    rate: Speed
    size: Annotated[int, BYTES]
    write: bool = False
    buffer: Annotated[int, BYTES] = 4 * MB
    group: Count | None = None
    layout: StripeLayout | None = None
    confidence: Finite = 0.99
    start: Moment = 0.0

    def __post_init__(self):
        validate_fields(self)
        require(0 < self.confidence < 1, "confidence", self.confidence, "above 0 and below 1, such as 0.99")
        if self.layout is not None:
            self._agree(self.layout)

    def _agree(self, layout: StripeLayout) -> None:
        if layout.size != self.size:
            raise InputError(
                f"size {self.size}: the object of this layout has {layout.size} bytes; give the size of the object"
            )
        if self.group is not None:
            raise InputError(f"group {self.group}: the layout already defines the redundancy; omit group")
        if layout.stripe_bytes > self.buffer:
            raise InputError(
                f"buffer {self.buffer} bytes: a stripe of this layout has {layout.stripe_bytes} bytes; give at least "
                "this buffer"
            )
