"""Measures of each stream, along the dimension `stream`, for requests that have streams."""

from functools import lru_cache

from jaxtyping import Array, Bool, Int, Num

from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR
from storagekit.core.validation import Count, validate
from storagekit.engine import Report, Sum, completed
from storagekit.engine.histogram import MOST_STREAMS
from storagekit.simulation.measures import Measure
from storagekit.simulation.standard_measures import ELAPSED


@validate
def by_stream(streams: Count) -> tuple[Measure, ...]:
    """Return measures for each stream, for the argument `measures` of `simulate`.

    The measures are `stream_throughput`, `stream_rate` and `stream_response`. For up to 12 streams, the results of
    `simulate`, `replicate`, `sweep` and `compare` also have the quantiles of the response times of each stream, without
    asynchronous requests: `stream_response_quantile`.

    Parameters
    ----------
    streams : int
        Number of streams.

    Returns
    -------
    tuple of Measure
        Bytes per second, completed requests per second, and mean response time of each stream.

    Raises
    ------
    InputError
        In the simulation, if requests have no clients and therefore no streams.

    Examples
    --------
    >>> import storagekit as sk
    >>> from storagekit.simulation import by_stream
    >>> requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=1.0)
    >>> two = [sk.workload.Group(requests, threads, stream=stream) for stream, threads in enumerate((2, 6))]
    >>> system = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(1), sk.dispatch.Hashing(), sk.schedule.FCFS())
    >>> seen = sk.simulate(sk.Scenario(system, sk.workload.Threads(two)), requests=4000, measures=by_stream(2))
    >>> float((seen.stream_rate[1] / seen.stream_rate[0]).round())
    3.0
    """
    return _by_stream(int(streams))


@lru_cache(16)
def _by_stream(streams: int) -> tuple[Measure, ...]:
    """Return the same measures for the same number of streams, so that runs share a compiled program."""
    along = {"stream": range(streams)}
    count = Sum("stream_completed", lambda report, stream: _of(report, stream), int, along=along)
    sectors = Sum(
        "stream_sectors", lambda report, stream: _sum(report, stream, report.completed.sectors), int, along=along
    )
    waits = Sum("stream_response", lambda report, stream: _sum(report, stream, report.completed.response), along=along)
    return (
        Measure(
            "stream_throughput",
            "B/s",
            "bytes of completed requests per second, by stream",
            (sectors, ELAPSED),
            lambda stream_sectors, elapsed: stream_sectors * SECTOR / elapsed,
        ),
        Measure(
            "stream_rate",
            "1/s",
            "requests completed per second, by stream",
            (count, ELAPSED),
            lambda stream_completed, elapsed: stream_completed / elapsed,
        ),
        Measure(
            "stream_response",
            "s",
            "mean time from arrival to completion, by stream",
            (waits, count),
            lambda stream_response, stream_completed: stream_response / stream_completed,
            # the bins of more streams have no room in a log
            streams=streams if streams <= MOST_STREAMS else 0,
        ),
    )


def _of(report: Report, stream: Int[Array, "row *ones"]) -> Bool[Array, "row *batch"]:
    if report.completed.stream is None:
        raise InputError("measures by stream need requests of clients: use workload.Threads")
    return completed(report) & (report.completed.stream == stream)


def _sum(report: Report, stream: Int[Array, "row *ones"], value: Num[Array, "1 *batch"]) -> Num[Array, "row *batch"]:
    return _of(report, stream) * value
