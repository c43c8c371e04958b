"""A system of drives, and a scenario: a system and its arrivals."""

import equinox as eqx
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Int

from storagekit.arbitration import AbstractArbitration
from storagekit.cache import AbstractCache, NoCache
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import MOST_ADDRESS, named, whole
from storagekit.core.errors import InputError
from storagekit.core.system_facts import SystemFacts
from storagekit.core.validation import MOST_COUNTED, MOST_EXACT, Validator, instance_of, require
from storagekit.dispatch import AbstractDispatch
from storagekit.drive import AbstractDrive
from storagekit.faults.schedule import FaultSchedule
from storagekit.placement import MOST_PARTS, AbstractPlacement, Grouping
from storagekit.queue import AbstractQueue, Unlimited
from storagekit.schedule import AbstractSchedule
from storagekit.workload import AbstractArrivals
from storagekit.write import AbstractWrite, AllCopies

# limits of the capacity in sectors: of any system, and of systems with addresses of 32 bits
MOST_SECTORS, MOST_NARROW = MOST_ADDRESS, 2**31
# value of `slots` with which `simulate`, `sweep` or `replay` determines the number of slots
AUTO = -1
# validators of the type and the upper limit; `System` checks the lower limit, and a run checks that its slots fit into
# memory
DRIVES, SLOTS = Validator(most=MOST_COUNTED, whole=True), Validator(most=MOST_EXACT, whole=True)


class System(eqx.Module):
    """Drives that store data, and the components that divide the work among them.

    Parameters
    ----------
    drive : AbstractDrive
        Model of every drive.
    placement : AbstractPlacement
        Locations of the parts of a request.
    dispatch : AbstractDispatch
        Selects the parts to which a request is sent.
    schedule : AbstractSchedule
        Selects the next part that a drive serves.
    write : AbstractWrite, optional
        Determines when a write completes and how it reaches its copies, by default `AllCopies`.
    arbitration : AbstractArbitration, optional
        Selects the drive that serves a request queued at several drives, by default as the dispatcher defines.
    queue : AbstractQueue, optional
        Selects the waiting parts that a brick issues to its drives, by default all waiting parts.
    cache : AbstractCache, optional
        Memory in front of the drives, by default none.
    faults : FaultSchedule, optional
        Slowdowns and outages of bricks, by default none.
    drives : int, optional
        Number of drives of the simulation, by default the number that the placement uses. If several settings use
        different numbers of drives, a common larger number lets them share a compilation. The results do not change.
    slots : int, optional
        Largest number of requests in the system. Further arrivals wait outside and are counted. By default `simulate`,
        `sweep` or `replay` determines the number that the arrivals need.
    synchronized : int
        1: all spindles rotate with the same phase. By default 0: each spindle has its own random phase.

    Raises
    ------
    InputError
        If the components cannot be combined, or if a number is out of range.

    Examples
    --------
    >>> import storagekit as sk
    >>> system = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.SATF())
    >>> system.drives
    2
    """

    drive: AbstractDrive
    placement: AbstractPlacement
    dispatch: AbstractDispatch
    schedule: AbstractSchedule
    write: AbstractWrite
    arbitration: AbstractArbitration
    queue: AbstractQueue
    cache: AbstractCache
    faults: FaultSchedule
    synchronized: Int[AnyArray, "..."]
    drives: int = eqx.field(static=True)
    slots: int = eqx.field(static=True)

    def __init__(
        self,
        drive: AbstractDrive,
        placement: AbstractPlacement,
        dispatch: AbstractDispatch,
        schedule: AbstractSchedule,
        write: AbstractWrite | None = None,
        *,
        arbitration: AbstractArbitration | None = None,
        queue: AbstractQueue | None = None,
        cache: AbstractCache | None = None,
        faults: FaultSchedule | None = None,
        drives: int | None = None,
        slots: int | None = None,
        synchronized: ArrayLike = 0,
    ):
        _require_components(drive=drive, placement=placement, dispatch=dispatch, schedule=schedule)
        self.write = AllCopies() if write is None else write
        self.drive = drive
        self.placement = placement.for_drive(drive)
        self.dispatch = dispatch
        self.schedule = schedule
        self.arbitration = dispatch.arbitration if arbitration is None else arbitration
        self.queue = Unlimited() if queue is None else queue
        self.cache = NoCache() if cache is None else cache
        self.faults = FaultSchedule() if faults is None else faults
        _require_components(write=self.write, arbitration=self.arbitration, queue=self.queue, cache=self.cache)
        _require_components(faults=self.faults)
        self.synchronized = named("synchronized", whole)(synchronized)
        self.drives = DRIVES("drives in one system", np.max(placement.drives) if drives is None else drives)
        self.slots = AUTO if slots is None else SLOTS("request slots", slots)

    @property
    def bricks(self) -> Grouping:
        """The drives of each brick."""
        sizes, each = self.placement.brick_sizes, self.placement.drives_a_brick
        return Grouping((each,) * (self.drives // each) if sizes is None else sizes)

    @property
    def long_addresses(self) -> bool:
        """Whether addresses of the system or of a drive need 64 bits in any run. It is known before compilation."""
        return self.placement.address_limit(self.drive) >= MOST_NARROW

    @property
    def lasting_states(self) -> tuple[str, ...]:
        """Names of the classes whose state depends on requests that have left the system, such as a cache."""
        components = (
            self.dispatch,
            self.arbitration,
            self.write,
            self.queue,
            self.schedule,
            self.cache,
            self.faults,
        )
        return tuple(type(one).__name__ for one in (*components, self.drive.buffer) if one.remembers)

    def brick_of(self, drive: Int[AnyArray, "*row"]) -> Int[AnyArray, "*row"]:
        """Return the number of the brick of a drive.

        Parameters
        ----------
        drive : array of int32, shape `[*row]`
            Number of the drive.

        Returns
        -------
        array of int32, shape `[*row]`
            Number of the brick.
        """
        return self.placement.brick_of(drive)

    def __check_init__(self):
        sizes, each = self.placement.brick_sizes, self.placement.drives_a_brick
        if each < 1 or self.drives % each:
            raise InputError(
                f"bricks of {each} drives in a system of {self.drives} drives: give a number of drives per brick that "
                f"divides {self.drives}"
            )
        if sizes is not None and sum(sizes) != self.drives:
            raise InputError(
                f"bricks with {sum(sizes)} drives in total, in a system of {self.drives} drives: omit `drives`"
            )
        if self.drives < 1:
            raise InputError(f"{self.drives} drives in one system: give a whole number, at least 1")
        used = int(np.max(self.placement.drives))
        if used > self.drives:
            raise InputError(
                f"a layout of {used} drives in a system of {self.drives} drives: use a smaller layout or more drives"
            )
        parts = int(np.max(self.placement.parts))
        if parts > MOST_PARTS:
            raise InputError(
                f"{parts} copies of a block: at most {MOST_PARTS} are possible; simulate each group of drives in a "
                "separate run"
            )
        if self.slots < 1 and self.slots != AUTO:
            raise InputError(f"{self.slots} request slots: give at least 1")
        if not np.all(np.isin(self.synchronized, (0, 1))):
            raise InputError(
                f"synchronized {self.synchronized}: give 1 for synchronized spindles, or 0 for independent spindles"
            )
        capacity = np.asarray(self.placement.capacity(self.drive))
        if not np.all((capacity > 0) & (capacity < MOST_SECTORS)):
            wrong = capacity[~((capacity > 0) & (capacity < MOST_SECTORS))].ravel()[0]
            raise InputError(f"a capacity of {wrong:.0f} sectors: give 1 to {MOST_SECTORS - 1} sectors")
        facts = self._facts(used)
        self.drive.check_buffer(facts)
        self.write.check_rules(facts)
        for component in (
            self.drive, self.placement, self.dispatch, self.schedule, self.arbitration, self.cache, self.faults,
            self.queue, self.write,
        ):  # fmt: skip
            component.check(facts)

    def _facts(self, used: int) -> SystemFacts:
        """Return the properties of the system that each component checks in order to decide whether it fits."""
        placement, write, faults = self.placement, self.write, self.faults
        buffered = self.drive.buffer.remembers
        return SystemFacts(
            layout=type(placement).__name__,
            policy=type(write).__name__,
            arbitration=type(self.arbitration).__name__,
            drives=used,
            bricks=int(self.bricks.of(whole(used - 1))) + 1,
            brick_drives=self.bricks.most,
            needed=int(np.max(placement.needed)),
            replicas=int(np.max(placement.replicas)),
            spare=int(np.min(placement.spare)),
            is_replicated=placement.is_replicated,
            fragments=placement.needs_several,
            rewrites=buffered and bool(np.any(placement.sweep(self.drive.mechanics_of(whole(0)), whole(0)) > 0)),
            reads_before_writes=placement.reads_before_writes,
            competes=self.arbitration.competes,
            lead_time=float(np.max(self.arbitration.lead_time)),
            withdraws=placement.most_spare > 0 and self.dispatch.sends_more,
            withdraws_late=self.dispatch.withdraws_late,
            delays=write.may_delay,
            stops=faults.stops,
            varies=faults.varies,
        )


# types of the arguments of a system, and examples for messages
_COMPONENTS: dict[str, tuple[type, str]] = {
    "drive": (AbstractDrive, 'a drive, such as sk.load_drive("atlas10k")'),
    "placement": (AbstractPlacement, "a placement, such as sk.placement.Replicas(2)"),
    "dispatch": (AbstractDispatch, "a dispatcher, such as sk.dispatch.Hashing()"),
    "schedule": (AbstractSchedule, "a scheduler, such as sk.schedule.SATF()"),
    "write": (AbstractWrite, "a policy for writes, such as sk.write.AllCopies()"),
    "arbitration": (AbstractArbitration, "an arbitration, such as sk.arbitration.NoArbitration()"),
    "queue": (AbstractQueue, "a queue, such as sk.queue.Unlimited()"),
    "cache": (AbstractCache, "a cache, such as sk.cache.NoCache()"),
    "faults": (FaultSchedule, "a fault schedule, such as sk.faults.FaultSchedule(...)"),
}
_FIRST = ("drive", "placement", "dispatch", "schedule", "write")
_ORDER = f"; the arguments of System are {', '.join(_FIRST)} in this order"


def _require_components(**given: object) -> None:
    for name, component in given.items():
        kind, give = _COMPONENTS[name]
        order = _ORDER if name in _FIRST else ""
        instance_of(kind, give + order)(f"a system's {name}", component)


class Scenario(eqx.Module):
    """A system and its arrivals, the input of `simulate`.

    Parameters
    ----------
    system : System
        The system.
    arrivals : AbstractArrivals
        The arrivals.

    Raises
    ------
    InputError
        If the system cannot serve the arrivals.

    Examples
    --------
    >>> import storagekit as sk
    >>> system = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.SATF())
    >>> requests = sk.workload.RandomRequests(sk.workload.ExponentialSize(4096), read_share=0.9)
    >>> loop = sk.Scenario(system, sk.workload.ClosedLoop(requests, outstanding=8))
    """

    system: System
    arrivals: AbstractArrivals

    def __check_init__(self):
        order = "; the arguments of Scenario are system and arrivals, in this order"
        instance_of(System, f"a System(...){order}")("a scenario's system", self.system)
        arrivals = "arrivals, such as sk.workload.ClosedLoop(...)"
        instance_of(AbstractArrivals, arrivals + order)("a scenario's arrivals", self.arrivals)
        most = self.arrivals.most_outstanding
        slots = self.system.slots
        if most is not None and slots != AUTO and most > slots:
            raise InputError(f"{most} requests outstanding, but {slots} slots: raise System.slots")
        self.arrivals.check(self.system.placement.capacity(self.system.drive))
        self.system.queue.serve(self.arrivals.stream_count)
        longest = self.system.placement.longest
        if longest is not None:
            most = self.arrivals.largest
            limit = f"at most {longest}, the length of an extent; use larger extents"
            require(most <= longest, "largest request", most, limit, "sectors")
