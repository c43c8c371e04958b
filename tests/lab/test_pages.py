"""Boards of the lab: what they say is what the planner and the engine say, and no number compiles anything."""

import itertools
from math import prod

import jax
import pytest

from storagekit import lab
from storagekit.charts import Board, Slider
from storagekit.charts.live.exported import MOST
from storagekit.core.errors import InputError
from storagekit.core.units import KB
from storagekit.dispatch import Hashing, Randomized
from storagekit.lab import array, bound, fair, protocol, sr_array
from storagekit.lab.drives import KNOWN, drive_of
from storagekit.plan import Stream, schemes, shares

NEARLINE = next(iter(KNOWN))
CLOSED = {"array": array, "sr_array": sr_array, "fair": fair, "bound": bound}


def begun(board: Board) -> dict:
    """The values at which its controls begin."""
    return {name: control.stops()[control.first()][1] for name, control in board.controls.items()}


@pytest.mark.parametrize("name", CLOSED)
def test_a_board_answers_where_it_begins_and_whatever_is_chosen_its_chart_is_the_same(name):
    board = lab.page(name).board()
    begin = begun(board)
    first = board.shown(begin)
    assert first.possible, first.said
    for control, one in board.controls.items():
        ends = [one.low, one.high] if isinstance(one, Slider) else [value for _, value in one.stops()]
        for value in ends:
            shown = board.shown(begin | {control: value})
            assert "This board failed" not in shown.said
            assert shown.spec in (None, first.spec)


@pytest.mark.parametrize("name", lab.PAGES)
def test_an_exported_page_can_ask_all_that_it_offers(name):
    board = lab.page(name).board()
    assert prod(len(one.stops()) for one in board.controls.values()) <= MOST


def test_a_page_of_no_name_is_refused():
    with pytest.raises(InputError, match=r"there are tour, .*array"):
        lab.page("arrays")


def test_the_array_is_the_planners_answer():
    board = lab.page("array").board()
    asked = begun(board) | {"disks": 16, "data": 20, "read_share": 40, "rate": 300, "tolerate": 2, "size": 16}
    drive = drive_of(NEARLINE)
    data = 0.2 * 16 * float(drive.capacity) * 512
    said = schemes(drive, 16, data=data, size=16 * KB, read_share=0.4, rate=300, tolerate=2)
    shown = board.shown(asked)
    rows = shown.data["rows"]
    assert [row["name"] for row in rows] == [one.name for one in said.ranking[: len(rows)]]
    assert [row["mean"] for row in rows] == pytest.approx([1e3 * one.mean for one in said.ranking[: len(rows)]])
    assert said.ranking[0].name in shown.said and f"{1e3 * said.ranking[0].mean:.1f} ms" in shown.said


def test_only_the_load_that_is_chosen_counts():
    board = lab.page("array").board()
    kept = begun(board) | {"load": "is kept outstanding"}
    rows = board.shown(kept | {"outstanding": 64}).data["rows"]
    assert rows != board.shown(kept | {"outstanding": 8}).data["rows"]
    assert rows == board.shown(kept | {"outstanding": 64, "rate": 2000}).data["rows"]
    # no formula tells what 99% keep within
    assert all(row["p99"] is None for row in rows)


def test_more_data_than_room_is_said_in_place():
    board = lab.page("array").board()
    shown = board.shown(begun(board) | {"data": 80, "tolerate": 2, "disks": 6})
    assert not shown.possible and "capacity" in shown.said and shown.spec is None


def test_streams_get_what_the_planner_says_and_delays_are_what_is_served_elsewhere():
    found = fair.answer(1.5, 1, 1, 0, 200, 200, 16)
    streams = {"mail": Stream(1.5, [0]), "backup": Stream(1, [0, 1]), "archive": Stream(1, [1])}
    said = shares([200e6, 200e6], streams)
    assert found.answers["total"].rates == said.rates
    here, there = (said.shares["backup"].by_brick[brick] for brick in (0, 1))
    assert found.delay("backup", 0) == pytest.approx(fair.SIZE * there / here)
    assert found.delay("mail", 0) == 0
    # 16 requests of 64 KB at each brick that it uses, over what it is served
    assert found.response("total", "backup") == pytest.approx(2 * 16 * fair.SIZE / said.rates["backup"])
    assert f"mail {said.rates['mail'] / 1e6:.0f}" in str(fair.words(found))


def test_a_least_share_goes_as_far_as_the_weight_does():
    without, much, most = (fair.answer(8, 0.5, 0.5, least, 200, 200, 16) for least in (0, 30, 20))
    floor = 200e6 * 0.5 / 9
    given = [one.answers["total"].shares["backup"].by_brick[0] for one in (without, much, most)]
    assert given[0] < floor <= given[1] * (1 + 1e-9)
    assert given[1] == given[2]


def test_the_bound_and_what_holds_streams_back_are_said():
    said = str(bound.words(bound.answer(1, 1, 0, 30, 15, 1, 6, 4)))
    assert "5.34 MB apart" in said and "f 5.00 MB/s, g 5.00 MB/s" in said and "g is limited by bricks A, B" in said
    said = str(bound.words(bound.answer(1, 1, 100 / 12, 30, 15, 1, 6, 6)))
    assert said.startswith("No bound") and "its minimum share of brick A" in said


@pytest.mark.slow
def test_nodes_of_several_speeds_have_a_row_for_each_protocol_and_say_who_is_soonest():
    board = lab.page("adaptive").board()
    shown = board.shown(begun(board) | {"rate": 50})
    assert shown.possible, shown.said
    found = lab.page("adaptive").board().answer(**begun(board) | {"rate": 50})
    soonest = found.mean_response.to_series().idxmin()
    assert found.sizes["protocol"] == 3 and f"{soonest}: " in shown.said and "all of them are served" in shown.said


@pytest.fixture
def compiled():
    """Names of what JAX has compiled since."""
    seen = []

    def note(name: str, seconds: float, **_) -> None:
        if "backend_compile" in name:
            seen.append(name)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield seen
    jax.monitoring.unregister_event_duration_listener(note)


def compiles_nothing(schemes: dict, compiled: list, monkeypatch) -> None:
    monkeypatch.setattr(protocol, "PROTOCOLS", schemes)
    monkeypatch.setattr(protocol, "REQUESTS", 200)
    protocol.over_load.cache_clear()
    board = lab.page("protocol").board()
    begin = begun(board) | {"drive": protocol._DRIVES[1]}
    assert protocol.answer(**begin).data.sizes["scheme"] == len(schemes)
    assert compiled
    compiled.clear()
    changes = {"replicas": 8, "reads": 35, "latency": 1.5, "speed": 45, "load": 4}
    for name, value in changes.items():
        protocol.answer(**begin | {name: value})
    assert not compiled
    protocol.over_load.cache_clear()


def test_no_number_of_a_protocol_compiles_anything(compiled, monkeypatch):
    compiles_nothing({"hashing": ""}, compiled, monkeypatch)


@pytest.mark.slow
def test_no_number_of_any_protocol_compiles_anything(compiled, monkeypatch):
    compiles_nothing(protocol.PROTOCOLS, compiled, monkeypatch)


def test_a_change_of_structure_would_be_seen_to_compile(compiled):
    for dispatch, count in itertools.product((Hashing(), Randomized()), (2, 3)):
        jax.jit(lambda x, d=dispatch, c=count: x + c * len(str(d)))(1.0)
    assert len(compiled) >= 4


def test_what_is_said_of_protocols_is_what_was_simulated(monkeypatch):
    monkeypatch.setattr(protocol, "PROTOCOLS", {"hashing": ""})
    monkeypatch.setattr(protocol, "REQUESTS", 200)
    protocol.over_load.cache_clear()
    found = protocol.over_load(protocol._DRIVES[1], 4, 0.9, 5e-5, 1.0)
    mean = found.sel(statistic="mean", scheme="hashing")
    # Little's law of a closed loop, but for what its ends cut off
    assert (mean.request_rate * mean.response).values == pytest.approx(protocol.LOADS, rel=0.12)
    slow = protocol.over_load(protocol._DRIVES[1], 4, 0.9, 5e-5, 0.5).sel(statistic="mean", scheme="hashing")
    assert bool((slow.request_rate < mean.request_rate).all())
    protocol.over_load.cache_clear()
