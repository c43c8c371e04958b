"""Replay a long trace in segments that are simulated in parallel.

Each segment begins with an empty system, some requests before the first request that it counts. The preceding segment
simulates these requests too. In a stable system, their response times in the two segments are equal after a short time. If
the requests that are in the system when the segment begins to count have equal response times too, the segment continues as
the preceding segment would.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from tqdm import tqdm

from storagekit.engine import NO_REQUEST, Record, ResponseLog, Runner, Scenario, System, keys
from storagekit.engine.batch import SLOT_BYTES, STRIDE, width
from storagekit.engine.run import Run
from storagekit.engine.state import phases, random_phases
from storagekit.simulation.measures import Measure, sums_of
from storagekit.simulation.replay_results import ReplayResults
from storagekit.simulation.trace_blocks import Blocks
from storagekit.workload import RecordedArrivals
from storagekit.workload.recorded import TraceMapping
from storagekit.workload.trace import RequestTrace, TraceFile
from storagekit.write import AllCopies

# number of requests from which parallel segments save more time than the compilation of their program takes
LONG = 2**18
# rows of the arrays with the requests of one batch, and number of requests that the batch counts at most
ROWS, TOGETHER = 2**20, 2**20 - 2**16
# number of runs of a batch on an accelerator
WIDE = 256
# Number of requests that a segment simulates before the requests that it counts: at least, for each drive, at most.
BEFORE, BEFORE_PER_DRIVE, MOST_BEFORE = 2048, 64, 2**15
# share of these requests that must have, one after the other, the response times of the preceding segment
EQUAL = 0.25
# share of the last quarter of these requests that must have equal response times
EQUAL_AT_END = 0.95
# number of steps without progress after which a segment is given up
PATIENCE = 64
# Largest difference of equal response times, seconds. The times of a run are rounded, so the angles of the platters differ
# slightly; another order of accesses makes a larger difference.
SAME = 1e-4


class SegmentsDiffer(Exception):
    """A segment does not continue the preceding segment; the message has the reason."""


def reason_not_parallel(system: System, mapping: TraceMapping) -> str:
    """Return the reason why a replay is not simulated in parallel segments; "" if it can be.

    Parameters
    ----------
    system : System
        The system, with a number of slots.
    mapping : TraceMapping
        How the requests become arrivals.

    Returns
    -------
    str
        The reason.
    """
    if mapping.depth is not None:
        return "in a closed loop, arrivals depend on all earlier requests"
    if system.lasting_states:
        return f"the state of {', '.join(system.lasting_states)} depends on all earlier requests"
    if not (system.write.over_when_completed or isinstance(system.write, AllCopies)):
        return (
            f"{type(system.write).__name__} still writes after a write has completed, which response times do not show"
        )
    if _per_batch(system) < 2:
        return f"with {system.slots} slots, a batch has only one run"
    fewest = max(LONG, _per_batch(system) * _before(system))
    return f"the trace has fewer than {fewest} requests" if mapping.outline.requests < fewest else ""


def _per_batch(system: System) -> int:
    """Return the number of segments of a batch. Each counts at least four times the requests that it simulates before."""
    cpu, devices = jax.default_backend() == "cpu", len(jax.devices())
    most = width(2, state_size=system.slots * SLOT_BYTES) if cpu else WIDE
    return min(most, TOGETHER // (4 * _before(system)) // devices * devices)


def _drives(system: System) -> int:
    return int(np.max(system.placement.drives))


def _before(system: System) -> int:
    return min(max(BEFORE, BEFORE_PER_DRIVE * _drives(system)), MOST_BEFORE)


class Ending(NamedTuple):
    """The requests before a segment, in the segment that precedes it.

    Parameters
    ----------
    response : array of float, shape `[request]`
        Response times, seconds.
    complete : bool
        Whether all earlier requests have completed when the segment begins to count.
    """

    response: np.ndarray
    complete: bool


class SegmentBatch:
    """Successive segments of a trace that are simulated together, with one run for each segment.

    Parameters
    ----------
    edges : array of int, shape `[segment + 1]`
        Numbers of the first request that each segment counts, and the end of the last segment.
    before : int
        Number of requests that a segment simulates before these.
    time : array of float, shape `[request]`
        Arrival times of the requests from the first request of the first segment on, seconds.
    """

    def __init__(self, edges: np.ndarray, before: int, time: np.ndarray):
        self.edges, self._time = edges, time
        self.first = np.maximum(edges[:-1] - before, 0)
        count, most = len(self.first), int(np.max(edges[1:] - self.first))
        # by segment, from its first request on; seconds
        self.response = np.full((count, most), np.nan, np.float32)
        # whether every drive has had an access before the requests that the segment counts
        self._accessed = self.first == 0
        self._completed, self._admitted = np.zeros(count, int), np.zeros(count, int)
        # number of steps since a request of each segment has last entered or completed
        self._idle = np.zeros(count, int)

    @property
    def counted(self) -> np.ndarray:
        """First and last number of admitted requests between which each segment counts events, see `Run`."""
        return np.stack([self.edges[:-1], self.edges[1:]])

    @property
    def incomplete(self) -> np.ndarray:
        """Mask of the segments that have not completed the requests that they count."""
        return self._completed < np.diff(self.edges)

    def unfinished(self, requests: int) -> bool:
        """Return whether a segment has not simulated all requests and events that it counts.

        requests: number of requests of the trace.
        """
        passed = (self._admitted > self.edges[1:]) | (self.edges[1:] == requests)
        return bool(np.any(self.incomplete | ~passed))

    def add(self, log: Any, run: Run, drives: int) -> None:
        """Add the response times of further events.

        Parameters
        ----------
        log : pytree of arrays
            The responses, see `ResponseLog`.
        run : Run
            The runs after these events.
        drives : int
            Number of drives that the placement uses.

        Raises
        ------
        SegmentsDiffer
            If no request enters or completes in many steps.
        """
        happened = log.number != NO_REQUEST
        segment, number, response = np.nonzero(happened)[-1], log.number[happened], log.response[happened]
        within = number < self.edges[1:][segment]
        segment, number = segment[within], number[within]
        self.response[segment, number - self.first[segment]] = response[within]
        before = self._completed + self._admitted
        self._completed = self._completed + np.bincount(
            segment[number >= self.edges[segment]], minlength=len(self.first)
        )
        self._admitted = np.asarray(run.first)[0]
        planned = np.asarray(run.state.drives.plan.number)[:drives] != NO_REQUEST
        self._accessed |= planned.all(axis=0) & (self._admitted <= self.edges[:-1])
        moved = (self._completed + self._admitted > before) | happened.any(axis=(0, 1, 2))
        self._idle = np.where(moved | ~self.incomplete, 0, self._idle + 1)
        if np.any(self._idle > PATIENCE):
            raise SegmentsDiffer("no request of a segment enters or completes in many events")

    def overloaded(self, end: int) -> bool:
        """Return whether a segment has admitted all requests before `end`, and has not completed the requests it counts."""
        return bool(np.any(self.incomplete & (self._admitted >= end)))

    def require_continuous(self, preceding: Ending | None) -> None:
        """Raise SegmentsDiffer unless each segment continues the preceding segment.

        Parameters
        ----------
        preceding : Ending or None
            The end of the preceding batch; None for the first batch.
        """
        if not np.all(self._accessed):
            raise SegmentsDiffer(
                f"a drive has no access before request {self.edges[np.argmin(self._accessed)]}, so that the position of its "
                "arm is unknown"
            )
        segments = range(len(self.first))
        ends = [preceding, *(self.ending(segment, self._before(segment + 1)) for segment in segments[:-1])]
        wrong = [
            segment for segment in segments if self.first[segment] > 0 and not self._continues(segment, ends[segment])
        ]
        if wrong:
            raise SegmentsDiffer(
                f"{len(wrong)} of {len(segments)} segments, the first from request {self.edges[wrong[0]]} on, have other "
                "requests in the system than the end of the preceding segment, as in an overloaded system"
            )

    def ending(self, segment: int, before: int) -> Ending:
        """Return the last `before` requests of a segment, for the segment after it."""
        end = self.edges[segment + 1]
        response = self.response[segment, : end - self.first[segment]]
        completed = self._arrival(self.first[segment], end - before) + response[: len(response) - before]
        return Ending(response[len(response) - before :], bool(np.all(completed <= self._arrival(end, end + 1))))

    def _before(self, segment: int) -> int:
        return int(self.edges[segment] - self.first[segment])

    def _arrival(self, start: int, stop: int) -> np.ndarray:
        return self._time[start - self.first[0] : stop - self.first[0]]

    def _continues(self, segment: int, ending: Ending | None) -> bool:
        """Return whether a segment continues the preceding segment: whether response times before the segment are equal.

        All requests that are in the system at the beginning of the segment must have equal response times. So must
        enough of the earlier requests, and most of the latest quarter of them.
        """
        assert ending is not None
        before, edge = self._before(segment), self.edges[segment]
        here = self.response[segment, :before]
        equal = np.abs(here - ending.response) <= SAME
        longest = np.maximum(here, ending.response)
        outstanding = ~(self._arrival(self.first[segment], edge) + longest <= self._arrival(edge, edge + 1))
        return bool(
            ending.complete
            and np.all(equal[outstanding])
            and _longest_run(equal) >= EQUAL * before
            and np.mean(equal[-max(1, before // 4) :]) >= EQUAL_AT_END
        )

    def counted_responses(self, segment: int) -> np.ndarray:
        """Return the response times of the requests that a segment counts, seconds."""
        start, stop = self.edges[segment : segment + 2] - self.first[segment]
        return self.response[segment, start:stop]


def _longest_run(mask: np.ndarray) -> int:
    """Return the largest number of successive true values."""
    bounds = np.flatnonzero(~np.concatenate([[False], mask, [False]]))
    return int(np.diff(bounds).max()) - 1


class SegmentedReplay:
    """Replay of a trace in parallel segments.

    Parameters
    ----------
    system : System
        The system, with a number of slots.
    trace : RequestTrace or TraceFile
        The trace.
    mapping : TraceMapping
        How its requests become arrivals.
    seed : int
        Seed of the phases of the spindles.
    measures : sequence of Measure
        Measures to collect.
    """

    def __init__(
        self, system: System, trace: RequestTrace | TraceFile, mapping: TraceMapping, seed: int,
        measures: Sequence[Measure],
    ):  # fmt: skip
        self._system, self._requests = system, mapping.outline.requests
        self._before, self._per_batch = _before(system), _per_batch(system)
        self._key = np.tile(keys([seed]), (1, self._per_batch))
        self._record = Record(sums_of(measures), ResponseLog())
        self._runner: Runner | None = None
        self._blocks = Blocks(trace, mapping, ROWS)
        self.results = ReplayResults(self._requests, None if isinstance(trace, TraceFile) else trace.read)
        # time at which the first request of the present block arrives, seconds
        self._time = 0.0
        # the end of the preceding batch
        self._ending: Ending | None = None

    @property
    def wrapping(self) -> float:
        """Share of the requests whose addresses wrap around."""
        return self._blocks.wrapping

    @property
    def segments(self) -> int:
        """Number of segments."""
        return self._per_batch * self._batches

    @property
    def _batches(self) -> int:
        return -(-self._requests // TOGETHER)

    def run(self, last: bool) -> None:
        """Replay the trace. Unless this attempt is the last one, stop as soon as a request waits for a slot.

        Raises
        ------
        SegmentsDiffer
            If a segment does not continue the preceding segment.
        """
        edges = self._requests * np.arange(self.segments + 1) // self.segments
        with tqdm(total=self._requests, desc="replaying", unit="req", delay=2, leave=False) as bar:
            for begin in range(0, self.segments, self._per_batch):
                if not self._simulate(edges[begin : begin + self._per_batch + 1], last, bar):
                    return

    def _simulate(self, edges: np.ndarray, last: bool, bar: tqdm) -> bool:
        """Simulate a batch, and add its results. Return false if it ended early because a request waited for a slot."""
        row = max(int(edges[0]) - self._before, 0)
        arrivals = self._blocks.starting_at(row)
        # the engine adds up these rounded times between arrivals
        gaps = (np.asarray(arrivals.gap, np.float32) / np.float32(arrivals.scale)).astype(np.float64)
        time = self._time + np.concatenate([[0.0], np.cumsum(gaps[:-1])])
        batch = SegmentBatch(edges, self._before, time)
        runner = self._begun(batch, arrivals, time[batch.first - row])
        end = row + self._blocks.rows
        while batch.unfinished(self._requests):
            tally, log = runner.advance(STRIDE)
            self.results.add_sums(tally)
            batch.add(log, runner.run, _drives(self._system))
            bar.update(min(self.results.completed, self._requests) - bar.n)
            if not last and self.results.waited > 0:
                return False
            if end < self._requests and batch.overloaded(end):
                raise SegmentsDiffer(
                    "a segment does not complete its requests before the requests after it have arrived"
                )
        batch.require_continuous(self._ending)
        self._add_responses(batch, arrivals)
        if edges[-1] < self._requests:
            self._ending = batch.ending(self._per_batch - 1, self._before)
            self._time = float(time[edges[-1] - self._before - row])
        return True

    def _begun(self, batch: SegmentBatch, arrivals: RecordedArrivals, time: np.ndarray) -> Runner:
        """Return the runs of a batch before their first event, at the angles of the spindles at the times `time`."""
        scenario = Scenario(self._system, arrivals)
        if self._runner is None:
            self._runner = Runner(scenario, self._key, self._record)
        else:
            self._runner.feed(scenario.arrivals)
        drives = np.arange(self._system.drives, dtype=np.int32)[:, None]
        turn = np.asarray(self._system.drive.mechanics_of(drives).seconds(np.float32(1)), np.float64)
        # a drive that does not rotate has a revolution of no duration, and its angle has no effect
        turn = np.where(turn > 0, turn, 1.0)
        phase = np.asarray(phases(random_phases(self._key, len(drives)), self._system), np.float64)
        self._runner.begin_at(batch.first, batch.counted, (phase + time % turn / turn) % 1.0)
        return self._runner

    def _add_responses(self, batch: SegmentBatch, arrivals: RecordedArrivals) -> None:
        number = np.arange(batch.edges[0], batch.edges[-1])
        response = np.concatenate([batch.counted_responses(segment) for segment in range(self._per_batch)])
        row = number - batch.first[0]
        read, asynchronous = np.asarray(arrivals.requests.read), np.asarray(arrivals.requests.asynchronous)
        self.results.add_responses(number, response, read[row], asynchronous[row])
