"""Describe redundant data, failures and repairs, for the formulas and the simulation of data loss."""

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Literal

from storagekit.core.arrays import Real
from storagekit.core.errors import InputError
from storagekit.core.namespaces import any_of_many, as_number, is_true, is_zero, namespace_of
from storagekit.core.units import HOUR
from storagekit.core.validation import (
    AMOUNT,
    POSITIVE,
    SHARE,
    SIZE,
    SPAN,
    SPEED,
    TIME,
    Count,
    Validator,
    Whole,
    require,
    validate,
    validate_fields,
)

DAY = 24 * HOUR
# names of the last event before a loss; a failure domain has its name in place of "disk"
DISK_FAILS, READ_ERROR = "disk fails", "read error in rebuild"
# bits of a byte
BITS = 8
# validators: days of a year, the shape of a Weibull distribution (infinite: a constant), a share above 0
DAYS = Validator(least=360, most=370, unit="days")
SHAPE = Validator(least=0.1, endless=True)
LIFE_SHAPE = Validator(least=0.1, most=100)
ABOVE_0 = Validator(least=0, most=1, above=True)


@dataclass(frozen=True)
class Redundancy:
    """Groups of disks with a code that tolerates the loss of some disks of each group.

    Parameters
    ----------
    data : int
        Number k of disks whose worth of data a group or stripe stores, at least 1.
    parities : int
        Number r of lost disks that a group tolerates. For copies, `data` is 1 and `parities` is the number of copies
        minus 1.
    groups : int
        Number of independent groups, or of pools if `pool` is given; by default 1.
    pool : int, optional
        Number D of disks of a declustered pool, over which stripes of k + r chunks are spread. By default the group
        itself, with D = k + r.
    capacity : float, optional
        Capacity of a disk, bytes. It is needed for read errors, and for the expected number of lost bytes.

    Raises
    ------
    InputError
        If a number is out of range, or the pool has fewer than k + r disks.

    Examples
    --------
    >>> from storagekit.faults import Redundancy
    >>> Redundancy(data=8, parities=2).stripe
    10
    """

    data: Count
    parities: Whole
    groups: Count = 1
    pool: Count | None = None
    capacity: Annotated[Real | None, SIZE] = None

    def __post_init__(self):
        validate_fields(self)
        require(self.stripe <= self.disks, "pool", self.disks, f"at least the {self.stripe} disks of a stripe")

    @property
    def stripe(self) -> int:
        """Return the number k + r of chunks of a stripe."""
        return self.data + self.parities

    @property
    def disks(self) -> int:
        """Return the number of disks of a group or pool."""
        return self.stripe if self.pool is None else self.pool

    @property
    def declustered(self) -> bool:
        """Return whether stripes are spread over a pool that is larger than a stripe."""
        return self.disks > self.stripe


@dataclass(frozen=True)
class Failures:
    """Permanent failures of disks, or of failure domains, with independent times to failure.

    Parameters
    ----------
    annual : float
        Annual failure rate (AFR).
    given_as : {"probability", "rate"}
        Meaning of `annual`. "probability" (the default): the probability p that a disk fails within a year, so that the
        rate is -ln(1 - p) a year. "rate": the rate itself, failures a year.
    days : float
        Days of a year, by default 365.25; 365 is common too.
    shape : float
        Shape of the Weibull distribution of lifetimes, from 0.1 to 100; by default 1, the exponential distribution.
    matched : float
        Years after which the Weibull distribution has the same cumulative hazard as the exponential distribution; by
        default 5. It has no effect if the shape is 1.
    acceleration : float
        Factor of the failure rate while another disk of the group is failed; by default 1. It describes correlated
        failures. Only for disks.

    Raises
    ------
    InputError
        If a number is out of range, or a probability is not below 1.

    Examples
    --------
    >>> from storagekit.faults import Failures
    >>> f"{Failures(0.05).rate:.4e} {Failures(0.05, 'rate', days=365).rate:.4e}"
    '1.6254e-09 1.5855e-09'
    """

    annual: Annotated[Real, AMOUNT]
    given_as: Literal["probability", "rate"] = "probability"
    days: Annotated[Real, DAYS] = 365.25
    shape: Annotated[Real, LIFE_SHAPE] = 1.0
    matched: Annotated[Real, POSITIVE] = 5.0
    acceleration: Annotated[Real, POSITIVE] = 1.0

    def __post_init__(self):
        validate_fields(self)
        if self.given_as == "probability":
            require(self.annual < 1, "annual", self.annual, 'below 1; for a rate, give given_as="rate"')

    @property
    def year(self) -> Real:
        """Return the length of a year in seconds."""
        return self.days * DAY

    @property
    def rate(self) -> Real:
        """Return the failure rate of one disk, 1/s; for Weibull lifetimes the mean hazard of the first `matched` years."""
        annual = self.annual if self.given_as == "rate" else -namespace_of(self.annual).log1p(-self.annual)
        return as_number(annual) / self.year

    @property
    def scale(self) -> Real:
        """Return the scale of the Weibull distribution in seconds, which is infinite without failures."""
        span = self.matched * self.year
        hazard = self.rate * span
        return span / hazard ** (1 / self.shape) if hazard > 0 else math.inf


@dataclass(frozen=True)
class Repair:
    """Detection of failed disks, and their rebuild on spare disks.

    Parameters
    ----------
    time : float
        Mean time of the rebuild of a disk under the load of the users, seconds (see `rebuild_time`). For a declustered
        pool, the time that one disk would need to write the whole content.
    at_once : int, optional
        Largest number of disks of a group that are rebuilt at the same time. 1 is serial repair. By default all failed
        disks are rebuilt in parallel, each at full speed. In a declustered pool the most exposed stripes are always
        rebuilt first.
    detection : float
        Mean time from a failure to the start of its repair, seconds, exponentially distributed; by default 0.
    shape : float
        Shape of the Weibull distribution of rebuild times. 1 (the default) is the exponential distribution, and
        infinity a constant time.
    spares : int, optional
        Number of spare disks of a group. A spare is ordered when a failure is detected. By default a spare is always
        available.
    refill : float
        Mean time until an ordered spare arrives, seconds, exponentially distributed; by default 0, so that a spare is
        always available.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    time: Annotated[Real, TIME]
    at_once: Count | None = None
    detection: Annotated[Real, SPAN] = 0.0
    shape: Annotated[Real, SHAPE] = 1.0
    spares: Whole | None = None
    refill: Annotated[Real, SPAN] = 0.0

    def __post_init__(self):
        validate_fields(self)

    @property
    def limited(self) -> bool:
        """Return whether a rebuild may have to wait for a spare."""
        return self.spares is not None and not is_zero(self.refill)


@dataclass(frozen=True)
class Domain:
    """Failure domains of one kind, such as nodes or racks. A failure destroys all disks of its domain.

    The domains of different groups are independent of each other. A domain that several groups share, such as a site,
    can be described by `analytic.durability.Burst` instead.

    Parameters
    ----------
    name : str
        Name of one domain, such as "rack".
    count : int
        Number of domains of this kind over which the disks of a group are spread evenly. For one site that contains
        everything it is 1.
    failures : Failures
        Permanent failures of one domain. Their times to failure are exponential.

    Raises
    ------
    InputError
        If an argument is invalid.
    """

    name: str
    count: Count
    failures: Failures

    def __post_init__(self):
        validate_fields(self)
        for name in ("shape", "acceleration"):
            value = getattr(self.failures, name)
            require(value == 1, f"{name} of the failures of a {self.name}", value, "1")


@dataclass(frozen=True)
class ReliabilityModel:
    """Redundant data with their failures and repairs.

    Parameters
    ----------
    redundancy : Redundancy
        The groups and their code.
    failures : Failures
        Failures of one disk.
    repair : Repair
        Detection, rebuild and spares.
    domains : sequence of Domain
        Failure domains, from the largest to the smallest. Each contains the same number of domains of the next kind. None by
        default.
    bit_error_rate : float
        Probability that a bit cannot be read (unrecoverable read errors), by default 0; 1e-15 is usual. An error during
        a rebuild loses data if no redundancy is left: if as many disks are failed as the code has parities.

    Raises
    ------
    InputError
        If an argument is invalid, if disks or domains cannot be spread evenly, if read errors are given without the
        capacity of a disk, or if a declustered pool has failure domains or limited spares.
    """

    redundancy: Redundancy
    failures: Failures
    repair: Repair
    domains: tuple[Domain, ...] = field(default=())
    bit_error_rate: Annotated[Real, SHARE] = 0.0

    def __post_init__(self):
        validate_fields(self)
        counts = [1, *(domain.count for domain in self.domains), self.redundancy.disks]
        for outer, inner in pairwise(counts):
            if inner % outer:
                raise InputError(
                    f"{inner} disks or domains cannot be spread evenly over {outer} domains; give a number of domains "
                    "that divides the number of the next smaller domains, or of disks"
                )
        if not is_zero(self.bit_error_rate) and self.redundancy.capacity is None:
            raise InputError("bit error rate: the redundancy has no capacity; give the capacity of a disk in bytes")
        if self.redundancy.declustered and (self.domains or self.repair.limited):
            raise InputError("pool: a declustered pool has no failure domains, and spares are always available")

    @property
    def exponential(self) -> bool:
        """Return whether lifetimes and rebuild times are exponential, so that the model is a Markov chain."""
        return is_true(self.failures.shape == 1) and is_true(self.repair.shape == 1)

    @property
    def read_error(self) -> Real:
        """Return the probability that the rebuild of a critical group meets an unrecoverable read error.

        A critical group or pool has lost r disks. Its rebuild reads k chunks of each stripe without redundancy.
        """
        if is_zero(self.bit_error_rate) or not self.redundancy.parities:
            return 0.0
        redundancy = self.redundancy
        disks_read = redundancy.data * self.exposed_share(redundancy.parities)
        bits = disks_read * (redundancy.capacity or 0.0) * BITS
        return as_number(any_of_many(self.bit_error_rate, bits))

    @validate
    def exposed_share(self, failed: Count) -> Real:
        """Return the share of the chunks of a failed disk that are in stripes with a chunk on every failed disk.

        Parameters
        ----------
        failed : int
            Number of failed disks of the pool, at least 1 and at most r.

        Returns
        -------
        float
            The share. It is 1 for a group that is not declustered.

        Raises
        ------
        InputError
            If the number is out of range.
        """
        require(failed <= self.redundancy.parities, "failed", failed, f"at most {self.redundancy.parities} disks")
        stripe, disks = self.redundancy.stripe, self.redundancy.disks
        return math.prod((stripe - lost) / (disks - lost) for lost in range(1, failed))

    @validate
    def rebuild_time(self, failed: Count) -> Real:
        """Return the mean time until the number of failed disks of the most exposed stripes decreases by one.

        Parameters
        ----------
        failed : int
            Number f of failed disks, at least 1 and at most r.

        Returns
        -------
        float
            Seconds. For a declustered pool the D - f other disks share k reads and one write of each chunk of the most
            exposed stripes.

        Raises
        ------
        InputError
            If the number is out of range.

        References
        ----------
        Wang et al., Design considerations and analysis of multi-level erasure coding, SC 2023, repair of local
        declustered pools.
        """
        share, redundancy = self.exposed_share(failed), self.redundancy
        if not redundancy.declustered:
            return self.repair.time
        return self.repair.time * share * (redundancy.data + 1) / (redundancy.disks - failed)

    @property
    def conventions(self) -> tuple[str, ...]:
        """Return the conventions and assumptions of the model, one sentence each."""
        # The detection and the rebuild in a declustered pool are one time.
        failures, repair, redundancy = self.failures, self.repair, self.redundancy
        rates = {"probability": "-ln(1 - AFR)", "rate": "AFR"}[failures.given_as]
        if redundancy.declustered:
            order = "stripes that have lost the most chunks are rebuilt first, by all disks of the pool"
        elif repair.at_once == 1:
            order = "repair is serial: one disk at a time"
        else:
            order = f"repair is parallel: {repair.at_once or 'all'} failed disks at a time, each at full speed"
        times = {1.0: "exponential", math.inf: "constant"}.get(repair.shape, f"Weibull with shape {repair.shape:g}")
        lives = "exponential" if failures.shape == 1 else f"Weibull with shape {failures.shape:g}"
        times += ", together with the detection," if redundancy.declustered and repair.detection else ""
        hours = (self.rebuild_time(1) if redundancy.parities else repair.time) / HOUR
        sentences = [
            f"The failure rate of a disk is {rates} a year, and a year has {failures.days:g} days.",
            f"Lifetimes are {lives}, and rebuild times are {times} with a mean of {hours:.4g} h for one failed disk.",
            f"The {order}." if redundancy.declustered else f"{order[0].upper()}{order[1:]}.",
            f"A group has {repair.spares} spare disks, and another one arrives a mean of {repair.refill / HOUR:.4g} h "
            "after a failure has been detected."
            if repair.limited
            else "A spare is always available.",
            "Failures are detected at once."
            if not repair.detection
            else f"Failures are detected after a mean of {repair.detection / HOUR:.4g} h, exponentially distributed.",
        ]
        if failures.acceleration != 1:
            sentences.append(
                f"Disks fail {failures.acceleration:g} times as often while a disk of their group is failed."
            )
        if self.bit_error_rate:
            sentences.append(
                f"A bit cannot be read with probability {self.bit_error_rate:g}: {self.read_error:.3g} for a rebuild "
                "without remaining redundancy."
            )
        sentences += [f"A failure of a {domain.name} destroys all disks in it." for domain in self.domains]
        if redundancy.groups > 1:
            sentences.append(f"The {redundancy.groups} groups are independent.")
        return tuple(sentences)


@validate
def rebuild_time(
    capacity: Annotated[Real, SIZE],
    bandwidth: Annotated[Real, SPEED],
    share: Annotated[Real, ABOVE_0] = 1.0,
    filled: Annotated[Real, SHARE] = 1.0,
) -> Real:
    """Return the time of the rebuild of a disk under load.

    Parameters
    ----------
    capacity : float
        Capacity of the disk, bytes.
    bandwidth : float
        Bandwidth of the disk that the rebuild writes, bytes/s.
    share : float
        Share of the bandwidth that the load of the users leaves to the rebuild, above 0; by default 1.
    filled : float
        Share of the capacity that has to be rebuilt, by default 1.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> from storagekit.faults import rebuild_time
    >>> round(rebuild_time(20e12, 200e6, share=0.5) / 3600, 1)
    55.6
    """
    return capacity * filled / (bandwidth * share)
