"""`storagekit replay`: a trace on an SR-Mirror, and on bricks with memory, of which one is slow or down."""

import json

import pytest
from typer.testing import CliRunner

from storagekit.cli.catalogue import dispatchers, schedulers, writes
from storagekit.cli.main import app
from storagekit.core.errors import InputError
from storagekit.core.resources import data_path
from storagekit.drive import load_drive

SAMPLE = str(data_path("samples", "small.spc"))


def run(*arguments):
    return CliRunner().invoke(app, ["replay", SAMPLE, "--drive", "cheetah9lp", *arguments], standalone_mode=False)


def test_a_trace_on_an_sr_array_uses_all_its_disks():
    result = run("--layout", "2x3x1", "--json")
    found = json.loads(result.stdout)
    assert found["requests"] == 2000 and len(found["utilization"]) == 6
    assert found["response_p50_ms"] < found["response_p99_ms"]


@pytest.mark.parametrize(
    ("layout", "complaint"),
    [
        ("2x3", "layout '2x3': write D_s, D_r and D_m as in 2x3x1"),
        ("axbxc", "layout 'axbxc': write D_s"),
        ("2x7x1", "D_r 7: it must be at most 6"),
        ("0x1x1", "striping 0: give a whole number"),
    ],
)
def test_a_layout_that_is_none_is_refused(layout, complaint):
    result = run("--layout", layout)
    assert isinstance(result.exception, InputError) and complaint in str(result.exception)


def told(*arguments) -> dict:
    return json.loads(run("--write", "immediate", "--json", *arguments).stdout)


@pytest.mark.slow
def test_bricks_with_memory_answer_sooner_and_slow_ones_later():
    plain, quick, slow = told(), told("--cache-mb", "64"), told("--slow", "1=0.5")
    assert quick["response_mean_ms"] < plain["response_mean_ms"] < slow["response_mean_ms"]
    assert slow["utilization"][1] > plain["utilization"][1]


def test_a_brick_that_is_down_serves_nothing():
    found = told("--stop", "0=0-5000")
    assert found["requests"] == 2000 and found["utilization"][0] == 0 and found["utilization"][1] > 0


def test_a_drive_with_its_buffer_answers_writes_sooner_and_is_no_drive_of_claims():
    """Two fifths are writes, behind which the arm is held longer than the host."""
    plain, buffered = told("--dispatch", "hashing"), told("--dispatch", "hashing", "--buffered")
    assert buffered["service_mean_ms"] < plain["service_mean_ms"]
    assert buffered["drive"] == plain["drive"] + ", buffered"
    result = run("--buffered")
    assert isinstance(result.exception, InputError) and "buffer" in str(result.exception)


class Built(Exception):
    """A system that `replay` would run."""


@pytest.fixture
def built(monkeypatch):
    """The system that `replay` builds of these arguments, or the error that a user sees."""

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
    """On two bricks, on four of which one is slow and one is down; with every write that goes with it."""
    member = type(dispatchers()[dispatch]()) if dispatch == "central" else dispatchers()[dispatch]
    for bricks in ((), ("--replicas", "4", "--slow", "1=0.5", "--slow", "2=0")):
        assert isinstance(built("--dispatch", dispatch, *bricks).dispatch, member)
    for write in writes():
        refused = built("--dispatch", dispatch, "--write", write)
        assert not isinstance(refused, InputError) or (write == "background" and "\n" not in str(refused))


@pytest.mark.parametrize("schedule", schedulers())
def test_every_scheduler_of_the_list_can_be_named(built, schedule):
    for layout in ((), ("--layout", "2x3x1")):
        assert isinstance(built("--schedule", schedule, *layout).schedule, schedulers()[schedule])


def test_least_completion_knows_what_an_access_takes(built):
    """A seek between any two cylinders, half a turn and the transfer: between half a turn and the longest seek with a turn;
    twice as much on a brick of half the speed; of one that is down as if it were not."""
    service = built(
        "--dispatch", "least-completion", "--replicas", "3", "--slow", "1=0.5", "--slow", "2=0"
    ).dispatch.service
    drive = load_drive("cheetah9lp")
    turn, longest = float(drive.revolution), float(drive.seek(drive.cylinders - 1))
    assert turn / 2 + float(drive.overhead) < service[0] < turn + longest
    assert [float(one / service[0]) for one in service] == pytest.approx([1, 2, 1])


def test_least_completion_heeds_queues_where_a_draw_does_not():
    slow = ("--slow", "1=0.5")
    least, drawn = (told("--dispatch", name, *slow) for name in ("least-completion", "randomized"))
    assert least["requests"] == drawn["requests"] == 2000
    assert least["response_p95_ms"] < 0.9 * drawn["response_p95_ms"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--slow", "1"), "--slow '1': write BRICK=SPEED"),
        (("--slow", "1=2"), "speed 2 of brick 1"),
        (("--slow", "7=0.5"), "a slowdown of brick 7"),
        (("--stop", "0=9"), "--stop '0=9': write BRICK=FIRST-LAST"),
        (("--cache-mb", "-1"), "cache of -1048576 bytes"),
    ],
)
def test_impossible_bricks_are_refused(arguments, complaint):
    result = run(*arguments)
    assert isinstance(result.exception, InputError) and complaint in str(result.exception)
