"""How planners are asked."""

from functools import cache
from typing import Any

from nonsense.attack import Face
from nonsense.faces import asked_of

from storagekit import dispatch
from storagekit.core.units import KB, MS
from storagekit.drive import Drive, load_drive
from storagekit.plan import (
    RLOOK,
    DriveFigures,
    Layout,
    LayoutAnswer,
    MinCost,
    ParityRAID,
    RandomQuestion,
    ResponseGoal,
    SchemesAnswer,
    SchemesCheck,
    SharesAnswer,
    SizeAnswer,
    SRArrays,
    Stream,
    Throughput,
    ThroughputGoal,
    array,
    plan_against_simulation,
    schemes,
    shares,
    size,
)

# made by planners and their checks, never by hand
RESULT = "an answer, a question as it was asked, or a part of one, that functions return"

PLAIN = DriveFigures(15 * MS, 6 * MS, 1 * MS)


@cache
def drive() -> Drive:
    return load_drive("cheetah9lp")


def stream(**given: Any) -> object:
    """A stream beside another one."""
    return shares([6e6, 6e6], {"f": Stream(**given), "g": Stream(1.0, [0])})


def compared(**given: Any) -> object:
    """What the planner chooses and the best, by their simulated figures."""
    found = plan_against_simulation(**given)
    return found.figure.values, found.best_figure.values


def either_load(rate: Any, p99: Any, outstanding: Any, scheduler: Any, **both: Any) -> object:
    """Schemes are asked at a rate, or with a number of requests outstanding."""
    return schemes(**both, rate=rate, p99=p99), schemes(**both, outstanding=outstanding, scheduler=scheduler)


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
def simulated() -> SchemesCheck:
    return kept().check(schemes=1, seeds=2, requests=100)


RUN = {"seeds": 2, "requests": 100}
ANSWERS = {
    "plan.LayoutAnswer.check": Face(
        lambda: {"candidates": 1, **RUN}, through=asked_of(layouts, "check"), optional=("requests",)
    ),
    "plan.SchemesAnswer.chart": Face(
        lambda: {"check": simulated()}, through=asked_of(kept, "chart"), optional=("check",)
    ),
    "plan.SchemesAnswer.check": Face(
        lambda: {"schemes": 1, **RUN}, through=asked_of(kept, "check"), optional=("requests",)
    ),
    "plan.SharesAnswer.check": Face(
        lambda: {"seconds": 1.0, "seeds": 2, "threads": 4, "depth": 1, "within": 0.05},
        through=asked_of(shared, "check"),
        optional=("seconds",),
    ),
    "plan.SizeAnswer.check": Face(lambda: RUN, through=asked_of(sized, "check"), optional=("requests",)),
}
FACES = {
    **ANSWERS,
    "plan.Layout.parse": Face(lambda: {"name": "2x3x1"}),
    "plan.DSPTFCopies": Face(lambda: {"bricks": 6, "copies": 2}),
    "plan.DriveFigures": Face(
        lambda: {
            "full_seek": 15 * MS,
            "revolution": 6 * MS,
            "overhead": 1 * MS,
            "write_settle": 1 * MS,
            "capacity": 2.0,
            "name": "plain",
        }
    ),
    "plan.Hashed": Face(lambda: {"bricks": 6, "copies": 2}),
    "plan.Latency": Face(),
    "plan.Layout": Face(lambda: {"striping": 2, "replicas": 3, "mirrors": 2}),
    "plan.MinCost": Face(lambda: {"busiest": 0.7}),
    "plan.Mirrored": Face(lambda: {"layout": Layout(2, 3, 2)}),
    "plan.MaxCapacity": Face(),
    "plan.MaxThroughput": Face(),
    "plan.Parity": Face(lambda: {"group": 6, "parities": 2, "groups": 2}),
    "plan.ParityRAID": Face(lambda: {"parities": 2, "group": 12}),
    "plan.Protocols": Face(lambda: {"copies": 2, "dispatchers": (("ARS", dispatch.ARS()),)}),
    "plan.RLOOK": Face(),
    "plan.RSATF": Face(),
    "plan.RandomQuestion": Face(
        lambda: {
            "drive": PLAIN,
            "overhead": 1 * MS,
            "disks": 2,
            "read_share": 0.5,
            "queue": 1,
            "locality": 2.0,
        }
    ),
    "plan.ReplicatedBricks": Face(lambda: {"copies": 3}),
    "plan.ResponseGoal": Face(lambda: {"response": 0.02, "rate": 100.0}),
    "plan.SRArrays": Face(lambda: {"replicas": 3, "mirrors": 2}),
    "plan.MinMean": Face(),
    "plan.MinP95": Face(),
    "plan.MinP99": Face(),
    "plan.SplitTransfers": Face(lambda: {"ways": (2, 4)}),
    "plan.Stream": Face(
        lambda: {"weight": 2.0, "bricks": [0, 1], "minimum": 0.2, "demand": 2e6},
        through=stream,
        optional=("minimum", "demand"),
    ),
    "plan.Throughput": Face(),
    "plan.ThroughputGoal": Face(lambda: {"rate": 1000.0, "queue": 8.0}),
    "plan.array": Face(
        lambda: {
            "drive": PLAIN,
            "disks": 12,
            "read_share": 0.7,
            "queue": 8.0,
            "locality": 2.0,
            "objective": Throughput(),
            "scheduler": RLOOK(),
            "mirrors": 2,
            "background": 0.5,
            "overhead": 1 * MS,
            "data": 2.0,
            "most_replicas": 3,
        },
        optional=("mirrors",),
    ),
    "plan.memory": Face(lambda: {"cache": 126e6, "disks": 1.0, "disk_size": 8400e6, "price_ratio": 57.0}),
    "plan.plan_against_simulation": Face(
        lambda: {
            "questions": [RandomQuestion(PLAIN, 1 * MS, 2, 0.5, 1, 2.0)],
            "seed": 1,
            "effort": 0.1,
            "mirrors": 1,
            "cases": ["latency"],
        },
        through=compared,
    ),
    "plan.price_ratio": Face(
        lambda: {"memory_price": 300.0, "memory_size": 256e6, "disk_price": 400.0, "disk_size": 18e9}
    ),
    "plan.random_questions": Face(lambda: {"count": 3, "seed": 1, "real": [drive()], "share": 0.5, "most_disks": 8}),
    "plan.rank_many": Face(
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
            "objective": Throughput(),
            "scheduler": RLOOK(),
            "mirrors": 2,
            "most_replicas": 3,
        },
        optional=("mirrors",),
    ),
    "plan.schemes": Face(
        lambda: {
            "drive": drive(),
            "disks": 4,
            "data": 15e9,
            "size": 64.0 * KB,
            "read_share": 0.7,
            "rate": 100.0,
            "outstanding": 8,
            "goal": MinCost(0.9),
            "tolerate": 1,
            "mean": 0.05,
            "p99": 0.2,
            "price": 100.0,
            "budget": 1000.0,
            "families": (SRArrays(), ParityRAID()),
            "scheduler": RLOOK(),
        },
        through=either_load,
        optional=("goal", "mean", "p99", "price", "budget", "scheduler"),
    ),
    "plan.shares": Face(
        lambda: {
            "bricks": [6e6, 5e6],
            "streams": {"f": Stream(1.0, [0]), "g": Stream(2.0, [0, 1])},
            "policy": "total",
        }
    ),
    "plan.size": Face(
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
NOT_ASKED = dict.fromkeys(
    (
        f"plan.{name}"
        for name in (
            "Binding",
            "Candidate",
            "Check",
            "LayoutAnswer",
            "MemoryAnswer",
            "Question",
            "Ranked",
            "SchemesAnswer",
            "SchemesCheck",
            "StreamShare",
            "SharesAnswer",
            "SharesCheck",
            "SharesRow",
            "SizeAnswer",
            "scheme_ranking.Prediction",
        )
    ),
    RESULT,
)
