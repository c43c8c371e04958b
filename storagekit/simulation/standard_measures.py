"""The measures of every run.

To add a measure, define a further `Measure` here. If no `Sum` provides the data, define a further `Sum` too.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from storagekit.engine import CHOICES, COMPLETED, Report, Sum, completed
from storagekit.simulation.measures import Measure, several_measures, together


def _read(report: Report) -> Bool[Array, "1 *batch"]:
    return completed(report) & report.completed.read


def _write(report: Report) -> Bool[Array, "1 *batch"]:
    return completed(report) & ~report.completed.read


def _hidden(report: Report) -> Bool[Array, "1 *batch"]:
    """Return a mask of the runs in which an asynchronous request completed."""
    return completed(report) & report.completed.asynchronous


def _response(report: Report, whose: Bool[Array, "1 *batch"]) -> Float[Array, "1 *batch"]:
    return jnp.where(whose, report.completed.response, 0.0)


def _busy(report: Report) -> Float[Array, "drive *batch"]:
    return jnp.where(report.served, report.seek + report.rotation + report.transfer, 0.0)


# seconds of simulated time
ELAPSED = Sum("elapsed", lambda report: report.elapsed)
# completed requests, and the sums of their response times. Asynchronous requests, for which no client waits, are counted
# as reads or writes, but their response times are summed separately
READS = Sum("reads", _read, int)
WRITES = Sum("writes", _write, int)
ASYNCHRONOUS_READS = Sum("asynchronous_reads", lambda report: _read(report) & _hidden(report), int)
ASYNCHRONOUS_WRITES = Sum("asynchronous_writes", lambda report: _write(report) & _hidden(report), int)
READ_RESPONSE = Sum("read_response", lambda report: _response(report, _read(report) & ~_hidden(report)))
WRITE_RESPONSE = Sum("write_response", lambda report: _response(report, _write(report) & ~_hidden(report)))
ASYNCHRONOUS_RESPONSE = Sum("asynchronous_response", lambda report: _response(report, _hidden(report)))
# admitted requests that had waited for a slot; reads that hit a cache; reads that hit the cache of a brick other than
# the receiving brick
BLOCKED = Sum("blocked", lambda report: report.blocked, int)
HITS = Sum("hits", lambda report: report.admission.hit, int)
ELSEWHERE = Sum("elsewhere", lambda report: report.admission.elsewhere, int)
# requests that were sent again after a time-out
RESENT = Sum("resent", lambda report: report.admission.resent + report.lost, int)
# number of copies among which drives chose
CANDIDATES = Sum("candidates", lambda report: report.candidates, int)
# claims; claims on requests that another drive had claimed already; requests with several claims; unnecessary services.
# With write policies that use claims, the counts include writes.
CLAIMS = Sum("claims", lambda report: report.claimed, int)
FURTHER = Sum("further", lambda report: report.further, int)
CONTESTED = Sum("contested", lambda report: report.contested, int)
TWICE = Sum("twice", lambda report: report.twice, int)
# parts of the time of disk accesses; number of accesses and their time for each drive
SEEK = Sum("seek", lambda report: report.seek)
ROTATION = Sum("rotation", lambda report: report.rotation)
TRANSFER = Sum("transfer", lambda report: report.transfer)
SERVED = Sum("served", lambda report: report.served, int, by_drive=True)
BUSY = Sum("busy", _busy, by_drive=True)

STANDARD = (
    Measure(
        "throughput",
        "1/s",
        "disk accesses per second and brick, including replica writes",
        (SERVED, ELAPSED),
        lambda served, elapsed: served.sum("brick") / elapsed / served.count("brick"),
    ),
    Measure(
        "request_rate",
        "1/s",
        "requests completed per second by the system",
        (COMPLETED, ELAPSED),
        lambda completed, elapsed: completed / elapsed,
    ),
    Measure(
        "service_time",
        "s",
        "mean time of a disk access: positioning and transfer",
        (BUSY, SERVED),
        lambda busy, served: busy.sum("brick") / served.sum("brick"),
    ),
    Measure(
        "seek",
        "s",
        "mean seek time of an access, including settling and overhead",
        (SEEK, SERVED),
        lambda seek, served: seek / served.sum("brick"),
    ),
    Measure(
        "rotation",
        "s",
        "mean rotational latency of an access",
        (ROTATION, SERVED),
        lambda rotation, served: rotation / served.sum("brick"),
    ),
    Measure(
        "transfer",
        "s",
        "mean transfer time of an access",
        (TRANSFER, SERVED),
        lambda transfer, served: transfer / served.sum("brick"),
    ),
    Measure(
        "response",
        "s",
        "mean time from arrival to completion, without asynchronous requests",
        (READ_RESPONSE, WRITE_RESPONSE, COMPLETED, ASYNCHRONOUS_READS, ASYNCHRONOUS_WRITES),
        lambda read, write, completed, reads, writes: (read + write) / (completed - reads - writes),
    ),
    Measure(
        "read_response",
        "s",
        "mean response time of reads, without asynchronous reads",
        (READ_RESPONSE, READS, ASYNCHRONOUS_READS),
        lambda response, reads, asynchronous: response / (reads - asynchronous),
    ),
    Measure(
        "write_response",
        "s",
        "mean response time of writes, without asynchronous writes",
        (WRITE_RESPONSE, WRITES, ASYNCHRONOUS_WRITES),
        lambda response, writes, asynchronous: response / (writes - asynchronous),
    ),
    Measure(
        "idle",
        "1",
        "fraction of time that the disk of a brick is idle, mean over bricks",
        (BUSY, ELAPSED),
        lambda busy, elapsed: 1 - busy.sum("brick") / elapsed / busy.count("brick"),
    ),
    Measure(
        "candidates",
        "1",
        "number of candidates among which a disk chooses, mean over choices",
        (CANDIDATES, CHOICES),
        lambda candidates, choices: candidates / choices,
    ),
    Measure(
        "contested",
        "1",
        "fraction of reads that more than one brick claimed",
        (CONTESTED, READS),
        lambda contested, reads: contested / reads,
    ),
    Measure(
        "claims_per_read",
        "1",
        "claims per completed read; claims on writes count if the write policy uses claims",
        (CLAIMS, READS),
        lambda claims, reads: claims / reads,
    ),
    Measure(
        "contested_requests",
        "1",
        "fraction of requests, including writes, that more than one brick claimed",
        (CONTESTED, COMPLETED),
        lambda contested, completed: contested / completed,
    ),
    Measure(
        "further_claims",
        "1",
        "claims after the first claim of a read, per completed request",
        (FURTHER, COMPLETED),
        lambda further, completed: further / completed,
    ),
    Measure(
        "extra_services",
        "1",
        "repeated services of reads, per completed read",
        (TWICE, READS),
        lambda twice, reads: twice / reads,
    ),
    Measure(
        "read_fraction",
        "1",
        "fraction of reads among the completed requests",
        (READS, COMPLETED),
        lambda reads, completed: reads / completed,
    ),
    Measure(
        "outstanding",
        "1",
        "mean number of requests in the system (Little's law)",
        (READ_RESPONSE, WRITE_RESPONSE, ASYNCHRONOUS_RESPONSE, ELAPSED),
        lambda reads, writes, asynchronous, elapsed: (reads + writes + asynchronous) / elapsed,
    ),
    Measure(
        "hit_rate",
        "1",
        "fraction of reads that hit a cache",
        (HITS, READS),
        lambda hits, reads: hits / reads,
    ),
    Measure(
        "hit_elsewhere",
        "1",
        "fraction of reads that hit the cache of a brick other than the receiving brick",
        (ELSEWHERE, READS),
        lambda elsewhere, reads: elsewhere / reads,
    ),
    Measure(
        "resent",
        "1",
        "requests that clients repeated after a time-out",
        (RESENT,),
        lambda resent: resent,
    ),
    Measure(
        "requests",
        "1",
        "requests completed during the measurement",
        (COMPLETED,),
        lambda completed: completed,
    ),
    Measure(
        "accesses",
        "1",
        "disk accesses during the measurement",
        (SERVED,),
        lambda served: served.sum("brick"),
    ),
    Measure(
        "blocked",
        "1",
        "requests that waited for a slot before they were admitted",
        (BLOCKED,),
        lambda blocked: blocked,
    ),
    Measure(
        "elapsed",
        "s",
        "simulated time of the measurement",
        (ELAPSED,),
        lambda elapsed: elapsed,
    ),
    Measure(
        "brick_throughput",
        "1/s",
        "disk accesses per second of each brick",
        (SERVED, ELAPSED),
        lambda served, elapsed: served / elapsed,
    ),
    Measure(
        "utilization",
        "1",
        "fraction of time that the disk of each brick is busy",
        (BUSY, ELAPSED),
        lambda busy, elapsed: busy / elapsed,
    ),
)


def beside(own: Sequence[Measure]) -> tuple[Measure, ...]:
    """Return the standard measures and a user's measures.

    Parameters
    ----------
    own : sequence of Measure
        The user's measures.

    Returns
    -------
    tuple of Measure
        All measures.

    Raises
    ------
    InputError
        If two measures share a name, or if their dimensions clash.
    """
    return together((*STANDARD, *several_measures("measures", own)))
