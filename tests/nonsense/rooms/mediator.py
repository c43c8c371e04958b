"""How the mediator and its cluster are asked."""

from functools import cache

from nonsense.attack import Face
from nonsense.faces import asked_of

from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.core.units import KB, MS
from storagekit.mediator import (
    Agents,
    Cluster,
    Economical,
    FilledCluster,
    Ledger,
    LoadResult,
    Mediator,
    Proposal,
    Rebuild,
    Request,
    SessionClass,
    StripeLayout,
    TransferPlan,
    fill,
    variable_load,
)

# made by the mediator and its functions, never by hand
RESULT = "an answer, or a part of one, that functions return"

DISK, RING = Disk(16 * MS, 8.3 * MS, 2.5e6), Network(125e6)
LAYOUT = StripeLayout(400_000, 16 * KB, ((0, 1, 2), (3, 4)), True)
PLAN = TransferPlan(LAYOUT, "camera", 400e3, write=False)
STORED = TransferPlan(StripeLayout(40, 16, ((0, 1, 2), (3, 4)), True), "camera", 400.0, write=True)
# so fast that few of them fit
ASKED = Request("camera", 2e6, 20_000_000, group=4)


@cache
def cluster() -> Cluster:
    return Cluster((DISK,) * 6, Host(), Host(), RING)


def _alone() -> dict:
    return {"cluster": cluster(), "layout": LAYOUT, "write": False, "confidence": 0.99}


@cache
def mediator() -> Mediator:
    return Mediator(Ledger(cluster()))


@cache
def proposal() -> Proposal:
    found = mediator().propose(ASKED)
    assert isinstance(found, Proposal)
    return found


def ledger() -> Ledger:
    return Ledger(cluster())


def holding() -> Ledger:
    """One with a session, of number 1."""
    found = ledger()
    found.commit(proposal())
    return found


def agents() -> Agents:
    found = Agents()
    found.store(STORED, bytes(range(40)))
    return found


@cache
def rebuilt() -> Rebuild:
    return TransferPlan(STORED.layout, "camera", 400.0, write=False).rebuild(1, 5, cluster())


@cache
def filled() -> FilledCluster:
    return fill(cluster(), ASKED)


@cache
def carried() -> LoadResult:
    return variable_load(cluster(), Economical(), [SessionClass(2e6, 20_000_000)], 10e6, sessions=40, seed=1, batches=3)


METHODS = {
    "Agents.lose": Face(lambda: {"agent": 1}, through=asked_of(agents, "lose")),
    "Agents.rebuild": Face(lambda: {"work": rebuilt()}, through=asked_of(agents, "rebuild")),
    "Agents.retrieve": Face(
        lambda: {"plan": TransferPlan(STORED.layout, "camera", 400.0, write=False)},
        through=asked_of(agents, "retrieve"),
    ),
    "Agents.store": Face(lambda: {"plan": STORED, "data": bytes(range(40))}, through=asked_of(Agents, "store")),
    "FilledCluster.check": Face(lambda: {"seed": 1}, through=asked_of(filled, "check")),
    **{
        f"Ledger.{method}": Face(lambda: {"proposal": proposal()}, through=asked_of(ledger, method))
        for method in ("commit", "examined", "fits")
    },
    "Ledger.release": Face(lambda: {"session": 1}, through=asked_of(holding, "release")),
    "Ledger.state": Face(lambda: {"client": "camera"}, through=asked_of(holding, "state")),
    "LoadResult.refused_share": Face(
        lambda: {"number": 0}, through=asked_of(carried, "refused_share"), optional=("number",)
    ),
    **{
        f"Mediator.{method}": Face(
            lambda: {"request": ASKED}, through=asked_of(lambda: Mediator(Ledger(cluster())), method)
        )
        for method in ("highest_rate", "propose", "request")
    },
    "SessionClass.request": Face(
        lambda: {"client": "camera", "start": 0.5},
        through=asked_of(lambda: SessionClass(2e6, 20_000_000), "request"),
        signed=("start",),
    ),
    "StripeLayout.group_of": Face(lambda: {"agent": 1}, through=asked_of(lambda: LAYOUT, "group_of")),
    "StripeLayout.over": Face(lambda: {"size": 400_000, "unit": 16 * KB, "agents": (0, 1, 2, 3, 4, 5), "group": 2}),
    "StripeLayout.period": Face(lambda: {"rate": 400e3}, through=asked_of(lambda: LAYOUT, "period")),
    "StripeLayout.replaced": Face(lambda: {"failed": 1, "spare": 5}, through=asked_of(lambda: LAYOUT, "replaced")),
    "TransferPlan.degraded": Face(
        lambda: {"failed": 3, "at": 1.5}, through=asked_of(lambda: PLAN, "degraded"), signed=("at",)
    ),
    "TransferPlan.rebuild": Face(
        lambda: {"failed": 1, "spare": 5, "cluster": cluster(), "share": 0.5},
        through=asked_of(lambda: PLAN, "rebuild"),
    ),
}

FACES = {
    **{f"mediator.{name}": face for name, face in METHODS.items()},
    "mediator.Agents": Face(),
    "mediator.Cluster": Face(lambda: {"disks": (DISK,) * 3, "agent": Host(), "client": Host(), "network": RING}),
    "mediator.Economical": Face(),
    "mediator.FirstFit": Face(),
    "mediator.Ledger": Face(lambda: {"cluster": cluster()}),
    "mediator.Mediator": Face(
        lambda: {"ledger": Ledger(cluster()), "policy": Economical(), "units": [16 * KB, 64 * KB]}
    ),
    "mediator.Request": Face(
        lambda: {
            "client": "camera",
            "rate": 400e3,
            "size": LAYOUT.size,
            "write": False,
            "buffer": 4_000_000,
            "layout": LAYOUT,
            "confidence": 0.99,
            "start": 0.5,
        },
        signed=("start",),
    ),
    "mediator.SessionClass": Face(
        lambda: {
            "rate": 400e3,
            "size": 400_000,
            "share": 0.5,
            "write": False,
            "group": 4,
            "buffer": 4_000_000,
            "confidence": 0.99,
            "name": "video",
        }
    ),
    "mediator.SmallUnits": Face(lambda: {"limit": 64 * KB}),
    "mediator.StripeLayout": Face(
        lambda: {"size": 400_000, "unit": 16 * KB, "groups": ((0, 1, 2), (3, 4)), "parity": True}
    ),
    "mediator.TransferPlan": Face(
        lambda: {
            "layout": LAYOUT,
            "client": "camera",
            "rate": 400e3,
            "write": False,
            "start": 0.5,
            "failures": ((3, 1.5),),
        },
        signed=("start", "failures"),
    ),
    "mediator.Widest": Face(),
    "mediator.check_seconds": Face(lambda: {"cluster": cluster(), "layout": LAYOUT}),
    "mediator.evenly": Face(lambda: {"cluster": cluster(), "request": ASKED, "units": [16 * KB, 64 * KB]}),
    "mediator.extra_write_bytes": Face(lambda: {"layout": LAYOUT}),
    "mediator.fill": Face(lambda: {"cluster": cluster(), "request": ASKED, "policy": Economical()}),
    "mediator.guaranteed_rate": Face(_alone),
    "mediator.rate_with_agent_down": Face(lambda: {**_alone(), "failed": 3}),
    "mediator.redundancy_cost": Face(_alone),
    "mediator.rehearse": Face(lambda: {"cluster": cluster(), "plans": [PLAN, PLAN], "seed": 1}),
    "mediator.storage_overhead": Face(lambda: {"layout": LAYOUT}),
    "mediator.variable_load": Face(
        lambda: {
            "cluster": cluster(),
            "policy": Economical(),
            "classes": [SessionClass(2e6, 20_000_000)],
            "offered": 10e6,
            "sessions": 40,
            "seed": 1,
            "batches": 3,
        },
        optional=("policy",),
    ),
}
# what a mediator asks, of shapes and agents that it has made and tested
POLICY = "a mediator asks its policy, with shapes and agents that it has made"
CHOSEN = "picks of the mediator's own arrays, by masks and positions that it has computed"
NOT_ASKED = dict.fromkeys(
    (
        f"mediator.{name}"
        for name in (
            "Admitted",
            "Blocks",
            "Even",
            "FilledCluster",
            "Interval",
            "LoadResult",
            "Proposal",
            "Rebuild",
            "RedundancyCost",
            "Rejected",
            "Rehearsal",
            "StripeShapes",
            "Transfers",
            "Utilization",
        )
    ),
    RESULT,
)
NOT_ASKED |= dict.fromkeys(
    (
        f"mediator.{policy}.{method}"
        for policy in ("Economical", "FirstFit", "SmallUnits", "Widest")
        for method in ("agents", "order")
    ),
    POLICY,
)
NOT_ASKED |= dict.fromkeys(
    (
        f"mediator.{name}"
        for name in (
            "Blocks.where",
            "Even.best",
            "Interval.of",
            "StripeShapes.where",
            "Transfers.delayed",
            "Transfers.timed",
            "Transfers.where",
        )
    ),
    CHOSEN,
)
