"""Replay a trace on a system, to measure the response times of the requests and the load of the disks.

A trace of any length is simulated in blocks of requests, so that memory stays constant.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr
from tqdm import tqdm

from storagekit.core.checkpoint import Checkpoint
from storagekit.core.validation import flag, instance_of
from storagekit.engine import NO_REQUEST, Record, ResponseLog, Runner, Scenario, System, keys
from storagekit.engine.batch import STRIDE, steps
from storagekit.engine.run import CHUNK
from storagekit.simulation.content_hash import ContentHash, made_with
from storagekit.simulation.measures import Measure, sums_of
from storagekit.simulation.overload import overload_reasons
from storagekit.simulation.provenance import provenance
from storagekit.simulation.provisioning import Attempt, run_with_enough_slots, slot_steps
from storagekit.simulation.replay_results import ReplayResults, under
from storagekit.simulation.run_length import run_length
from storagekit.simulation.segments import SegmentedReplay, SegmentsDiffer, reason_not_parallel
from storagekit.simulation.standard_measures import beside
from storagekit.simulation.trace_blocks import Blocks
from storagekit.workload.recorded import TraceMapping
from storagekit.workload.trace import RequestTrace, TraceFile
from storagekit.workload.trace.stored import outline_of

OF_ACCESS = ("seek", "rotation", "transfer")
# largest number of requests of a block
ROWS = 2**17
# number of requests that a step can look at: each event admits at most one, and a chunk is generated in advance
REACH = (STRIDE + 1) * CHUNK


def replay(
    trace: RequestTrace | TraceFile, system: System, *, scale: float = 1.0, seed: int = 0, measures: Sequence[Measure] = (),
    depth: int | None = None, checkpoint: str | Path | None = None, parallel: bool = True,
) -> xr.Dataset:  # fmt: skip
    """Simulate the requests of a trace on a system, at the trace's times divided by `scale`, or in a closed loop.

    Requests may wait for a slot. Such requests are counted in `blocked`. A system without `slots` is simulated with 64,
    then 256, then 1,024 slots until no request waits. A trace in a file of any length needs constant memory.

    Parameters
    ----------
    trace : RequestTrace or TraceFile
        The trace: in memory (`read_trace`), or in its file (`open_trace`).
    system : System
        The system.
    scale : float
        Factor by which the trace runs faster than it was recorded, by default 1.
    seed : int
        Seed of the phases of the spindles, by default 0.
    measures : sequence of Measure
        Measures in addition to the standard measures, by default none.
    depth : int, optional
        Number of outstanding requests of a closed loop: the next request of the trace arrives when a request completes.
        By default the requests arrive at the times of the trace.
    checkpoint : str or Path, optional
        File to which the state of the simulation is saved every 30 seconds. If the file exists, the simulation continues
        from it, with the same result as without the interruption. The file is deleted at the end. The requests are then
        simulated one after the other, as without `parallel`.
    parallel : bool
        Whether a long trace may be simulated in parallel segments, by default True. See the notes.

    Returns
    -------
    Dataset
        The measures of `simulate` over the whole trace. For each request (dimension `request`) of a trace in memory there
        are also its `response_time`, and `read`, which is true for a read. The quantiles of the response time (dimension
        `quantile`) include the first request. They are exact for up to four million requests, and accurate to 0.1%
        beyond. `wrapped` is the share of the requests whose addresses wrap around at the end of the system. The
        attributes `busiest_brick` and `bottleneck` name the busiest brick and the largest part of the access time. The
        attribute `overloaded` has the reasons if the system is overloaded, as in `compare`, and is empty otherwise. The
        attribute `segments` is the number of parallel segments. It is 1 if the requests were simulated one after the other;
        the attribute `not_parallel` then has the reason.

    Raises
    ------
    InputError
        If the arguments are not a trace and a system, or the checkpoint belongs to another replay.

    Notes
    -----
    A trace of at least 262,144 requests is simulated in parallel segments, on all cores, if the state of the system
    depends only on the requests in it: no cache, buffer, delayed write, fault or fair queue, and no writes that complete
    before all copies are written. Each segment begins with an empty system, and simulates at least 2,048 requests before the
    first request that it counts. The preceding segment simulates these requests too, so that their response times can be
    compared. They are equal if they differ by at most 0.1 ms. They must be equal for a quarter of the requests in succession,
    for 95% of the last quarter, and for all requests that are in the system when the segment begins to count. Every drive
    must have had an access. Then the segments together are the simulation of the whole trace. If one segment does not agree,
    for example because the system is overloaded, the requests are simulated one after the other. Parallel and sequential
    simulation round times differently. Two accesses with almost equal times may therefore be served in another order. This
    changes some response times, until the queues are empty again.

    Examples
    --------
    >>> import storagekit as sk
    >>> trace = sk.read_trace(sk.resources.data_path("samples", "small.spc"))
    >>> drives = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.SATF())
    >>> seen = sk.replay(trace, drives)
    >>> slow = seen.response_quantile.sel(quantile=0.99)
    >>> f"{float(seen.response) / sk.units.MS:.0f} ms on average, 99% within {float(slow) / sk.units.MS:.0f} ms"
    '11 ms on average, 99% within 29 ms'
    """
    order = "; the arguments of replay are a trace and a system, in this order"
    kinds, a_trace = (RequestTrace, TraceFile), 'a trace, such as sk.read_trace("trace.spc")'
    instance_of(kinds, a_trace + order)("the trace of a replay", trace)
    instance_of(System, f"a System(...){order}")("the system of a replay", system)
    outline = outline_of(trace)
    mapping = TraceMapping(outline, int(system.placement.capacity(system.drive)), scale, depth=depth)
    flag("parallel", parallel)
    measured, began = beside(measures), time.perf_counter()
    scenario = Scenario(system, Blocks(trace, mapping, ROWS).starting_at(0))
    saved, sequential = None, "" if parallel else "sequential simulation was requested"
    if checkpoint is not None:
        settings = (system, outline.digest, scale, depth, seed, measured, isinstance(trace, TraceFile))
        saved = Checkpoint(Path(checkpoint), ContentHash().of((settings, made_with())))
        saved.require_writable()
        sequential = "a checkpoint was given"
    tried = slot_steps([scenario])
    attempts = _Attempts(trace, mapping, seed, measured, saved, tried[-1])
    attempts.not_parallel = sequential
    (data, _), _ = run_with_enough_slots(attempts.run, [scenario], tried)
    if saved is not None:
        saved.remove()
    facts = run_length(outline.requests, None, 0).facts
    responses, data = data.part_response.values, data.drop_vars("part_response")
    data.attrs = provenance([scenario], {}, [seed], facts, time.perf_counter() - began) | {
        "basis": "trace",
        "trace": outline.source.name,
        "scale": float(scale),
        "depth": depth or 0,
        "busiest_brick": int(np.argmax(data.utilization.values)),
        "bottleneck": max(OF_ACCESS, key=lambda part: float(data[part])),
        "segments": attempts.segments,
        "not_parallel": attempts.not_parallel,
        "overloaded": overload_reasons(
            outline.requests,
            float(data.blocked) / outline.requests,
            data.utilization.values,
            responses,
            depth is not None,
        ),
    }
    return data


class _Attempts:
    """Attempts to replay a trace, with increasing numbers of slots."""

    def __init__(
        self, trace: RequestTrace | TraceFile, mapping: TraceMapping, seed: int, measures: tuple[Measure, ...],
        saved: Checkpoint | None, most_slots: int,
    ):  # fmt: skip
        self._trace, self._mapping, self._seed, self._measures = trace, mapping, seed, measures
        self._saved, self._most_slots = saved, most_slots
        self.segments = 1
        # why the requests are simulated one after the other; empty if they are simulated in parallel segments
        self.not_parallel = ""

    def run(self, scenarios: list[Scenario]) -> Attempt:
        """Replay the trace. Unless this attempt is the last one, stop as soon as a request waits for a slot."""
        [scenario] = scenarios
        system, last = scenario.system, scenario.system.slots == self._most_slots
        self.not_parallel = self.not_parallel or reason_not_parallel(system, self._mapping)
        if not self.not_parallel:
            segmented = SegmentedReplay(system, self._trace, self._mapping, self._seed, self._measures)
            try:
                segmented.run(last)
                self.segments = segmented.segments
                return self._roomed(system, segmented)
            except SegmentsDiffer as found:
                self.segments, self.not_parallel = 1, str(found)
        before = self._saved and self._saved.load()
        if before is not None and before["slots"] > system.slots:
            return Attempt(xr.Dataset(), np.inf)
        replaying = _Replaying(scenario, self._trace, self._mapping, self._seed, self._measures)
        # an attempt with fewer slots is over
        if before is not None and before["slots"] == system.slots:
            replaying.resume(before)
        replaying.run(self._saved, last)
        return self._roomed(system, replaying)

    def _roomed(self, system: System, replay: "SegmentedReplay | _Replaying") -> Attempt:
        if isinstance(self._trace, TraceFile):
            self._trace.require_unchanged()
        data = replay.results.data(int(system.placement.drives), self._measures)
        data["wrapped"] = ((), replay.wrapping, {"units": "1"})
        return Attempt(data, replay.results.waited)


class _Replaying:
    """One attempt to replay a trace request after request, with a given number of slots."""

    def __init__(
        self, scenario: Scenario, trace: RequestTrace | TraceFile, mapping: TraceMapping, seed: int,
        measures: tuple[Measure, ...],
    ):  # fmt: skip
        self._scenario, self._requests = scenario, mapping.outline.requests
        self._runner = Runner(scenario, keys([seed])[:, 0], Record(sums_of(measures), ResponseLog()))
        self._blocks = Blocks(trace, mapping, ROWS)
        self.results = ReplayResults(self._requests, None if isinstance(trace, TraceFile) else trace.read)

    @property
    def wrapping(self) -> float:
        return self._blocks.wrapping

    def resume(self, before: Mapping[str, np.ndarray]) -> None:
        """Continue from a saved state."""
        self._runner.resume(list(under(before, "run").values()))
        self.results.resume(before)

    def run(self, saved: Checkpoint | None, last: bool) -> None:
        """Replay the trace, or the rest of it. If `last` is false, stop as soon as a request waits for a slot."""
        self._feed()
        done = self.results.completed
        with tqdm(total=self._requests, initial=done, desc="replaying", unit="req", delay=2, leave=False) as bar:
            for tally, log in steps(self._runner, self._requests - done):
                self.results.add_sums(tally)
                happened = log.number != NO_REQUEST
                columns = (log.number, log.response, log.read, log.asynchronous)
                self.results.add_responses(*(column[happened] for column in columns))
                bar.update(min(self.results.completed, self._requests) - bar.n)
                if not last and self.results.waited > 0:
                    break
                if not self._blocks.reaches(self._runner.admitted + REACH):
                    self._feed()
                if saved is not None and saved.due:
                    saved.save(self._state())

    def _feed(self) -> None:
        arrivals = self._blocks.starting_at(self._runner.admitted)
        # the system checks the sizes of the requests of every block
        self._runner.feed(Scenario(self._scenario.system, arrivals).arrivals)

    def _state(self) -> dict[str, np.ndarray]:
        """Return everything from which the replay continues, as arrays by name."""
        found = {"slots": np.array(self._scenario.system.slots)}
        found |= {f"run {index:04}": leaf for index, leaf in enumerate(self._runner.state())}
        return found | self.results.state()
