"""Exhibits record how they were made: drive, scenario, seeds, length of runs and basis, as every file of them needs."""

import pytest
import xarray as xr

from storagekit.papers import ars, dsfq, dsptf, srarray, swift
from storagekit.papers.dsfq.search import SearchEffort
from storagekit.reproduce.provenance import KEYS, NONE, UNKNOWN, whole
from storagekit.simulation import interval

ARS, DSFQ, DSPTF, SRARRAY, SWIFT = (type(paper.effort("quick", 0)) for paper in (ars, dsfq, dsptf, srarray, swift))
SMALL = {"seeds": 2, "requests": 128}
SR = SRARRAY(**SMALL, windows=1, rate_requests=128, table=16, loop_requests=128, questions=2)
HUNT = SearchEffort(settings=8, rounds=1, children=4, parents=2, chunks=2)


def messages() -> xr.Dataset:
    net = dsptf.network(DSPTF(**SMALL), latency=(0.0,), replicas=(2,), depth=(4,), read_share=(0.9,))
    return interval(dsptf.messages(net.drop_vars("gain").sel(scheme="D-SPTF")))


FORMULAS = {
    "ars.tableI": ars.table1,
    "ars.tableII": ars.table2,
    "ars.algorithm": lambda: ars.moves(ARS(**SMALL), nodes=(2,), count=1),
    "dsfq.example_delays": dsfq.example_delays,
    "swift.tables": swift.predictions,
    "swift.intervals": swift.checked_tables,
}
RUNS = {
    "dsptf.messages": messages,
    "srarray.table3": lambda: srarray.table3(SR, hours=0.01),
    "swift.choices": lambda: swift.choices((1e6,)),
    "swift.allocation": lambda: swift.allocation(SWIFT(**SMALL, sessions=40)),
    "swift.reads": lambda: swift.reads(transfers=2),
    "swift.fig6": lambda: swift.fig6(SWIFT(**SMALL)),
}
LONGER = {
    "srarray.plan": lambda: srarray.plan_grid(SR),
    "ars.adapting": lambda: ars.adapting(ARS(**SMALL), seconds=2.0),
    "ars.writes": lambda: ars.writes(ARS(**SMALL), chunks=8),
    "ars.extra": lambda: ars.extra(ARS(**SMALL), chunks=40, seeds=2),
    "ars.equal": lambda: ars.equal(ARS(**SMALL), windows=(0.1,), seeds=2, chunks=20),
    "ars.fig6": lambda: ars.fig6(ARS(**SMALL), protocols=("ARS",), lengths={"reads": (0.2, 0.0), "mixed": (0.3, 0.0)}),
    "dsfq.fig9": lambda: dsfq.fig9(DSFQ(**SMALL, seconds=2.0), threads=(2,)),
    "dsfq.search": lambda: dsfq.searched(HUNT),
    "dsfq.counterexample": lambda: dsfq.counterexample(HUNT),
    "srarray.table2": lambda: srarray.table2(SR),
    "srarray.fig6": lambda: srarray.fig6(SR, workload="Cello disk 6"),
    "dsptf.table2": lambda: dsptf.table2(traces=("sap",)),
}


def provenance_of(name: str, data: xr.Dataset) -> dict:
    return whole(data.attrs, name, {"paper": name.partition(".")[0], "profile": "quick", "seed": 0})


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_have_no_drive_and_no_scenario(name):
    found = provenance_of(name, FORMULAS[name]())
    assert found["basis"] == "analytic" and found["drive"] == found["scenario"] == found["requests"] == NONE


@pytest.mark.parametrize("name", [*RUNS, *(pytest.param(name, marks=pytest.mark.slow) for name in LONGER)])
def test_every_run_records_its_scenario_and_length(name):
    found = provenance_of(name, (RUNS | LONGER)[name]())
    assert not [key for key in KEYS if key != "commit" and found.get(key, UNKNOWN) == UNKNOWN]
    assert found["drive"] != NONE and found["scenario"] != NONE and found["seeds"] != NONE
