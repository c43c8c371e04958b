"""What a client asks of a storage mediator."""

from dataclasses import dataclass

from storagekit.core.checks import require, require_number, require_positive
from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT, MOMENT, a, flag, hold, optional, text
from storagekit.core.units import MB
from storagekit.mediator.stripe_layout import BYTES, StripeLayout


@dataclass(frozen=True)
class Request:
    """A session: an object to be read or written at a data-rate, without a break (swift, section 2).

    client: its name; sessions of one client share its processor. rate: bytes a second; size: bytes of the object. write:
    whether it is stored. buffer: bytes of one stripe that the client is willing to hold (it holds two stripes at a time, one
    that comes and one that is used). group: data blocks for each parity block, None for no redundancy. layout: of an object
    that exists, whose agents and unit are then given, its redundancy too. confidence: the probability with which all of its
    stripes are in time. start: seconds, when the first stripe is released. Raises InputError for what no session can have.
    """

    client: str
    rate: float
    size: int
    write: bool = False
    buffer: int = 4 * MB
    group: int | None = None
    layout: StripeLayout | None = None
    confidence: float = 0.99
    start: float = 0.0

    def __post_init__(self):
        require_positive("rate", self.rate, "bytes/s")
        hold(self, client=text, size=BYTES, write=flag, buffer=BYTES, start=MOMENT, group=optional(COUNT))
        require_number("confidence", self.confidence)
        require(0 < self.confidence < 1, "confidence", self.confidence, "above 0 and below 1, as in 0.99")
        if self.layout is not None:
            hold(self, layout=a(StripeLayout))
            self._agree(self.layout)

    def _agree(self, layout: StripeLayout) -> None:
        if layout.size != self.size:
            raise InputError(f"size {self.size}: the object of this layout has {layout.size} bytes; give that size")
        if self.group is not None:
            raise InputError(f"group {self.group}: a layout has its own redundancy; leave group out")
        if layout.stripe_bytes > self.buffer:
            raise InputError(
                f"buffer {self.buffer} bytes: a stripe of this layout has {layout.stripe_bytes}; give at least that"
            )
