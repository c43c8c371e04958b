"""Workloads of several parts: tenants with their own requests and limits, and sequential streams such as a backup."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.units import KB, SECTOR
from storagekit.core.validation import (
    POSITIVE,
    REAL,
    SHARE,
    Time,
    Validator,
    instance_of,
    require,
    require_seconds,
    several,
    text,
    validate_fields,
)

if TYPE_CHECKING:
    from storagekit.workload.trace import RequestTrace

# largest number of different sizes of a trace that are kept apart
_SIZES = 6
# bytes of the largest request
LARGEST = 2**26
# bytes that a sequential stream or a rebuild reads or writes in one access: by default, and the limits
CHUNK = 2.0**20
Chunk = Annotated[float, Validator(least=512, most=2**24, unit="bytes")]
# largest number of tenants, and of streams, and of characters of a name
_MOST, _LONGEST = 32, 40


def sizes_of(size: float | Mapping[float, float]) -> tuple[tuple[float, float], ...]:
    """Return the request sizes in bytes with their shares, which add up to 1.

    size: one size, or a mapping from sizes to shares or counts.
    """
    given = [*size.items()] if isinstance(size, Mapping) else [(size, 1.0)]
    if not given:
        raise InputError("size: no sizes; give bytes, or a mapping of bytes to shares")
    for each, share in given:
        REAL("size", each)
        require(0 < each <= LARGEST, "size", each, f"above 0 and at most {LARGEST}: 64 KB are 64 * units.KB", "bytes")
        REAL("share of a size", share)
        require(share > 0, f"share of requests of {each / KB:g} KB", share, "above 0")
    total = sum(share for _, share in given)
    return tuple((float(each), float(share) / total) for each, share in sorted(given))


def _name(label: str, value: Any) -> str:
    """Validate a name, which has a place in tables."""
    found = text(label, value)
    require(len(found.strip()) > 0 and len(found) <= _LONGEST, f"length of {label}", len(found), f"1 to {_LONGEST}")
    return found


@dataclass(frozen=True)
class Tenant:
    """One of several users of an array, with random requests and limits of their response times.

    Parameters
    ----------
    name : str
        Name of the tenant.
    rate : float
        Rate of Poisson arrivals, requests a second, at least 1e-9.
    size : float or mapping of float to float
        Request size in bytes, or a mapping from request sizes to their shares or counts, which are divided by their sum;
        by default 4 KB.
    read_share : float
        Share of reads, 0 to 1; by default 1.
    mean, p99 : float, optional
        Limits of the mean and of the 99th percentile of the response time of this tenant, seconds.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> from storagekit.plan import Tenant
    >>> Tenant("images", 20.0, size=1e6, p99=0.1).sizes
    ((1000000.0, 1.0),)
    """

    name: Annotated[str, _name]
    rate: Annotated[float, Validator(least=1e-9, most=1e12, unit="requests/s")]
    size: Any = 4 * KB
    read_share: Annotated[float, SHARE] = 1.0
    mean: Time | None = None
    p99: Time | None = None

    def __post_init__(self):
        validate_fields(self)
        # raises InputError for impossible sizes
        _ = self.sizes
        for label, limit in (("mean", self.mean), ("p99", self.p99)):
            if limit is not None:
                require_seconds(f"{label} of {self.name[:40]!r}", limit, "response")

    @cached_property
    def sizes(self) -> tuple[tuple[float, float], ...]:
        """Return the request sizes in bytes with their shares, which add up to 1."""
        return sizes_of(self.size)

    def shares_of(self, sizes: Sequence[float]) -> tuple[float, ...]:
        """Return the share of each of some sizes among the requests. sizes: bytes, which include the sizes of the tenant."""
        own = dict(self.sizes)
        return tuple(own.get(size, 0.0) for size in sizes)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary for JSON."""
        return {
            "name": self.name,
            "rate": self.rate,
            "sizes": [list(one) for one in self.sizes],
            "read_share": self.read_share,
            "mean": self.mean,
            "p99": self.p99,
        }


@dataclass(frozen=True)
class SequentialStream:
    """A sequential stream that reads or writes the data of an array in the order of their addresses.

    Parameters
    ----------
    name : str
        Name of the stream, for example "backup".
    rate : float
        Bytes a second, at least 1.
    writes : bool
        Whether the stream writes; by default false.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> from storagekit.plan import SequentialStream
    >>> SequentialStream("backup", 200e6).writes
    False
    """

    name: Annotated[str, _name]
    rate: Annotated[float, Validator(least=1, most=1e15, unit="bytes/s")]
    writes: bool = False

    def __post_init__(self):
        validate_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary for JSON."""
        return {"name": self.name, "rate": self.rate, "writes": self.writes}


_TENANTS = several(instance_of(Tenant, 'one as Tenant("web", 300.0)'), of="tenants")
_STREAMS = several(instance_of(SequentialStream, 'one as SequentialStream("backup", 200e6)'), of="streams")


def different_tenants(label: str, value: Any) -> tuple[Tenant, ...]:
    """Validate tenants, whose names differ."""
    return _different(label, _TENANTS(label, value))


def different_streams(label: str, value: Any) -> tuple[SequentialStream, ...]:
    """Validate streams, whose names differ."""
    return _different(label, _STREAMS(label, value))


def _different(label: str, found: tuple) -> tuple:
    require(len(found) <= _MOST, f"number of {label}", len(found), f"at most {_MOST}")
    names = [one.name for one in found]
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{label}: {twice[:40]!r} twice; give each name once")
    return found


def total_of(every: Sequence[Tenant]) -> tuple[float, tuple[tuple[float, float], ...], float]:
    """Return the rate of several tenants together, the sizes of their requests with shares, and the share of reads."""
    rate = sum(one.rate for one in every)
    shares: dict[float, float] = {}
    for one in every:
        for size, share in one.sizes:
            shares[size] = shares.get(size, 0.0) + one.rate / rate * share
    return rate, tuple(sorted(shares.items())), sum(one.rate / rate * one.read_share for one in every)


def tenants_of(trace: "RequestTrace", rate: float | None = None) -> tuple[Tenant, ...]:
    """Return the reads and the writes of a trace as two tenants, with the sizes of each.

    Parameters
    ----------
    trace : RequestTrace
        The trace, for example from `sk.read_trace`.
    rate : float, optional
        Rate of all requests together, requests a second; by default the mean rate of the trace.

    Returns
    -------
    tuple of Tenant
        The tenants "reads" and "writes", without limits; one of them if the trace has only reads or only writes. If there
        are many sizes, the sizes between two powers of two are replaced by one or two sizes with the same mean.

    Raises
    ------
    InputError
        If the trace has no request, or if all requests arrive at the same time and no rate is given.

    Examples
    --------
    >>> import storagekit as sk
    >>> trace = sk.read_trace(sk.resources.data_path("samples", "small.spc"))
    >>> [one.name for one in sk.plan.tenants_of(trace, rate=500.0)]
    ['reads', 'writes']
    """
    from storagekit.workload.trace import RequestTrace

    instance_of(RequestTrace, "one as sk.read_trace(path)")("trace", trace)
    if not len(trace):
        raise InputError("a trace without requests: give a trace with at least one request")
    lasts = float(trace.time[-1] - trace.time[0])
    if rate is None and lasts <= 0:
        raise InputError("all requests of the trace arrive at the same time: give rate, in requests a second")
    rate = len(trace) / lasts if rate is None else POSITIVE.in_unit("requests/s")("rate", rate)
    found = []
    for name, which, share in (("reads", trace.read, 1.0), ("writes", ~trace.read, 0.0)):
        sizes = trace.size[which]
        if len(sizes):
            found.append(Tenant(name, rate * len(sizes) / len(trace), _mix(sizes), share))
    return tuple(found)


def _mix(size: NDArray) -> dict[float, float]:
    """Return the share of the requests of each size, keyed by the size in bytes. size: of each request, bytes.

    If there are many sizes, the sizes between two powers of two are replaced by one or two sizes with the same mean. These
    are multiples of the largest common divisor of the replaced sizes. If all replaced sizes are whole sectors, the new sizes
    are whole sectors too.
    """
    sizes, counts = np.unique(size, return_counts=True)
    if sizes.size <= _SIZES:
        return {float(each): float(count) / len(size) for each, count in zip(sizes, counts, strict=True)}
    found: dict[float, float] = {}
    power = np.ceil(np.log2(np.maximum(sizes, SECTOR))).astype(int)
    for one in np.unique(power):
        some = power == one
        grain, count = int(np.gcd.reduce(sizes[some])), int(counts[some].sum())
        below, above = divmod(float(sizes[some] @ counts[some]) / count, grain)
        for each, share in ((below * grain, 1 - above / grain), ((below + 1) * grain, above / grain)):
            if share > 1e-9:
                found[each] = found.get(each, 0.0) + share * count / len(size)
    return found
