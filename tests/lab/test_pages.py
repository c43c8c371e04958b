"""Dashboards of the lab show the results of the planner and the engine, and another number compiles nothing."""

import itertools
from math import prod

import jax
import pytest
from helpers import slow_but

from storagekit import lab
from storagekit.charts import Dashboard, Slider
from storagekit.charts.live.exported import MOST
from storagekit.core.errors import InputError
from storagekit.core.units import KB
from storagekit.dispatch import Hashing, Randomized
from storagekit.faults import Failures
from storagekit.lab import array, bound, failure, fair, protocol, sr_array
from storagekit.lab.drives import KNOWN, drive_of
from storagekit.plan import Stream, schemes, shares

NEARLINE = next(iter(KNOWN))
CLOSED = {"array": array, "failure": failure, "sr_array": sr_array, "fair": fair, "bound": bound}


def begun(dashboard: Dashboard) -> dict:
    """Return the start values of the controls."""
    return {name: control.stops()[control.first()][1] for name, control in dashboard.controls.items()}


@pytest.mark.parametrize("name", slow_but(CLOSED.keys() - {"failure"}, CLOSED))
def test_a_dashboard_works_at_its_start_values_and_keeps_its_chart_for_all_others(name):
    dashboard = lab.page(name).dashboard()
    begin = begun(dashboard)
    first = dashboard.shown(begin)
    assert first.possible, first.said
    for control, one in dashboard.controls.items():
        ends = [one.low, one.high] if isinstance(one, Slider) else [value for _, value in one.stops()]
        for value in ends:
            shown = dashboard.shown(begin | {control: value})
            assert "This dashboard failed" not in shown.said
            assert shown.spec in (None, first.spec)


@pytest.mark.parametrize("name", lab.PAGES)
def test_an_exported_page_can_show_every_choice(name):
    dashboard = lab.page(name).dashboard()
    assert prod(len(one.stops()) for one in dashboard.controls.values()) <= MOST


def test_an_unknown_page_raises():
    with pytest.raises(InputError, match=r"give one of tour, .*array"):
        lab.page("arrays")


def test_the_array_page_shows_the_planners_result():
    dashboard = lab.page("array").dashboard()
    values = begun(dashboard) | {"disks": 16, "data": 20, "read_share": 40, "rate": 300, "tolerate": 2, "size": 16}
    drive = drive_of(NEARLINE)
    data = 0.2 * 16 * float(drive.capacity) * 512
    planned = schemes(drive, 16, data=data, size=16 * KB, read_share=0.4, rate=300, tolerate=2)
    shown = dashboard.shown(values)
    rows = shown.data["rows"]
    assert [row["name"] for row in rows] == [one.name for one in planned.ranking[: len(rows)]]
    assert [row["mean"] for row in rows] == pytest.approx([1e3 * one.mean for one in planned.ranking[: len(rows)]])
    assert planned.ranking[0].name in shown.said and f"{1e3 * planned.ranking[0].mean:.1f} ms" in shown.said


def test_the_failure_page_shows_the_planners_result():
    dashboard = lab.page("failure").dashboard()
    values = begun(dashboard) | {"disks": 12, "data": 20, "rate": 300, "tolerate": 1, "rebuild": 15, "afr": 2}
    drive = drive_of(NEARLINE)
    data = 0.2 * 12 * float(drive.capacity) * 512
    planned = schemes(drive, 12, data=data, size=64 * KB, read_share=0.8, rate=300, tolerate=1)
    after, durable = planned.after_failure(15e6), planned.durability(Failures(0.02), rebuild_rate=15e6)
    rows = dashboard.shown(values).data["rows"]
    assert [row["name"] for row in rows] == [one.name for one in after.ranking[: len(rows)]]
    assert [row["p99"] for row in rows] == pytest.approx(
        [1e3 * one.rebuilding_mean for one in after.ranking[: len(rows)]]
    )
    nines = {one.name: one.nines for one in durable.ranking}
    assert [row["nines"] for row in rows] == pytest.approx([nines[row["name"]] for row in rows])
    fast = dashboard.shown(values | {"rebuild": 200})
    assert "No scheme can be rebuilt at this rate" in fast.said and fast.possible


def test_only_the_chosen_load_counts():
    dashboard = lab.page("array").dashboard()
    kept = begun(dashboard) | {"load": "keeps requests outstanding"}
    rows = dashboard.shown(kept | {"outstanding": 64}).data["rows"]
    assert rows != dashboard.shown(kept | {"outstanding": 8}).data["rows"]
    assert rows == dashboard.shown(kept | {"outstanding": 64, "rate": 2000}).data["rows"]
    # no formula gives the 99th percentile
    assert all(row["p99"] is None for row in rows)


def test_more_data_than_capacity_is_reported_on_the_page():
    dashboard = lab.page("array").dashboard()
    shown = dashboard.shown(begun(dashboard) | {"data": 80, "tolerate": 2, "disks": 6})
    assert not shown.possible and "capacity" in shown.said and shown.spec is None


def test_streams_get_the_planners_rates_and_delays_come_from_service_elsewhere():
    found = fair.answer(1.5, 1, 1, 0, 200, 200, 16)
    streams = {"mail": Stream(1.5, [0]), "backup": Stream(1, [0, 1]), "archive": Stream(1, [1])}
    planned = shares([200e6, 200e6], streams)
    assert found.answers["total"].rates == planned.rates
    here, there = (planned.shares["backup"].by_brick[brick] for brick in (0, 1))
    assert found.delay("backup", 0) == pytest.approx(fair.SIZE * there / here)
    assert found.delay("mail", 0) == 0
    # 16 requests of 64 KB at each brick of the stream, divided by its rate
    assert found.response("total", "backup") == pytest.approx(2 * 16 * fair.SIZE / planned.rates["backup"])
    assert f"mail {planned.rates['mail'] / 1e6:.0f}" in str(fair.words(found))


def test_a_minimum_share_is_at_most_the_share_of_the_weight():
    without, much, most = (fair.answer(8, 0.5, 0.5, least, 200, 200, 16) for least in (0, 30, 20))
    floor = 200e6 * 0.5 / 9
    given = [one.answers["total"].shares["backup"].by_brick[0] for one in (without, much, most)]
    assert given[0] < floor <= given[1] * (1 + 1e-9)
    assert given[1] == given[2]


def test_the_bound_and_the_limits_of_streams_are_shown():
    text = str(bound.words(bound.answer(1, 1, 0, 30, 15, 1, 6, 4)))
    assert "at most 5.34 MB" in text and "f 5.00 MB/s, g 5.00 MB/s" in text and "g is limited by bricks A, B" in text
    text = str(bound.words(bound.answer(1, 1, 100 / 12, 30, 15, 1, 6, 6)))
    assert text.startswith("No bound") and "its minimum share of brick A" in text


@pytest.mark.slow
def test_nodes_of_several_speeds_have_a_row_for_each_protocol_and_name_the_fastest():
    dashboard = lab.page("adaptive").dashboard()
    shown = dashboard.shown(begun(dashboard) | {"rate": 50})
    assert shown.possible, shown.said
    found = lab.page("adaptive").dashboard().answer(**begun(dashboard) | {"rate": 50})
    fastest = found.mean_response.to_series().idxmin()
    assert found.sizes["protocol"] == 3 and f"{fastest}: " in shown.said and "all of them are served" in shown.said


def compiles_nothing(schemes: dict, compilations: list, monkeypatch) -> None:
    monkeypatch.setattr(protocol, "PROTOCOLS", schemes)
    monkeypatch.setattr(protocol, "REQUESTS", 200)
    protocol.over_load.cache_clear()
    dashboard = lab.page("protocol").dashboard()
    begin = begun(dashboard) | {"drive": protocol._DRIVES[1]}
    assert protocol.answer(**begin).data.sizes["scheme"] == len(schemes)
    assert compilations
    compilations.clear()
    changes = {"replicas": 8, "reads": 35, "latency": 1.5, "speed": 45, "load": 4}
    for name, value in changes.items():
        protocol.answer(**begin | {name: value})
    assert not compilations
    protocol.over_load.cache_clear()


def test_no_number_of_a_protocol_compiles_anything(compilations, monkeypatch):
    compiles_nothing({"hashing": ""}, compilations, monkeypatch)


@pytest.mark.slow
def test_no_number_of_any_protocol_compiles_anything(compilations, monkeypatch):
    compiles_nothing(protocol.PROTOCOLS, compilations, monkeypatch)


def test_a_change_of_structure_is_seen_to_compile(compilations):
    for dispatch, count in itertools.product((Hashing(), Randomized()), (2, 3)):
        jax.jit(lambda x, d=dispatch, c=count: x + c * len(str(d)))(1.0)
    assert len(compilations) >= 4


def test_the_page_of_protocols_shows_simulated_results(monkeypatch):
    monkeypatch.setattr(protocol, "PROTOCOLS", {"hashing": ""})
    monkeypatch.setattr(protocol, "REQUESTS", 200)
    protocol.over_load.cache_clear()
    found = protocol.over_load(protocol._DRIVES[1], 4, 0.9, 5e-5, 1.0)
    mean = found.sel(statistic="mean", scheme="hashing")
    # Little's law of a closed loop, apart from requests cut off at both ends of the run
    assert (mean.request_rate * mean.response).values == pytest.approx(protocol.LOADS, rel=0.12)
    slow = protocol.over_load(protocol._DRIVES[1], 4, 0.9, 5e-5, 0.5).sel(statistic="mean", scheme="hashing")
    assert bool((slow.request_rate < mean.request_rate).all())
    protocol.over_load.cache_clear()
