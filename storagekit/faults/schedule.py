"""Slowdowns and outages of bricks, and the time-out of clients."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int

from storagekit.component.events import Component, RequestAdmitted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named, whole
from storagekit.core.errors import InputError
from storagekit.core.validation import TIME, Validator, instance_of, require, require_seconds, traced
from storagekit.drive import AbstractMechanics
from storagekit.workload import Requests

NEVER = np.iinfo(np.int32).max
# Largest number of outages of a run: a cache distinguishes 8 generations of the memory of a brick.
MOST_STOPS = 7
# infinity: clients detect no outage
_DETECTION = Validator(least=0, unit="s", endless=True)


class Slowdown(eqx.Module):
    """A slowdown or an outage of a brick, from the arrival of one request to the arrival of a later request.

    Parameters
    ----------
    brick : int
        Number of the brick.
    speed : float
        Fraction of the full speed of the brick, from 0 to 1. 0 is an outage: the accesses of the brick are lost, it
        receives nothing, and its memory is empty afterwards.
    begins, ends : int
        Number of the request whose arrival begins the slowdown, and number of the request whose arrival ends it; by
        default the slowdown lasts for the whole run. The first request of a run has number 0. Numbers are exact for a
        run of any length. `workload.recorded` numbers the requests of a trace in order.

    Raises
    ------
    InputError
        If a number is out of range, or `begins` is not below `ends`.
    """

    brick: Int[AnyArray, "..."]
    speed: Float[AnyArray, "..."]
    begins: Int[AnyArray, "..."]
    ends: Int[AnyArray, "..."]
    stops: bool = eqx.field(static=True)

    def __init__(self, brick: ArrayLike, speed: ArrayLike, begins: ArrayLike = 0, ends: ArrayLike = NEVER):
        self.brick, self.speed = named("brick", whole)(brick), named("speed of a brick")(speed)
        self.begins = named("request at which a slowdown starts", whole)(begins)
        self.ends = named("request at which a slowdown ends", whole)(ends)
        self.stops = not traced(self.speed) and bool(np.any(np.asarray(self.speed) == 0))

    def __check_init__(self):
        if not traced(self.speed):
            speed = np.asarray(self.speed)
            of = f"of brick {int(np.min(self.brick))}"
            require((speed >= 0) & (speed <= 1), "speed", speed, "from 0 (stopped) to 1 (full speed)", of)
        if np.any(np.asarray(self.brick) < 0):
            raise InputError(f"brick {int(np.min(self.brick))}: bricks are numbered from 0")
        if np.any(np.asarray(self.begins) < 0):
            raise InputError(f"a slowdown from request {int(np.min(self.begins))}: requests are numbered from 0")
        if np.any(np.asarray(self.begins) >= np.asarray(self.ends)):
            raise InputError(
                f"a slowdown from request {int(np.max(self.begins))} to {int(np.min(self.ends))}: the start must be "
                "before the end"
            )

    def lasts(self, number: Int[Array, "1 *batch"]) -> Bool[Array, "1 *batch"]:
        """Return whether the slowdown is in effect when request `number` is the latest that has arrived."""
        return (number >= self.begins) & (number < self.ends)


def outage(brick: ArrayLike, begins: ArrayLike = 0, ends: ArrayLike = NEVER) -> Slowdown:
    """Return an outage of a brick.

    Parameters
    ----------
    brick : int
        Number of the brick.
    begins, ends : int
        Number of the request whose arrival begins the outage, and number of the request whose arrival ends it; by
        default the outage lasts for the whole run. The first request of a run has number 0.

    Returns
    -------
    Slowdown
        A slowdown of speed 0.

    Raises
    ------
    InputError
        If a number is out of range.
    """
    return Slowdown(brick, 0.0, begins, ends)


class FaultState(NamedTuple):
    """Private state of the fault schedule.

    latest: number of the request that arrived last. down: mask of the drives whose outage has been processed. undetected:
    time in seconds until clients detect the outage of a drive that is down, at least 0; None if no brick ever stops.
    """

    latest: Int[Array, "1 *batch"]
    down: Bool[Array, "drive *batch"]
    undetected: Float[Array, "drive *batch"] | None


class FaultSchedule(Component):
    """Speed of each brick during a run.

    Parameters
    ----------
    *slowdowns : Slowdown
        Slowdowns and outages, by default none. Without slowdowns, the schedule computes nothing.
    seeking, turning : float
        Fraction of a slowdown that applies to the arm, and fraction that applies to the platter, from 0 to 1, by
        default 1. With 1 and 1, accesses take 1 / speed times as long. With 0 and 1, only the platter is slower. With 1
        and 0, only the arm is slower. "Half the speed" in dsptf, section 5.2, may mean any of these three cases.
    timeout : float
        Time in seconds after which a client sends a request again if the request is neither completed nor in service,
        at most 600, by default 1. dsptf, section 3, describes the time-out but gives no value.
    detection : float
        Time in seconds after the start of an outage at which clients detect it; by default the time-out. From then until
        the end of the outage, clients send the requests for this brick directly to other bricks. With infinity, clients
        detect no outage, and each request for the brick waits for the time-out. Clients detect the end of an outage at
        once. The end does not shorten the wait of requests that already wait for the detection or the time-out.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    slowdowns: tuple[Slowdown, ...]
    seeking: Float[AnyArray, "..."]
    turning: Float[AnyArray, "..."]
    timeout: Float[AnyArray, "..."]
    detection: Float[AnyArray, "..."]

    def __init__(
        self,
        *slowdowns: Slowdown,
        seeking: ArrayLike = 1.0,
        turning: ArrayLike = 1.0,
        timeout: ArrayLike = 1.0,
        detection: ArrayLike | None = None,
    ):
        give = "a Slowdown(brick, speed), or outage(brick)"
        self.slowdowns = tuple(
            instance_of(Slowdown, give)("slowdown of a fault schedule", slowdown) for slowdown in slowdowns
        )
        self.seeking, self.turning = named("seeking")(seeking), named("turning")(turning)
        self.timeout = named("client timeout")(timeout)
        self.detection = self.timeout if detection is None else named("detection time")(detection)

    def __check_init__(self):
        for name, part in (("seeking", self.seeking), ("turning", self.turning)):
            if not traced(part):
                given = np.asarray(part)
                limit = "from 0 (independent of the speed) to 1 (proportional to the speed)"
                require((given >= 0) & (given <= 1), name, given, limit)
        if not traced(self.timeout):
            TIME.each("client timeout", self.timeout)
            require_seconds("client timeout", self.timeout, "time-out")
        if not traced(self.detection):
            _DETECTION.each("detection time", self.detection)

    def check(self, facts):
        for slowdown in self.slowdowns:
            if np.any(np.asarray(slowdown.brick) >= facts.bricks):
                raise InputError(
                    f"a slowdown of brick {int(np.max(slowdown.brick))}: the system has bricks 0 to {facts.bricks - 1}"
                )
        stops = [slowdown for slowdown in self.slowdowns if slowdown.stops]
        if len(stops) > MOST_STOPS:
            raise InputError(
                f"{len(stops)} outages of bricks: at most {MOST_STOPS} are possible in a run; remove some outages"
            )
        for one in stops:
            begin = np.asarray(one.begins)
            at_once = int(
                np.max(sum((begin >= other.begins) & (begin < other.ends) & (other.speed == 0) for other in stops))
            )
            if at_once > facts.spare:
                raise InputError(
                    f"{at_once} bricks are stopped simultaneously: this layout tolerates at most {facts.spare}; give "
                    "fewer simultaneous outages"
                )

    @property
    def varies(self) -> bool:
        """Return whether any brick is ever slow or stopped."""
        return bool(self.slowdowns)

    @property
    def stops(self) -> bool:
        """Return whether any brick ever stops."""
        return any(slowdown.stops for slowdown in self.slowdowns)

    @property
    def remembers(self):
        return self.varies

    def init(self, sizes: StateSizes) -> FaultState | None:
        if not self.varies:
            return None
        down = jnp.zeros((sizes.drives, *sizes.batch), bool)
        undetected = jnp.zeros(down.shape, jnp.float32) if self.stops else None
        return FaultState(jnp.full((1, *sizes.batch), -1, jnp.int32), down, undetected)

    def elapse(self, private: FaultState | None, time: Float[Array, "1 *batch"]) -> FaultState | None:
        if private is None or private.undetected is None:
            return private
        return private._replace(undetected=jnp.maximum(private.undetected - time, 0.0))

    def on_admitted(self, private: FaultState | None, event: RequestAdmitted) -> FaultState | None:
        return self.after(private, event.request, event.admitted)

    def after(
        self, private: FaultState | None, request: Requests, admitted: Bool[Array, "1 *batch"]
    ) -> FaultState | None:
        """Return the private state after a request has arrived. It changes only where `admitted` is true."""
        if private is None:
            return None
        return private._replace(latest=jnp.where(admitted, request.number, private.latest))

    def now(
        self, private: FaultState | None, mechanics: AbstractMechanics, brick: Int[Array, "*row"]
    ) -> AbstractMechanics:
        """Return the mechanics of drives at the present speed of their bricks.

        brick: number of the brick of each drive: `[1, *batch]` for one drive, otherwise one row for each drive.
        """
        if private is None:
            return mechanics
        speed = jnp.float32(1)
        for slowdown in self.slowdowns:
            slow = slowdown.lasts(private.latest) & (brick == slowdown.brick) & (slowdown.speed > 0)
            speed = speed * jnp.where(slow, slowdown.speed, 1.0)
        return mechanics.at_speed(1 + self.seeking * (speed - 1), 1 + self.turning * (speed - 1))

    def stopped_now(self, private: Any, brick: Int[Array, "drive *ones"]) -> Bool[Array, "drive *batch"]:
        """Return a mask of the drives that are stopped now. brick: number of the brick of each drive."""
        down = jnp.zeros_like(private.down)
        for slowdown in self.slowdowns:
            down = down | (slowdown.lasts(private.latest) & (brick == slowdown.brick) & (slowdown.speed == 0))
        return down
