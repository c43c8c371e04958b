"""Worked examples of the paper: the delays of figures 5 and 7, and the cap of equation 12."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
import xarray as xr

from storagekit.core.batching import real
from storagekit.core.provenance import made_by
from storagekit.papers.dsfq.sharing import MINIMUM, A, B
from storagekit.papers.measurement import Measurement
from storagekit.queue import AbstractCoordinators, Hybrid, InTurn, OneCoordinator, account, empty_ledger, prices
from storagekit.workload import empty_request

# The brick of each request in figures 5 and 7, reconstructed from the delays at A in the text. Requests cost 1.
STREAM = (A, B, B, A, A)
SETTINGS: dict[str, AbstractCoordinators] = {"one coordinator": OneCoordinator(), "two in turn": InTurn(2)}


def example_delays(stream: Sequence[int] = STREAM) -> xr.Dataset:
    """Return the delays of requests of cost 1, with one and with two coordinators (figures 5 and 7).

    Parameters
    ----------
    stream : sequence of int
        Brick of each request.

    Returns
    -------
    Dataset
        Over `setting` ("one coordinator", "two in turn") and `request` (numbers 1, 2, ...): `delay`, in units of cost;
        `coordinator`, the number of the coordinator that sends the request. Over `request`: `brick`, its name.
    """
    found = [_sent(coordinators, stream) for coordinators in SETTINGS.values()]
    delays, who = (np.array(part) for part in zip(*found, strict=True))
    return xr.Dataset(
        {
            "delay": (
                ("setting", "request"),
                delays,
                {"units": "1", "long_name": "cost sent to other bricks since the last request"},
            ),
            "coordinator": (("setting", "request"), who + 1),
            "brick": ("request", ["AB"[brick] for brick in stream]),
        },
        coords={"setting": list(SETTINGS), "request": np.arange(1, len(stream) + 1)},
    ).assign_attrs(made_by("analytic") | {"paper": "dsfq", "exhibit": "dsfq.example_delays"})


def example_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on figures 5 and 7 and on equations 11 and 12.

    Parameters
    ----------
    data : Dataset
        Result of `example_delays`.

    Returns
    -------
    list of Measurement
        One finding for each delay of `dsfq.example_delays`, and the findings on `dsfq.hybrid.factor` and
        `dsfq.hybrid.single`.
    """
    to_a = data.isel(request=np.flatnonzero(data.brick.values == "A"))
    one = to_a.delay.sel(setting="one coordinator").values
    two = to_a.sel(setting="two in turn")
    rows = [
        Measurement(f"dsfq.example_delays.one[{ordinal}]", float(delay), basis="analytic")
        for ordinal, delay in zip(("first", "second", "third"), one, strict=True)
    ]
    for number, ordinal in ((1, "first"), (2, "second")):
        for index, delay in enumerate(two.delay.values[two.coordinator.values == number]):
            rows.append(Measurement(f"dsfq.example_delays.two[{ordinal},{index}]", float(delay), basis="analytic"))
    factor, none = (_cap(minimum) for minimum in (MINIMUM, 1 / 2))
    return [
        *rows,
        Measurement("dsfq.hybrid.factor", factor, basis="analytic"),
        Measurement(
            "dsfq.hybrid.single",
            none == 0,
            basis="analytic",
            note=(
                "The claim holds if requests have no delay when the minimum share of a stream is its whole share by "
                f"weight. By equation 11, the largest delay of a request is then {none:g} times the cost of the "
                "request."
            ),
        ),
    ]


def _cap(minimum: float) -> float:
    """Return the largest delay of a request, divided by its cost, if two streams have equal weights.

    The stream of the request has the minimum share `minimum`.
    """
    of = prices((real(1), real(1)), Hybrid((1 / 2, minimum)), jnp.zeros(1))
    return round(float(of.cap[1] / of.unit[1]), 4)


def _sent(coordinators: AbstractCoordinators, stream: Sequence[int]) -> tuple[list[int], list[int]]:
    bricks = max(stream) + 1
    ledger, state, always = empty_ledger(coordinators.most, bricks, ()), coordinators.init(1, ()), jnp.ones(1, bool)
    delays, who = [], []
    for brick in stream:
        chosen, state = coordinators.choose(state, empty_request(()), always, bricks)
        receives = jnp.arange(bricks) == brick
        ledger, service_elsewhere = account(ledger, chosen, jnp.ones(bricks, jnp.uint32), receives)
        delays.append(int(service_elsewhere[brick]))
        who.append(int(chosen[0]))
    return delays, who
