"""`storagekit replay`: a trace on an SR-Mirror, and on bricks with memory, one of them slow or down."""

import json

import pytest
from typer.testing import CliRunner

from storagekit.cli.catalogue import dispatchers, schedulers, writes
from storagekit.cli.main import app
from storagekit.core.errors import InputError
from storagekit.core.resources import data_path
from storagekit.drive import load_drive
from storagekit.simulation import segments

SAMPLE = str(data_path("samples", "small.spc"))


def run(*arguments):
    return CliRunner().invoke(app, ["replay", SAMPLE, "--drive", "cheetah9lp", *arguments], standalone_mode=False)


def test_a_trace_on_an_sr_array_uses_all_its_disks():
    result = run("--layout", "2x3x1", "--json")
    found = json.loads(result.stdout)
    assert found["requests"] == 2000 and len(found["utilization"]) == 6
    assert found["response_p50_ms"] < found["response_p99_ms"]


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        # the segments of the sample differ, because it is short
        ((), ["segments 1", "simulated on one core: "]),
        (("--sequential",), ["segments 1", "simulated on one core: sequential simulation was requested"]),
    ],
)
def test_a_long_trace_says_why_it_is_not_simulated_in_parallel(options, lines, monkeypatch):
    monkeypatch.setattr(segments, "LONG", 1000)
    printed = [" ".join(line.split()) for line in run(*options).stdout.splitlines()]
    for line in lines:
        assert any(one.startswith(line) for one in printed)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("2x3", "layout '2x3': give an SR-Mirror D_s x D_r x D_m such as 2x3x1"),
        ("axbxc", "layout 'axbxc': give an SR-Mirror D_s"),
        ("2x7x1", "D_r 7: it must be at most 6"),
        ("0x1x1", "striping 0: give a whole number"),
    ],
)
def test_an_invalid_layout_is_rejected(layout, message):
    result = run("--layout", layout)
    assert isinstance(result.exception, InputError) and message in str(result.exception)


def figures_of(*arguments) -> dict:
    return json.loads(run("--write", "immediate", "--json", *arguments).stdout)


@pytest.mark.slow
def test_responses_are_shorter_with_memory_and_longer_with_slow_bricks():
    plain, quick, slow = figures_of(), figures_of("--cache-mb", "64"), figures_of("--slow", "1=0.5")
    assert quick["response_mean_ms"] < plain["response_mean_ms"] < slow["response_mean_ms"]
    assert slow["utilization"][1] > plain["utilization"][1]


def test_a_brick_that_is_down_serves_nothing():
    found = figures_of("--stop", "0=0-5000")
    assert found["requests"] == 2000 and found["utilization"][0] == 0 and found["utilization"][1] > 0


def test_a_buffered_drive_completes_writes_sooner_and_has_no_claims():
    """Two fifths are writes. They occupy the arm longer than the host waits."""
    plain, buffered = figures_of("--dispatch", "hashing"), figures_of("--dispatch", "hashing", "--buffered")
    assert buffered["service_mean_ms"] < plain["service_mean_ms"]
    assert buffered["drive"] == plain["drive"] + ", buffered"
    result = run("--buffered")
    assert isinstance(result.exception, InputError) and "buffer" in str(result.exception)


class Built(Exception):
    """A system that `replay` would run."""


@pytest.fixture
def built(monkeypatch):
    """The system that `replay` builds from these arguments, or the error that a user sees."""

    def stop(trace, system, **options):
        raise Built(system)

    monkeypatch.setattr("storagekit.simulation.replay", stop)

    def build(*arguments):
        fault = run(*arguments).exception
        assert isinstance(fault, Built | InputError), f"{arguments}: {fault!r}"
        return fault.args[0] if isinstance(fault, Built) else fault

    return build


@pytest.mark.parametrize("dispatch", dispatchers())
def test_every_dispatcher_of_the_list_can_be_named(built, dispatch):
    """On two bricks, on four bricks with one slow and one down, and with every compatible write rule."""
    component = type(dispatchers()[dispatch]()) if dispatch == "central" else dispatchers()[dispatch]
    for bricks in ((), ("--replicas", "4", "--slow", "1=0.5", "--slow", "2=0")):
        assert isinstance(built("--dispatch", dispatch, *bricks).dispatch, component)
    for write in writes():
        rejected = built("--dispatch", dispatch, "--write", write)
        assert not isinstance(rejected, InputError) or (write == "background" and "\n" not in str(rejected))


@pytest.mark.parametrize("schedule", schedulers())
def test_every_scheduler_of_the_list_can_be_named(built, schedule):
    for layout in ((), ("--layout", "2x3x1")):
        assert isinstance(built("--schedule", schedule, *layout).schedule, schedulers()[schedule])


def test_least_completion_uses_the_mean_service_time(built):
    """The time is a mean seek, half a turn and the transfer: more than half a turn, less than the longest seek plus a
    turn.

    A brick of half the speed takes twice as long. A brick that is down counts as if it were up.
    """
    service = built(
        "--dispatch", "least-completion", "--replicas", "3", "--slow", "1=0.5", "--slow", "2=0"
    ).dispatch.service
    drive = load_drive("cheetah9lp")
    turn, longest = float(drive.revolution), float(drive.seek(drive.cylinders - 1))
    assert turn / 2 + float(drive.overhead) < service[0] < turn + longest
    assert [float(one / service[0]) for one in service] == pytest.approx([1, 2, 1])


def test_least_completion_uses_queues_and_randomized_does_not():
    slow = ("--slow", "1=0.5")
    least, drawn = (figures_of("--dispatch", name, *slow) for name in ("least-completion", "randomized"))
    assert least["requests"] == drawn["requests"] == 2000
    assert least["response_p95_ms"] < 0.9 * drawn["response_p95_ms"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--slow", "1"), "--slow '1': give BRICK=SPEED"),
        (("--detection", "5"), "--detection without --stop"),
        (("--slow", "1=2"), "speed 2 of brick 1"),
        (("--slow", "7=0.5"), "a slowdown of brick 7"),
        (("--stop", "0=9"), "--stop '0=9': give BRICK=FIRST-LAST"),
        (("--cache-mb", "-1"), "cache of -1048576 bytes"),
    ],
)
def test_impossible_bricks_are_rejected(arguments, message):
    result = run(*arguments)
    assert isinstance(result.exception, InputError) and message in str(result.exception)
