"""SR-Mirror: striping to shorten seeks, rotational replicas to shorten rotation, and mirrors on other disks.

Yu et al., Trading Capacity for Performance in a Disk Array, OSDI 2000 (srarray), sections 2.3 to 2.5. D = D_s D_r D_m
disks hold a data set. The stripe units of the data set are placed in rotation on D_s D_r groups of D_m mirrored disks.
Each unit is followed, in the same cylinder, by the space for its D_r replicas. Let `data` be the size of the data set
divided by the capacity of a drive. Each disk is then filled to the fraction data D_r D_m / D = data / D_s, from the
outer cylinders inward. With `data` 1, the arm of a disk moves over 1/D_s of the cylinders.

    D x 1 x 1     striping              1 x 1 x D     mirror
    D_s x D_r x 1 SR-Array              D_s x 1 x 2   RAID-10
"""

from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named, whole
from storagekit.core.validation import Validator, require, traced
from storagekit.drive import AbstractLayout, AbstractMechanics, Arm, Target
from storagekit.placement.base import MOST_PARTS, AbstractPlacement, Location, require_drives, stripe_unit
from storagekit.workload import Requests

_MOST_REPLICAS = partial(Validator(least=1, most=MOST_PARTS, whole=True), "most_replicas")


class SRMirror(AbstractPlacement):
    """Striping, rotational replicas and mirrors: D_s x D_r x D_m.

    Parameters
    ----------
    stripes : int
        D_s, the degree of striping, at least 1; one value, or one value for each run.
    replicas : int
        D_r, the number of replicas on a disk, at least 1, by default 1. They are on consecutive tracks of a cylinder,
        at distances of 1/D_r of a turn.
    mirrors : int
        D_m, the number of disks with the same data, at least 1, by default 1. With synchronized spindles, the replicas
        of different disks interleave: copy k is k / (D_r D_m) of a turn ahead.
    data : float
        Size of the data set divided by the capacity of a drive, above 0 and at most D_s, by default 1.
    unit : int
        Stripe unit, sectors, by default 64 KB as in the paper.
    most_replicas : int
        Largest D_r for which the engine allocates arrays, by default 6: a track switch of 0.9 ms permits at most six in
        a turn of 6 ms (srarray, section 4.1).

    Raises
    ------
    InputError
        If a number is out of range.
    """

    stripes: Int[AnyArray, "..."] = eqx.field(converter=named("D_s", whole))
    replicas: Int[AnyArray, "..."] = eqx.field(converter=named("D_r", whole), default=1)
    mirrors: Int[AnyArray, "..."] = eqx.field(converter=named("D_m", whole), default=1)
    data: Float[AnyArray, "..."] = eqx.field(converter=named("size of the data"), default=1.0)
    unit: int = eqx.field(static=True, default=64 * units.KB // units.SECTOR, converter=stripe_unit)
    most_replicas: int = eqx.field(static=True, default=6, converter=_MOST_REPLICAS)

    def __check_init__(self):
        for name, value in (("D_s", self.stripes), ("D_r", self.replicas), ("D_m", self.mirrors)):
            require(value >= 1, name, value, "at least 1")
        stripes, replicas, data = self.stripes, self.replicas, self.data
        if traced(stripes, replicas, self.mirrors, data):
            return
        most = f"at most {self.most_replicas}, the number written within a revolution; lower D_r or raise most_replicas"
        require(replicas <= self.most_replicas, "D_r", replicas, most)
        every = replicas.astype(float) * self.mirrors
        require(every <= MOST_PARTS, "D_r x D_m", every, f"at most {MOST_PARTS}; lower the replicas or the mirrors")
        room = (
            f"above 0 and at most D_s = {np.min(stripes)}, because replicas fill the rest; raise D_s or lower the data"
        )
        require((data > 0) & (data <= stripes), "size of the data", data, room, "drives")
        require_drives(stripes, replicas, self.mirrors)

    @property
    def parts(self):
        return self.mirrors

    @property
    def drives(self):
        return self.stripes * self.replicas * self.mirrors

    def capacity(self, drive: AbstractLayout):
        # The last `most_replicas` units of a drive stay free for the replicas of the last row.
        rows = drive.capacity // self.unit - self.most_replicas
        if isinstance(self.data, np.ndarray | np.generic):
            # The same precision as in the traced case below: float32 distinguishes all rows of 32-bit addresses.
            kind = np.float32 if rows < 2**24 else np.float64
            return np.floor(self.data.astype(kind) * rows).astype(np.int64) * self.unit
        return jnp.floor(self.data.astype(float) * rows).astype(int) * self.unit

    def locate(self, drive: AbstractLayout, requests: Requests) -> Location:
        groups = self.stripes * self.replicas
        unit = requests.sector // self.unit
        row = unit // groups
        first = row * (self.replicas * self.unit) + requests.sector % self.unit
        home = (unit - row * groups) * self.mirrors
        return Location(drive.locate(first, requests.sectors), home.astype(np.int32))

    def replica(
        self,
        drive: AbstractLayout,
        target: Target,
        part: Int[AnyArray, "*#row"],
        index: int | Int[AnyArray, "*#row"],
    ) -> Target:
        ahead = (index + part.astype(jnp.float32) / self.mirrors) / self.replicas
        heads = drive.heads

        def below(head: Int[AnyArray, "*row"]) -> Int[Array, "*#row"]:
            lower = head + index % heads
            return jnp.where(lower >= heads, lower - heads, lower)

        end = Arm(target.end.cylinder, below(target.end.head))
        return target._replace(head=below(target.head), angle=target.angle + ahead, end=end)

    def sweep(self, mechanics: AbstractMechanics, drive: Int[AnyArray, "*#row"]):
        return mechanics.seconds((self.replicas - 1) / self.replicas)
