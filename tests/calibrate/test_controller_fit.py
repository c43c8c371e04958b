"""Controllers fitted to service times: a simulated drive's figures are recovered, and models of measured drives
improve.
"""

import numpy as np
import pytest
from helpers import assert_refused, shared

from storagekit.calibrate.controller_fit import fit_controller
from storagekit.calibrate.demerit import demerit
from storagekit.calibrate.measured_drive import buffered_service
from storagekit.core.units import MS
from storagekit.drive import load_controller, load_drive
from storagekit.drive.controller import controller, controller_facts
from storagekit.workload.trace import RequestTrace, read, request_trace

DRIVE = load_drive("cheetah9lp")


def stream(count: int, seed: int = 0) -> RequestTrace:
    """Reads and writes, two fifths of them sequential, with pauses of some milliseconds."""
    random = np.random.default_rng(seed)
    first, sectors = random.integers(0, DRIVE.capacity - 10_000, count), random.integers(1, 33, count)
    for at in np.flatnonzero(random.random(count) < 0.4)[1:]:
        first[at] = min(first[at - 1] + sectors[at - 1], DRIVE.capacity - 100)
    pause = random.exponential(5 * MS, count)
    columns = (np.arange(float(count)), np.zeros(count), first * 512, sectors * 512, random.random(count) < 0.7)
    return request_trace(*columns, measured_response=np.ones(count), think=pause)


def measured(trace: RequestTrace, service: np.ndarray) -> RequestTrace:
    columns = (trace.time, trace.device, trace.offset, trace.size, trace.read)
    return request_trace(*columns, measured_response=service, think=trace.think)


def test_the_controller_of_a_simulated_drive_is_recovered():
    """Other overheads and another bus: from times with a noise of 0.02 ms the fit finds all identified figures, within
    four standard errors and 0.02 ms."""
    start = load_controller("cheetah9lp")
    overheads = start.overheads._replace(read_hit_after_read=0.6 * MS, read_miss_after_read=0.2 * MS)
    overheads = overheads._replace(write_hit_after_read=0.9 * MS)
    true = start._replace(overheads=overheads, bus=start.bus._replace(read=0.15 * MS, write=0.12 * MS))
    trace = stream(400)
    noise = np.random.default_rng(1).normal(0, 0.02 * MS, 400)
    service = np.maximum(buffered_service(trace, DRIVE, true)[:, 0] + noise, 1e-6)
    found = fit_controller(measured(trace, service), DRIVE, start)
    table = found.table.set_index(parameter="parameter")
    identified = table.parameter.values[table.identified.values].tolist()
    assert {"overheads.read_hit_after_read", "overheads.write_hit_after_read", "bus.read", "bus.write"} <= {*identified}
    for name in identified:
        group, field = name.split(".")
        one, value = table.sel(parameter=name), getattr(getattr(true, group), field)
        assert abs(float(one.fitted) - value) < 4 * float(one.standard_error) + 0.02 * MS, name
    # it may find either value of `stops_in_sector`, which changes times by microseconds
    assert found.controller.buffer._replace(stops_in_sector=False) == start.buffer
    assert found.table.attrs["demerit_fitted"] < found.table.attrs["demerit_start"] / 3


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file", "least"), [("atlas10k", "atlas10k", 1 / 3), ("hp_c2247a", "hp_c2247a", 0.0)])
def test_a_model_fitted_on_the_first_half_is_no_worse_on_the_second(name, file, least):
    """The measure is the demerit over all requests. The log of the C2247A agrees with all figures of its file."""
    trace = read(shared("traces", "disksim-valid", f"{file}.trace.xz"))
    half, drive, start = len(trace) // 2, load_drive(name), load_controller(name)
    found = fit_controller(trace.take(slice(0, half)), drive, start).controller
    rest = trace.take(slice(half, None))
    far = [demerit(buffered_service(rest, drive, one)[:, 0], rest.measured_response) for one in (start, found)]
    assert far[1] <= far[0] * (1 - least)


def test_figures_of_a_drive_file_are_read_back():
    for name in ("atlas10k", "hp_c2247a", "st41601n"):
        original = load_controller(name)
        again = controller(controller_facts(original), name)
        assert again.buffer == original.buffer and (again.extra is None) == (original.extra is None)
        figures = [one.overheads + one.bus + tuple(one.extra or ()) for one in (again, original)]
        assert figures[0] == pytest.approx(figures[1], rel=1e-12)


@pytest.mark.slow
def test_figures_that_a_log_does_not_determine_are_kept():
    """The log has only reads, so the overheads of writes and the bus time of a written sector are kept."""
    trace = stream(600)
    reads = request_trace(
        trace.time, trace.device, trace.offset, trace.size, np.ones(600, bool),
        measured_response=trace.measured_response, think=trace.think,
    )  # fmt: skip
    start = load_controller("cheetah9lp")
    service = buffered_service(reads, DRIVE, start)[:, 0]
    found = fit_controller(measured(reads, service), DRIVE, start)
    kept = found.table.parameter.values[~found.table.identified.values].tolist()
    assert "bus.write" in kept and "overheads.write_hit_after_read" in kept and "bus.read" not in kept
    assert found.controller.bus.write == start.bus.write
    assert "not identified, unchanged" in str(found)


def test_a_log_that_is_too_short_is_rejected():
    trace = stream(60)
    assert_refused(
        lambda: fit_controller(trace, DRIVE, load_controller("cheetah9lp")), "a fit needs 50; give a longer log"
    )
