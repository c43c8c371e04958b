"""Valid calls of planners."""

from functools import cache
from typing import Any

from nonsense.attack import ValidCall
from nonsense.packages.workload import small_trace
from nonsense.public_callables import method_of

from storagekit import dispatch
from storagekit.core.units import KB, MS
from storagekit.drive import SSD, Drive, load_drive, load_ssd
from storagekit.faults import Failures
from storagekit.plan import (
    RLOOK,
    Change,
    DriveFigures,
    Layout,
    LayoutAnswer,
    MaxThroughput,
    MinCost,
    Network,
    NextPurchase,
    ParityRAID,
    RandomQuestion,
    ReadCache,
    ResponseGoal,
    SchemesAnswer,
    SharesAnswer,
    SizeAnswer,
    SRArrays,
    SSDCache,
    Stream,
    ThroughputGoal,
    array,
    plan_against_simulation,
    schemes,
    shares,
    size,
)

# returned by planners and their checks, never created by a user
RESULT = "a result or a question, or part of one, that functions return"

PLAIN = DriveFigures(15 * MS, 6 * MS, 1 * MS)


@cache
def drive() -> Drive:
    return load_drive("cheetah9lp")


def nvme() -> SSD:
    return load_ssd("iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB")


def stream(**given: Any) -> object:
    """Create a stream and plan its shares with another stream."""
    return shares([6e6, 6e6], {"f": Stream(**given), "g": Stream(1.0, [0])})


def compared(**given: Any) -> object:
    """Return the simulated figures of the planned layouts and of the best ones."""
    found = plan_against_simulation(**given)
    return found.figure.values, found.best_figure.values


def either_load(
    rate: Any, p99: Any, outstanding: Any, scheduler: Any, queue_depth: Any, cache: Any, **both: Any
) -> object:
    """Rank schemes at a rate, and with a number of requests outstanding."""
    at_rate = schemes(**both, rate=rate, p99=p99, queue_depth=queue_depth, cache=cache)
    return at_rate, schemes(**both, outstanding=outstanding, scheduler=scheduler)


def either_cache(hits: Any, size: Any, **both: Any) -> object:
    """Create a cache by its share of hits, and one by its size."""
    return ReadCache(hits=hits, **both), ReadCache(size=size, **both)


def layouts() -> LayoutAnswer:
    return array(PLAIN, 4, read_share=0.7, queue=2.0)


def sized() -> SizeAnswer:
    return size(PLAIN, ThroughputGoal(200.0, 2.0), read_share=0.7)


def shared() -> SharesAnswer:
    return shares([6e6], {"f": Stream(1.0, [0]), "g": Stream(2.0, [0])})


@cache
def kept() -> SchemesAnswer:
    return schemes(drive(), 2, data=4e9, size=64.0 * KB, read_share=0.7, rate=20.0)


@cache
def bought() -> NextPurchase:
    return kept().next_purchase(100.0)


def change() -> Change:
    return bought().ranking[0]


RUN = {"seeds": 2, "requests": 100}
ANSWERS = {
    "plan.LayoutAnswer.check": ValidCall(
        lambda: {"candidates": 1, **RUN}, through=method_of(layouts, "check"), optional=("requests",), simulates=True
    ),
    "plan.SchemesAnswer.after_failure": ValidCall(
        lambda: {"rebuild_rate": 1e6, "chunk": 1e5},
        through=method_of(kept, "after_failure"),
        optional=("rebuild_rate",),
    ),
    "plan.SchemesAnswer.growth": ValidCall(lambda: {"data": 0.3, "load": 0.2}, through=method_of(kept, "growth")),
    "plan.SchemesAnswer.chart": ValidCall(
        lambda: {"check": None}, through=method_of(kept, "chart"), optional=("check",)
    ),
    "plan.SchemesAnswer.check": ValidCall(
        lambda: {"schemes": 1, **RUN}, through=method_of(kept, "check"), optional=("requests",), simulates=True
    ),
    "plan.SchemesAnswer.durability": ValidCall(
        lambda: {
            "failures": Failures(0.014),
            "detection": 60.0,
            "at_once": 1,
            "bit_error_rate": 1e-15,
            "years": 2.0,
            "rebuild_rate": 1e6,
            "node_failures": None,
            "rack_failures": None,
        },
        through=method_of(kept, "durability"),
        optional=("at_once", "rebuild_rate", "node_failures", "rack_failures"),
    ),
    "plan.Change.gain_in": ValidCall(lambda: {"by": "capacity"}, through=method_of(change, "gain_in")),
    "plan.Change.helps_in": ValidCall(lambda: {"by": "capacity"}, through=method_of(change, "helps_in")),
    "plan.NextPurchase.best_for": ValidCall(lambda: {"by": "mean"}, through=method_of(bought, "best_for")),
    "plan.SchemesAnswer.next_purchase": ValidCall(
        lambda: {
            "price": 100.0,
            "scheme": "RAID 1",
            "more": 2,
            "drives": {"other": (drive(), 200.0)},
            "caches": (ReadCache(100.0, hits=0.5),),
            "budget": 1000.0,
            "by": "durability",
            "failures": Failures(0.014),
            "detection": 60.0,
            "bit_error_rate": 1e-15,
            "refill": 1e5,
            "years": 2.0,
        },
        through=method_of(kept, "next_purchase"),
        # without failures the arguments about failures are refused
        optional=("scheme", "budget", "by"),
    ),
    "plan.SharesAnswer.check": ValidCall(
        lambda: {"seconds": 1.0, "seeds": 2, "threads": 4, "depth": 1, "within": 0.05},
        through=method_of(shared, "check"),
        optional=("seconds",),
        simulates=True,
    ),
    "plan.SizeAnswer.check": ValidCall(
        lambda: RUN, through=method_of(sized, "check"), optional=("requests",), simulates=True
    ),
}
VALID_CALLS = {
    **ANSWERS,
    "plan.Layout.parse": ValidCall(lambda: {"name": "2x3x1"}),
    "plan.DSPTFCopies": ValidCall(lambda: {"bricks": 6, "copies": 2}),
    "plan.DriveFigures": ValidCall(
        lambda: {
            "full_seek": 15 * MS,
            "revolution": 6 * MS,
            "overhead": 1 * MS,
            "write_settle": 1 * MS,
            "capacity": 2.0,
            "name": "plain",
        }
    ),
    "plan.Hashed": ValidCall(lambda: {"bricks": 6, "copies": 2}),
    "plan.Layout": ValidCall(lambda: {"striping": 2, "replicas": 3, "mirrors": 2}),
    "plan.MinCost": ValidCall(lambda: {"busiest": 0.7}),
    "plan.Mirrored": ValidCall(lambda: {"layout": Layout(2, 3, 2)}),
    "plan.MaxCapacity": ValidCall(),
    "plan.MaxThroughput": ValidCall(),
    "plan.Parity": ValidCall(lambda: {"group": 6, "parities": 2, "groups": 2}),
    "plan.ParityRAID": ValidCall(lambda: {"parities": 2, "group": 12}),
    "plan.Code": ValidCall(lambda: {"data": 8, "parities": 3}),
    "plan.Protocols": ValidCall(lambda: {"copies": 2, "dispatchers": (("ARS", dispatch.ARS()),)}),
    "plan.RLOOK": ValidCall(),
    "plan.RSATF": ValidCall(),
    "plan.RandomQuestion": ValidCall(
        lambda: {
            "drive": PLAIN,
            "overhead": 1 * MS,
            "disks": 2,
            "read_share": 0.5,
            "queue": 1,
            "locality": 2.0,
        }
    ),
    "plan.ReadCache": ValidCall(
        lambda: {"price": 100.0, "hits": 0.5, "size": 1e9, "time": 1e-4},
        through=either_cache,
        optional=("hits", "size"),
    ),
    "plan.ReadCache.hit_share": ValidCall(
        lambda: {"data": 4e9}, through=method_of(lambda: ReadCache(100.0, size=1e9), "hit_share")
    ),
    "plan.ReplicatedBricks": ValidCall(lambda: {"copies": 3}),
    "plan.ResponseGoal": ValidCall(lambda: {"response": 0.02, "rate": 100.0}),
    "plan.SRArrays": ValidCall(lambda: {"replicas": 3, "mirrors": 2}),
    "plan.MinMean": ValidCall(),
    "plan.MinP95": ValidCall(),
    "plan.MinP99": ValidCall(),
    "plan.SplitTransfers": ValidCall(lambda: {"ways": (2, 4)}),
    "plan.Stream": ValidCall(
        lambda: {"weight": 2.0, "bricks": [0, 1], "minimum": 0.2, "demand": 2e6},
        through=stream,
        optional=("minimum", "demand"),
    ),
    "plan.ThroughputGoal": ValidCall(lambda: {"rate": 1000.0, "queue": 8.0}),
    "plan.array": ValidCall(
        lambda: {
            "drive": PLAIN,
            "disks": 12,
            "read_share": 0.7,
            "queue": 8.0,
            "locality": 2.0,
            "objective": MaxThroughput(),
            "scheduler": RLOOK(),
            "mirrors": 2,
            "background": 0.5,
            "overhead": 1 * MS,
            "data": 2.0,
            "most_replicas": 3,
        },
        optional=("mirrors",),
    ),
    "plan.memory": ValidCall(lambda: {"cache": 126e6, "disks": 1.0, "disk_size": 8400e6, "price_ratio": 57.0}),
    "plan.plan_against_simulation": ValidCall(
        lambda: {
            "questions": [RandomQuestion(PLAIN, 1 * MS, 2, 0.5, 1, 2.0)],
            "seed": 1,
            "effort": 0.1,
            "mirrors": 1,
            "cases": ["latency"],
        },
        through=compared,
        simulates=True,
    ),
    "plan.price_ratio": ValidCall(
        lambda: {"memory_price": 300.0, "memory_size": 256e6, "disk_price": 400.0, "disk_size": 18e9}
    ),
    "plan.random_questions": ValidCall(
        lambda: {"count": 3, "seed": 1, "real": [drive()], "share": 0.5, "most_disks": 8}
    ),
    "plan.rank_many": ValidCall(
        lambda: {
            "disks": 12,
            "full_seek": 15 * MS,
            "revolution": 6 * MS,
            "read_share": 0.7,
            "queue": 8.0,
            "locality": 2.0,
            "background": 0.5,
            "overhead": 1 * MS,
            "data": 2.0,
            "objective": MaxThroughput(),
            "scheduler": RLOOK(),
            "mirrors": 2,
            "most_replicas": 3,
        },
        optional=("mirrors",),
    ),
    "plan.schemes": ValidCall(
        lambda: {
            "drive": drive(),
            "disks": 4,
            "data": 15e9,
            "size": 64.0 * KB,
            "read_share": 0.7,
            "rate": 100.0,
            "outstanding": 8,
            "objective": MinCost(0.9),
            "tolerate": 1,
            "mean": 0.05,
            "p99": 0.2,
            "price": 100.0,
            "budget": 1000.0,
            "families": (SRArrays(), ParityRAID()),
            "scheduler": RLOOK(),
            "queue_depth": 4,
            "network": Network(2, 1e9),
            "cache": SSDCache(nvme(), 2, hits=0.5),
        },
        through=either_load,
        optional=("size", "read_share", "objective", "mean", "p99", "price", "budget", "scheduler", "network", "cache"),
    ),
    "plan.SSDCache": ValidCall(
        lambda: {"ssd": nvme(), "drives": 2, "hits": 0.5, "write_back": True}, optional=("hits",)
    ),
    "plan.SSDCache.hit_share": ValidCall(lambda: {"data": 1e13}, through=SSDCache(nvme(), 2).hit_share),
    "plan.SequentialStream": ValidCall(lambda: {"name": "backup", "rate": 1e8, "writes": True}),
    "plan.Network": ValidCall(
        lambda: {"nodes": 4, "node_rate": 1e9, "racks": 2, "rack_rate": 2e9}, optional=("rack_rate",)
    ),
    "plan.Network.capacity": ValidCall(lambda: {"disks": 12}, through=Network(2, 1e9).capacity),
    "plan.Network.links": ValidCall(lambda: {"disks": 12}, through=Network(2, 1e9).links),
    "plan.Network.spread": ValidCall(lambda: {"group": 6}, through=Network(2, 1e9).spread),
    "plan.Network.most_lost": ValidCall(lambda: {"group": 6, "nodes": 1}, through=Network(2, 1e9).most_lost),
    "plan.Tenant": ValidCall(
        lambda: {"name": "web", "rate": 100.0, "size": 64.0 * KB, "read_share": 0.7, "mean": 0.05, "p99": 0.2}
    ),
    "plan.tenants_of": ValidCall(lambda: {"trace": small_trace(), "rate": 100.0}, optional=("rate",)),
    "plan.shares": ValidCall(
        lambda: {
            "bricks": [6e6, 5e6],
            "streams": {"f": Stream(1.0, [0]), "g": Stream(2.0, [0, 1])},
            "policy": "total",
        }
    ),
    "plan.size": ValidCall(
        lambda: {
            "drive": PLAIN,
            "goal": ResponseGoal(0.02, 100.0),
            "read_share": 0.7,
            "data": 2.0,
            "locality": 2.0,
            "background": 0.5,
            "mirrors": 2,
            "overhead": 1 * MS,
            "price": 100.0,
            "budget": 2000.0,
            "most_disks": 40,
            "most_replicas": 3,
        }
    ),
}
NOT_ATTACKED = dict.fromkeys(
    (
        f"plan.{name}"
        for name in (
            "Binding",
            "Tenant.shares_of",
            "Candidate",
            "Change",
            "Check",
            "CheckRow",
            "LayoutAnswer",
            "MemoryAnswer",
            "NextPurchase",
            "Question",
            "Ranked",
            "SchemesAnswer",
            "StreamShare",
            "SharesAnswer",
            "SizeAnswer",
        )
    ),
    RESULT,
)
