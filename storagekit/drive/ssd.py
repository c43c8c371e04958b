"""Solid-state drives for the formulas of the planner: latencies and largest rates by operation and size."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.units import KB, SECTOR
from storagekit.core.validation import (
    COUNT,
    SIZE,
    Validator,
    instance_of,
    numbers,
    optional,
    require,
    several,
    shown,
    validate,
    validate_fields,
)

# largest number of units, and largest size of an SSD in bytes
MOST_UNITS = 4096
# bytes of a page; a larger request is divided among units in pages
PAGE_BYTES = 4 * KB
# size of the long requests of a data sheet, bytes
_LONG = 128 * KB
_OUTSTANDING = COUNT.up_to(10**5)
# limits of a file too, so that every SSD can be written and read again
_CAPACITY, _WRITTEN = Validator(1e6, 1e16, "bytes"), Validator(1e9, 1e21, "bytes")
_IOPS, _LATENCY = Validator(1e-3, 1e9, "requests/s"), Validator(1e-9, 1.0, "s")


def spread_pairs(label: str, value: Any) -> tuple[tuple[float, float], ...]:
    """Return pairs of a share and a multiple of a mean.

    Raises InputError unless the sum of the shares and the mean of the multiples are 1.
    """
    pairs = numbers(label, value)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs) or not np.isfinite(pairs).all() or (pairs < 0).any():
        raise InputError(
            f"{label} {shown(value)}: give pairs of a share and a multiple of the mean, such as (1.0, 1.0)"
        )
    shares, multiples = pairs.T.astype(float)
    require(abs(shares.sum() - 1) < 1e-6, f"sum of the shares of {label}", float(shares.sum()), "1")
    require(abs(shares @ multiples - 1) < 1e-6, f"mean of {label}", float(shares @ multiples), "1")
    return tuple(zip(shares.tolist(), multiples.tolist(), strict=True))


@dataclass(frozen=True)
class SSDFigures:
    """The reads, or the writes, of one size on an SSD.

    Parameters
    ----------
    size : float
        Size of the requests in bytes.
    latency : float
        Mean response time of a request on an idle drive, with one request outstanding, seconds.
    rate : float
        Largest rate that the drive sustains, requests a second.
    spread : sequence of (float, float)
        Distribution of the times of such requests: pairs of a share and a multiple of the mean. By default, all requests take
        the mean.

    Raises
    ------
    InputError
        If a value is impossible.
    """

    size: Annotated[float, SIZE]
    latency: Annotated[float, _LATENCY]
    rate: Annotated[float, _IOPS]
    spread: Annotated[tuple[tuple[float, float], ...], spread_pairs] = ((1.0, 1.0),)

    def __post_init__(self):
        validate_fields(self)


_FIGURES = several(instance_of(SSDFigures, "some as SSDFigures(4096, 80e-6, 1e6)"), 1, "figures")


def _ordered(label: str, value: Any) -> tuple[SSDFigures, ...]:
    """Return figures in ascending order of size.

    Raises InputError if larger requests are faster, or a size is given twice.
    """
    found = tuple(sorted(_FIGURES(label, value), key=lambda one: one.size))
    for small, large in pairwise(found):
        if large.size == small.size:
            raise InputError(f"{label}: {large.size:g} bytes twice; give each size once")
        if large.latency < small.latency * (1 - 1e-6):
            raise InputError(
                f"{label}: {large.latency:g} s for {large.size:g} bytes, and {small.latency:g} s for {small.size:g} bytes; "
                "larger requests must not be faster"
            )
        if large.rate > small.rate * (1 + 1e-6):
            raise InputError(
                f"{label}: {large.rate:g} requests/s of {large.size:g} bytes, and {small.rate:g} requests/s of "
                f"{small.size:g} bytes; the rate of larger requests must not be higher"
            )
    return found


def most_units(figures: Sequence[SSDFigures]) -> int:
    """Return the largest number of units for which a request takes at most its latency on a unit.

    figures: the smallest requests of each operation that waits for its units. Raises InputError if there is
    none, because a single outstanding request would then exceed the largest rate.
    """
    found = MOST_UNITS
    for one in figures:
        least = 1 / one.latency
        require(
            one.rate >= least * (1 - 1e-9), "rate", one.rate, f"at least {least:g}, the rate of one outstanding request"
        )
        found = min(found, int(one.latency * one.rate * (1 + 1e-9)))
    return found


@dataclass(frozen=True)
class SSD:
    """A solid-state drive.

    The drive has `units` that work in parallel, such as its flash dies. The pages of a request go to different units, at
    random, and a unit serves one page after the other.

    Parameters
    ----------
    name : str
        Name of the drive.
    size : float
        Capacity in bytes.
    reads, writes : sequence of SSDFigures
        The reads, and the writes, of some sizes. Between these sizes, times are interpolated linearly; above them, they grow
        with the bandwidth of the largest size.
    units : int, optional
        Number of units; by default the largest number that the latency and the rate of small reads allow. With fewer
        units, more of the latency is outside of the units.
    endurance : float, optional
        Bytes that can be written to the drive before it is worn out; by default unknown.
    buffered : bool
        Whether a write completes in a buffer of the drive, as with protection against power loss; by default true.
        Otherwise it waits for its units as a read does.

    Raises
    ------
    InputError
        If a value is impossible, or the units are too many for the latency of the reads.

    Notes
    -----
    A page that is written occupies a unit for as long as the rate of the writes implies, which includes the work of garbage
    collection on average. The drive has no model of the following: garbage collection that begins and ends, bursts that the
    buffer absorbs or a cache of faster cells, programs that are suspended for reads, and limits of temperature.

    Examples
    --------
    >>> ssd = SSD.from_datasheet("nvme", 3.84e12, read_rate=1e6, write_rate=180e3, read_latency=80e-6, write_latency=20e-6,
    ...     read_bandwidth=6.8e9, write_bandwidth=4e9)
    >>> ssd.units
    80
    """

    name: str
    size: Annotated[float, _CAPACITY]
    reads: Annotated[tuple[SSDFigures, ...], _ordered]
    writes: Annotated[tuple[SSDFigures, ...], _ordered]
    units: Annotated[int | None, optional(Validator(least=1, most=MOST_UNITS, whole=True))] = None
    endurance: Annotated[float | None, optional(_WRITTEN)] = None
    buffered: bool = True

    def __post_init__(self):
        validate_fields(self)
        most = most_units(self.reads[:1] if self.buffered else (self.reads[0], self.writes[0]))
        if self.units is None:
            object.__setattr__(self, "units", most)
        what = "read" if self.buffered else "read, and of a write,"
        require(
            self.parallel <= most, "units", self.parallel, f"at most {most}, the latency of a {what} times its rate"
        )

    @classmethod
    def from_datasheet(
        cls,
        name: str,
        size: float,
        *,
        read_rate: float,
        write_rate: float,
        read_bandwidth: float,
        write_bandwidth: float,
        read_latency: float,
        write_latency: float,
        units: int | None = None,
        endurance: float | None = None,
        buffered: bool = True,
    ) -> "SSD":
        """Return the drive that a data sheet describes.

        Parameters
        ----------
        name : str
            Name of the drive.
        size : float
            Capacity in bytes.
        read_rate, write_rate : float
            Sustained rates of random requests of 4 KB, requests a second.
        read_bandwidth, write_bandwidth : float
            Sustained rates of sequential requests, bytes a second.
        read_latency, write_latency : float
            Typical times of a request of 4 KB with one request outstanding, seconds.
        units, endurance, buffered
            See `SSD`.

        Returns
        -------
        SSD
            The drive.

        Raises
        ------
        InputError
            If a value is impossible.
        """
        every = []
        given = (
            ("read", read_latency, read_rate, read_bandwidth),
            ("write", write_latency, write_rate, write_bandwidth),
        )
        for what, latency, rate, bandwidth in given:
            bandwidth = Validator(least=0, above=True, unit="bytes/s")(f"{what} bandwidth", bandwidth)
            small = SSDFigures(PAGE_BYTES, latency, rate)
            sent = (_LONG - PAGE_BYTES) / bandwidth
            every.append((small, SSDFigures(_LONG, min(1.0, latency + sent), min(rate, bandwidth / _LONG))))
        return cls(name, size, every[0], every[1], units, endurance, buffered)

    @property
    def parallel(self) -> int:
        """Return the number of units."""
        assert self.units is not None
        return self.units

    @property
    def capacity(self) -> int:
        """Return the capacity in sectors of 512 bytes."""
        return int(self.size / SECTOR)

    @validate
    def latency(self, size: Annotated[float, SIZE], *, writes: bool = False) -> float:
        """Return the mean response time of a request on an idle drive.

        Parameters
        ----------
        size : float
            Size of the request in bytes.
        writes : bool
            Whether the request is a write, by default False.

        Returns
        -------
        float
            The time in seconds.

        Raises
        ------
        InputError
            If the size is impossible.
        """
        every = self.writes if writes else self.reads
        last = every[-1]
        within = float(np.interp(size, [one.size for one in every], [one.latency for one in every]))
        return within + max(0.0, size - last.size) / (last.size * last.rate)

    @validate
    def busy(self, size: Annotated[float, SIZE], *, writes: bool = False) -> float:
        """Return the time for which a request occupies units, summed over the units.

        Parameters
        ----------
        size, writes
            See `latency`.

        Returns
        -------
        float
            The time in seconds.

        Raises
        ------
        InputError
            If the size is impossible.
        """
        every = self.writes if writes else self.reads
        last = every[-1]
        each = float(np.interp(size, [one.size for one in every], [1 / one.rate for one in every]))
        return self.parallel * each * max(1.0, size / last.size)

    @validate
    def spread(self, size: Annotated[float, SIZE], *, writes: bool = False) -> NDArray:
        """Return the distribution of the times of the nearest size that the drive has figures for.

        Parameters
        ----------
        size, writes
            See `latency`.

        Returns
        -------
        array of float, shape `[2, pair]`
            The shares of the times, and their multiples of the mean.

        Raises
        ------
        InputError
            If the size is impossible.
        """
        every = self.writes if writes else self.reads
        return np.array(min(every, key=lambda one: abs(np.log(one.size / size))).spread).T

    @validate
    def parts(self, size: Annotated[float, SIZE]) -> int:
        """Return the number of units that a request occupies.

        Parameters
        ----------
        size : float
            Size of the request in bytes.

        Returns
        -------
        int
            The number: one for each page of 4 KB, at most all units.

        Raises
        ------
        InputError
            If the size is impossible.
        """
        return min(self.parallel, int(np.ceil(size / PAGE_BYTES)))

    @validate
    def bandwidth(self, *, writes: bool = False) -> float:
        """Return the sustained rate of the largest requests.

        Parameters
        ----------
        writes : bool
            Whether the requests are writes, by default False.

        Returns
        -------
        float
            The rate in bytes a second.

        Raises
        ------
        InputError
            If `writes` is neither True nor False.
        """
        last = (self.writes if writes else self.reads)[-1]
        return last.size * last.rate

    @validate
    def response(
        self, size: Annotated[float, SIZE], outstanding: Annotated[int, _OUTSTANDING], *, writes: bool = False
    ) -> float:
        """Return the mean response time with a constant number of outstanding requests of one kind.

        Parameters
        ----------
        size, writes
            See `latency`.
        outstanding : int
            Number of outstanding requests, at most 100,000.

        Returns
        -------
        float
            The time in seconds.

        Raises
        ------
        InputError
            If an argument is out of range.

        Notes
        -----
        The method is mean value analysis of a closed network (Reiser and Lavenberg 1980). The network has one station for
        each unit of the drive, and a delay for the part of the latency outside of the units. A request visits one station,
        each with equal probability. The result is exact for requests of one page with exponential times at the units. For
        requests of several pages, the network has fewer stations. Writes that complete in a buffer take their latency until
        the drive is saturated.

        Examples
        --------
        >>> drive = SSD("one unit", 1e12, (SSDFigures(4096, 1e-4, 1e4),), (SSDFigures(4096, 1e-4, 1e4),))
        >>> f"{drive.response(4096, 4) * 1e6:.0f} us"
        '400 us'
        """
        latency, parts = self.latency(size, writes=writes), self.parts(size)
        busy = self.busy(size, writes=writes)
        saturated = outstanding * busy / self.parallel
        if writes and self.buffered:
            return max(latency, saturated)
        each = min(latency, busy / parts)
        return max(saturated, float(closed_responses(latency, each, self.parallel / parts, outstanding)[-1]))


def closed_responses(latency: float, busy: float, units: float, most: int) -> NDArray:
    """Return the mean response times with 1, 2, ... `most` outstanding requests, seconds, `[most]`.

    latency: response time on an idle drive, seconds. busy: part of this time at one of the units, seconds. units: number of
    units. See `SSD.response`.
    """
    found, queued = np.empty(most), 0.0
    for number in range(1, most + 1):
        at_unit = busy * (1 + queued / units)
        found[number - 1] = latency - busy + at_unit
        queued = number * at_unit / found[number - 1]
    return found
