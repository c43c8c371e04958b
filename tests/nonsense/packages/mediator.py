"""Valid calls of the mediator and its cluster."""

from functools import cache

from nonsense.attack import ValidCall
from nonsense.public_callables import method_of

from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.core.units import KB, MS
from storagekit.mediator import (
    Agents,
    Cluster,
    Economical,
    FilledCluster,
    LoadResult,
    Mediator,
    Proposal,
    Rebuild,
    Request,
    Reservations,
    SessionClass,
    StripeLayout,
    TransferPlan,
    fill,
    variable_load,
)

# returned by the mediator and its functions, never created by a user
RESULT = "a result, or part of a result, of a function"

DISK, RING = Disk(16 * MS, 8.3 * MS, 2.5e6), Network(125e6)
LAYOUT = StripeLayout(400_000, 16 * KB, ((0, 1, 2), (3, 4)), True)
PLAN = TransferPlan(LAYOUT, "camera", 400e3, write=False)
STORED = TransferPlan(StripeLayout(40, 16, ((0, 1, 2), (3, 4)), True), "camera", 400.0, write=True)
# such a high rate that few sessions fit
REQUEST = Request("camera", 2e6, 20_000_000, group=4)


@cache
def cluster() -> Cluster:
    return Cluster((DISK,) * 6, Host(), Host(), RING)


@cache
def mediator() -> Mediator:
    return Mediator(Reservations(cluster()))


@cache
def proposal() -> Proposal:
    found = mediator().propose(REQUEST)
    assert isinstance(found, Proposal)
    return found


def reservations() -> Reservations:
    return Reservations(cluster())


def holding() -> Reservations:
    """Return reservations with one session, number 1."""
    found = reservations()
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
    return fill(cluster(), REQUEST)


@cache
def carried() -> LoadResult:
    return variable_load(cluster(), Economical(), [SessionClass(2e6, 20_000_000)], 10e6, sessions=40, seed=1, batches=3)


METHODS = {
    "Agents.lose": ValidCall(lambda: {"agent": 1}, through=method_of(agents, "lose")),
    "Agents.rebuild": ValidCall(lambda: {"work": rebuilt()}, through=method_of(agents, "rebuild")),
    "Agents.retrieve": ValidCall(
        lambda: {"plan": TransferPlan(STORED.layout, "camera", 400.0, write=False)},
        through=method_of(agents, "retrieve"),
    ),
    "Agents.store": ValidCall(lambda: {"plan": STORED, "data": bytes(range(40))}, through=method_of(Agents, "store")),
    "FilledCluster.check": ValidCall(lambda: {"seed": 1}, through=method_of(filled, "check")),
    **{
        f"Reservations.{method}": ValidCall(lambda: {"proposal": proposal()}, through=method_of(reservations, method))
        for method in ("commit", "violation")
    },
    "Reservations.release": ValidCall(lambda: {"session": 1}, through=method_of(holding, "release")),
    "Reservations.state": ValidCall(lambda: {"client": "camera"}, through=method_of(holding, "state")),
    "LoadResult.refused_share": ValidCall(
        lambda: {"number": 0}, through=method_of(carried, "refused_share"), optional=("number",)
    ),
    **{
        f"Mediator.{method}": ValidCall(
            lambda: {"request": REQUEST}, through=method_of(lambda: Mediator(Reservations(cluster())), method)
        )
        for method in ("highest_rate", "propose", "request")
    },
    "SessionClass.request": ValidCall(
        lambda: {"client": "camera", "start": 0.5},
        through=method_of(lambda: SessionClass(2e6, 20_000_000), "request"),
        signed=("start",),
    ),
    "StripeLayout.group_of": ValidCall(lambda: {"agent": 1}, through=method_of(lambda: LAYOUT, "group_of")),
    "StripeLayout.over": ValidCall(
        lambda: {"size": 400_000, "unit": 16 * KB, "agents": (0, 1, 2, 3, 4, 5), "group": 2}
    ),
    "StripeLayout.replaced": ValidCall(
        lambda: {"failed": 1, "spare": 5}, through=method_of(lambda: LAYOUT, "replaced")
    ),
    "TransferPlan.degraded": ValidCall(
        lambda: {"failed": 3, "at": 1.5}, through=method_of(lambda: PLAN, "degraded"), signed=("at",)
    ),
    "TransferPlan.rebuild": ValidCall(
        lambda: {"failed": 1, "spare": 5, "cluster": cluster(), "share": 0.5},
        through=method_of(lambda: PLAN, "rebuild"),
    ),
}

VALID_CALLS = {
    **{f"mediator.{name}": face for name, face in METHODS.items()},
    "mediator.Agents": ValidCall(),
    "mediator.Cluster": ValidCall(lambda: {"disks": (DISK,) * 3, "agent": Host(), "client": Host(), "network": RING}),
    "mediator.Economical": ValidCall(),
    "mediator.FirstFit": ValidCall(),
    "mediator.Reservations": ValidCall(lambda: {"cluster": cluster()}),
    "mediator.Mediator": ValidCall(
        lambda: {"reservations": Reservations(cluster()), "policy": Economical(), "units": [16 * KB, 64 * KB]}
    ),
    "mediator.Request": ValidCall(
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
    "mediator.SessionClass": ValidCall(
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
    "mediator.SmallUnits": ValidCall(lambda: {"limit": 64 * KB}),
    "mediator.StripeLayout": ValidCall(
        lambda: {"size": 400_000, "unit": 16 * KB, "groups": ((0, 1, 2), (3, 4)), "parity": True}
    ),
    "mediator.TransferPlan": ValidCall(
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
    "mediator.Widest": ValidCall(),
    "mediator.balanced": ValidCall(lambda: {"cluster": cluster(), "request": REQUEST, "units": [16 * KB, 64 * KB]}),
    "mediator.fill": ValidCall(lambda: {"cluster": cluster(), "request": REQUEST, "policy": Economical()}),
    "mediator.redundancy_cost": ValidCall(
        lambda: {"cluster": cluster(), "layout": LAYOUT, "write": False, "confidence": 0.99}
    ),
    "mediator.simulate": ValidCall(lambda: {"cluster": cluster(), "plans": [PLAN, PLAN], "seed": 1}),
    "mediator.variable_load": ValidCall(
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
# called only by a mediator, with shapes and agents that it has created and tested
POLICY = "called only by a mediator, with shapes and agents that it has created"
CHOSEN = "selects from the mediator's arrays, with masks and positions that it has computed"
NOT_ATTACKED = dict.fromkeys(
    (
        f"mediator.{name}"
        for name in (
            "Admitted",
            "Blocks",
            "Balanced",
            "FilledCluster",
            "Interval",
            "LoadResult",
            "Proposal",
            "Rebuild",
            "RedundancyCost",
            "Rejected",
            "SimulatedTransfers",
            "StripeShapes",
            "Transfers",
            "Utilization",
        )
    ),
    RESULT,
)
NOT_ATTACKED |= dict.fromkeys(
    (
        f"mediator.{policy}.{method}"
        for policy in ("Economical", "FirstFit", "SmallUnits", "Widest")
        for method in ("agents", "order")
    ),
    POLICY,
)
NOT_ATTACKED |= dict.fromkeys(
    (
        f"mediator.{name}"
        for name in (
            "Blocks.where",
            "Balanced.best",
            "Interval.of",
            "StripeShapes.joined",
            "StripeShapes.where",
            "Transfers.timed",
            "Transfers.where",
        )
    ),
    CHOSEN,
)
