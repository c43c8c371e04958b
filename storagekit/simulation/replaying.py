"""Replay a trace on a system, to measure the response times of the requests and the load of the disks.

A trace of any length is simulated in blocks of requests, so that memory stays constant.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from storagekit.core.checkpoint import Checkpoint
from storagekit.core.errors import InputError
from storagekit.core.streaming_quantiles import StreamingQuantiles
from storagekit.core.validation import instance_of
from storagekit.engine import NO_REQUEST, Record, ResponseLog, Runner, Scenario, System, keys
from storagekit.engine.batch import STRIDE, steps
from storagekit.engine.run import CHUNK
from storagekit.simulation.content_hash import ContentHash, made_with
from storagekit.simulation.measures import Measure, measured, sums_of
from storagekit.simulation.overload import PARTS, overload_reasons, part_length
from storagekit.simulation.provenance import provenance
from storagekit.simulation.provisioning import Roomed, rungs, with_room
from storagekit.simulation.quantiles import ALL, READS, WRITES, from_streams
from storagekit.simulation.run_length import extent
from storagekit.simulation.standard_measures import beside
from storagekit.workload import RecordedArrivals
from storagekit.workload.recorded import TraceMapping
from storagekit.workload.trace import RequestTrace, TraceFile
from storagekit.workload.trace.records import joined
from storagekit.workload.trace.stored import outline_of

OF_ACCESS = ("seek", "rotation", "transfer")
# number of requests of a block, and of the block of a short trace; few lengths, so that traces share programs
ROWS, FEWEST_ROWS = 2**17, 2**11
# number of requests that a step can look at: each event admits at most one, and a chunk is generated in advance
REACH = (STRIDE + 1) * CHUNK


def replay(
    trace: RequestTrace | TraceFile, system: System, *, scale: float = 1.0, seed: int = 0, measures: Sequence[Measure] = (),
    depth: int | None = None, checkpoint: str | Path | None = None,
) -> xr.Dataset:  # fmt: skip
    """Simulate the requests of a trace on a system, at the trace's times divided by `scale`, or in a closed loop.

    Requests may wait for a slot. Such requests are counted in `held_up`. A system without `slots` is simulated with 64,
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
        from it, with the same result as without the interruption. The file is deleted at the end.

    Returns
    -------
    Dataset
        The measures of `simulate` over the whole trace. For each request (dimension `request`) of a trace in memory there
        are also its `response_time`, and `read`, which is true for a read. The quantiles of the response time (dimension
        `quantile`) include the first request. They are exact for up to four million requests, and accurate to 0.1%
        beyond. `wrapped` is the share of the requests whose addresses wrap around at the end of the system. The
        attributes `busiest_brick` and `bottleneck` name the busiest brick and the largest part of the access time. The
        attribute `overloaded` has the reasons if the system is overloaded, as in `compare`, and is empty otherwise.

    Raises
    ------
    InputError
        If the arguments are not a trace and a system, or the checkpoint belongs to another replay.

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
    asked, began = beside(measures), time.perf_counter()
    scenario = Scenario(system, Blocks(trace, mapping).starting_at(0))
    saved = None
    if checkpoint is not None:
        settings = (system, outline.digest, scale, depth, seed, asked, isinstance(trace, TraceFile))
        saved = Checkpoint(Path(checkpoint), ContentHash().of((settings, made_with())))
        saved.require_writable()
    tried = rungs([scenario])

    def attempt(scenarios: list[Scenario]) -> Roomed:
        replaying = _Replaying(scenarios[0], trace, mapping, seed, asked)
        return replaying.run(saved, last=scenarios[0].system.slots == tried[-1])

    (data, _), _ = with_room(attempt, [scenario], tried)
    if saved is not None:
        saved.remove()
    told = extent(outline.requests, None, 0).told
    responses, data = data.part_response.values, data.drop_vars("part_response")
    data.attrs = provenance([scenario], {}, [seed], told, time.perf_counter() - began) | {
        "basis": "trace",
        "trace": outline.source.name,
        "scale": float(scale),
        "depth": depth or 0,
        "busiest_brick": int(np.argmax(data.utilization.values)),
        "bottleneck": max(OF_ACCESS, key=lambda part: float(data[part])),
        "overloaded": overload_reasons(
            outline.requests,
            float(data.held_up) / outline.requests,
            data.utilization.values,
            responses,
            depth is not None,
        ),
    }
    return data


class Blocks:
    """The arrivals of a trace in blocks of equal length, so that all blocks share a program.

    Parameters
    ----------
    trace : RequestTrace or TraceFile
        The trace.
    mapping : TraceMapping
        How its requests become arrivals.
    """

    def __init__(self, trace: RequestTrace | TraceFile, mapping: TraceMapping):
        self._mapping, self._requests = mapping, mapping.outline.requests
        self._rows = min(ROWS, max(FEWEST_ROWS, 2 ** (self._requests - 1).bit_length()))
        self._parts = trace.parts() if isinstance(trace, TraceFile) else iter([trace])
        self._held: RequestTrace | None = None
        self._first = self._wrapping = 0

    def starting_at(self, number: int) -> RecordedArrivals:
        """Return the block that begins with request `number`, which is not before the previous block.

        Raises
        ------
        InputError
            If the file of the trace has become shorter.
        """
        # after the last request has entered, its infinite gap is still needed
        number = min(number, self._requests - 1)
        held, left = self._from(number, self._held), self._requests - number
        while held is None or len(held) < min(self._rows + 1, left):
            part = self._next()
            held = self._from(number, part if held is None else joined([held, part]))
        self._held = held = held.take(slice(0, left))
        after = held.time[self._rows] - held.time[self._rows - 1] if len(held) > self._rows else np.inf
        return self._mapping.arrivals(held.take(slice(0, self._rows)), number, float(after), self._rows)

    def suffices(self, admitted: int) -> bool:
        """Return whether the block has all requests that one step can admit after the first `admitted` requests."""
        return min(admitted + REACH, self._requests) <= self._first + self._rows

    @property
    def wrapping(self) -> float:
        """Share of the requests whose addresses wrap around, among the requests that were read."""
        return self._wrapping / self._requests

    def _from(self, number: int, held: RequestTrace | None) -> RequestTrace | None:
        """Return the held requests from `number` on."""
        if held is None:
            return None
        before = min(number - self._first, len(held))
        self._first += before
        return held.take(slice(before, None))

    def _next(self) -> RequestTrace:
        part = next(self._parts, None)
        if part is None:
            name = self._mapping.outline.source.name
            raise InputError(f"{name} has fewer requests than before: do not change a trace during its replay")
        self._wrapping += self._mapping.wrapping(part)
        return part


class _Replaying:
    """One attempt to replay a trace, with a given number of slots."""

    def __init__(
        self, scenario: Scenario, trace: RequestTrace | TraceFile, mapping: TraceMapping, seed: int,
        measures: tuple[Measure, ...],
    ):  # fmt: skip
        self._scenario, self._trace, self._measures = scenario, trace, measures
        self._requests, self._each = mapping.outline.requests, part_length(mapping.outline.requests)
        self._read = None if isinstance(trace, TraceFile) else trace.read
        self._runner = Runner(scenario, keys([seed])[:, 0], Record(sums_of(measures), ResponseLog()))
        self._blocks = Blocks(trace, mapping)
        self._totals: dict[str, np.ndarray] = {}
        self._quantiles = {name: StreamingQuantiles() for name in (ALL, READS, WRITES)}
        # sums of the response times of each part of the requests, and numbers of requests
        self._parts = np.zeros((2, PARTS))
        # by request, for a trace in memory
        self._response = None if self._read is None else np.full(self._requests, np.nan)

    def run(self, saved: Checkpoint | None, last: bool) -> Roomed:
        """Replay the trace. Unless this attempt is the last one, stop as soon as a request waits for a slot."""
        slots = self._scenario.system.slots
        before = saved and saved.load()
        if before is not None:
            if before["slots"] > slots:
                return Roomed(xr.Dataset(), np.inf)
            # an attempt with fewer slots is over
            if before["slots"] == slots:
                self._resume(before)
        self._feed()
        with tqdm(total=self._requests, initial=self._done, desc="replaying", unit="req", delay=2, leave=False) as bar:
            for tally, log in steps(self._runner, self._requests - self._done):
                self._add(tally, log)
                bar.update(min(self._done, self._requests) - bar.n)
                if not last and self._totals["held_up"] > 0:
                    break
                if not self._blocks.suffices(self._runner.admitted):
                    self._feed()
                if saved is not None and saved.due:
                    saved.save(self._state())
        if isinstance(self._trace, TraceFile):
            self._trace.require_unchanged()
        return Roomed(self._data(), float(self._totals["held_up"].item()))

    @property
    def _done(self) -> int:
        return int(self._totals["answered"].item()) if self._totals else 0

    def _feed(self) -> None:
        arrivals = self._blocks.starting_at(self._runner.admitted)
        # the system checks the sizes of the requests of every block
        self._runner.feed(Scenario(self._scenario.system, arrivals).arrivals)

    def _add(self, tally: Mapping[str, np.ndarray], log: Any) -> None:
        for name, sums in tally.items():
            self._totals[name] = self._totals.get(name, 0.0) + sums.sum(axis=0, dtype=np.float64)
        answered = log.number != NO_REQUEST
        number, response, read, alone = (
            column[answered] for column in (log.number, log.response, log.read, log.asynchronous)
        )
        if self._response is not None:
            self._response[number] = response
        times, read, part = response[~alone].astype(np.float64), read[~alone], number[~alone] // self._each
        self._parts += [np.bincount(part, weights, PARTS) for weights in (times, None)]
        for name, some in ((ALL, times), (READS, times[read]), (WRITES, times[~read])):
            self._quantiles[name].add(some)

    def _data(self) -> xr.Dataset:
        bricks = int(self._scenario.system.placement.drives)
        totals = {name: total[:, None] for name, total in self._totals.items()}
        data = measured(totals, np.asarray([bricks]), self._measures).isel(lane=0).isel(brick=slice(0, bricks))
        if self._response is not None:
            described = {"units": "s", "long_name": "response time of each request"}
            data["response_time"] = ("request", self._response, described)
            data["read"] = ("request", self._read, {"long_name": "whether a request is a read"})
        data["wrapped"] = ((), self._blocks.wrapping, {"units": "1"})
        total, count = self._parts
        data["part_response"] = ("part", np.divide(total, count, out=np.full(PARTS, np.nan), where=count > 0))
        return data.merge(from_streams(self._quantiles))

    def _state(self) -> dict[str, np.ndarray]:
        """Return everything from which the replay continues, as arrays by name."""
        found = {"slots": np.array(self._scenario.system.slots)}
        found |= {f"run {index:04}": leaf for index, leaf in enumerate(self._runner.state())}
        found |= {f"total {name}": total for name, total in self._totals.items()}
        found["parts"] = self._parts
        for name, quantiles in self._quantiles.items():
            found |= {f"{name} {key}": values for key, values in quantiles.state().items()}
        return found if self._response is None else found | {"response": self._response}

    def _resume(self, saved: Mapping[str, np.ndarray]) -> None:
        def named(prefix: str) -> dict[str, np.ndarray]:
            start = f"{prefix} "
            return {name.removeprefix(start): saved[name] for name in sorted(saved) if name.startswith(start)}

        self._runner.resume(list(named("run").values()))
        self._totals, self._parts = named("total"), saved["parts"]
        for name, quantiles in self._quantiles.items():
            quantiles.resume(named(name))
        if self._response is not None:
            self._response = saved["response"]
