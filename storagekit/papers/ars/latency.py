"""Figure 7: response times as a function of the latency between nodes.

Times are in seconds. The model has no latency between clients and nodes, because the figure of the paper subtracts it.
"""

from collections.abc import Sequence

import xarray as xr

from storagekit.core.units import MS
from storagekit.dispatch import Preselection
from storagekit.engine import Scenario
from storagekit.papers.ars.cluster import (
    ADAPTIVE,
    AT_ONCE,
    DSPTF,
    PROTOCOLS,
    WITHIN,
    cluster,
    effort,
    layout,
    synthetic,
)
from storagekit.papers.ars.comparing import swept
from storagekit.papers.effort import Effort
from storagekit.papers.measurement import Measurement
from storagekit.papers.rows import Row, chosen, judging
from storagekit.simulation import interval

QUICK = effort("quick")
LATENCIES = tuple(ms * MS for ms in (0.1, 1, 2, 5, 10))
# The verdict follows from the second protocol, under which an idle node waits for two latencies. Under the third an
# idle node waits at most until the data are under the head. Under the last it does not wait.
FOUR_WAITS = (ADAPTIVE, DSPTF, WITHIN, AT_ONCE)
WAITS = {DSPTF: 1, WITHIN: 2, AT_ONCE: 0}


def fig7(
    effort: Effort = QUICK,
    *,
    latencies: Sequence[float] = LATENCIES,
    protocols: Sequence[Row] = FOUR_WAITS,
    load: float = 1.0,
    on: str = "scaled",
) -> xr.Dataset:
    """Return the response times at each one-way latency between nodes (figure 7). Half of the requests are writes.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    latencies : sequence of float
        One-way latencies between nodes, seconds.
    protocols : sequence
        Protocols of `FOUR_WAITS`, and pairs of a name and a dispatcher of your own.
    load : float
        Multiple of the published load.
    on : str
        The layout, see `cluster.layout`.

    Returns
    -------
    Dataset
        `response` over `protocol`, `latency` and `seed`.

    Notes
    -----
    Under ARS nodes send no messages to one another. The response time of ARS is therefore the same at every latency.
    """
    volumes = layout(on)
    names, own = chosen(protocols, FOUR_WAITS, "protocol")
    same = {ADAPTIVE: PROTOCOLS[ADAPTIVE](), **own}

    def run(protocol: str, latency: float) -> Scenario:
        claiming = Preselection(latency, waits=WAITS.get(protocol, 0))
        return cluster(same.get(protocol, claiming), synthetic(read_share=0.5, load=load, on=volumes), on=volumes)

    return swept(run, {"protocol": names, "latency": list(latencies)}, effort, "fig7")


@judging("protocol", FOUR_WAITS)
def fig7_findings(data: xr.Dataset, busy: xr.Dataset | None = None) -> list[Measurement]:
    """Return the findings on the response times of ARS and of D-SPTF as the latency grows (figure 7).

    Parameters
    ----------
    data : Dataset
        Result of `fig7`.
    busy : Dataset, optional
        Result of `fig7` at a higher load, for the note on D-SPTF.

    Returns
    -------
    list of Measurement
        One finding for each claim of `ars.fig7`.

    Raises
    ------
    InputError
        If `data` lacks a protocol of `FOUR_WAITS`.
    """
    response = data.response
    ars = response.sel(protocol=ADAPTIVE)
    flat = bool((abs(ars / ars.isel(latency=0) - 1) < 1e-6).all())
    ms = ", ".join(f"{float(one) / MS:g}" for one in data.latency.values)
    loaded = "" if busy is None else f" At the higher load, D-SPTF takes {_points(busy, DSPTF)} ms at these latencies."
    return [
        Measurement(
            "ars.fig7.ars_flat",
            flat,
            note="The claim holds if the response time of ARS is the same at all latencies. Under ARS nodes send no "
            "messages to one another, so the claim holds by construction.",
        ),
        Measurement(
            "ars.fig7.dsptf_rises",
            _risen(data, DSPTF),
            note=(
                "The claim holds if the response time of D-SPTF is longer at the largest latency than at the smallest, "
                f"with 95% confidence. At latencies of {ms} ms, D-SPTF takes {_points(data, DSPTF)} ms, respectively, "
                f"and ARS takes {_points(data.isel(latency=[0]), ADAPTIVE)} ms.{loaded} In this model, an idle node "
                "waits for two latencies before it starts an access. The paper lists how its D-SPTF differs from the "
                "original protocol, and the list does not change this wait. In section 3.1 of the paper on the "
                "original D-SPTF, the wait ends at the latest when the data are under the head. With this limit, "
                f"D-SPTF takes {_points(data, WITHIN)} ms at these latencies. If idle nodes start immediately, D-SPTF "
                f"takes {_points(data, AT_ONCE)} ms."
            ),
        ),
    ]


def _risen(data: xr.Dataset, protocol: str) -> bool:
    """Return whether the response time is longer at the largest latency than at the smallest latency.

    The difference must be above 0 with 95% confidence.
    """
    its = data.response.sel(protocol=protocol)
    rise = interval((its.isel(latency=-1) - its.isel(latency=0)).to_dataset(name="rise")).rise
    return bool(rise.sel(statistic="low") > 0)


def _points(data: xr.Dataset, protocol: str) -> str:
    means = data.response.sel(protocol=protocol).mean("seed") / MS
    return ", ".join(f"{float(one):.1f}" for one in means.values)
