"""Response times against the latency between nodes: figure 7.

Times in seconds. The network between clients and nodes is left out, as the figure takes it off.
"""

from collections.abc import Sequence

import xarray as xr

from storagekit.dispatch import Preselection
from storagekit.engine import Scenario
from storagekit.metrics import Measurement, interval
from storagekit.papers.ars.cluster import ADAPTIVE, PROTOCOLS, cluster, effort, layout, synthetic
from storagekit.papers.ars.comparing import swept
from storagekit.papers.effort import Effort
from storagekit.papers.rows import Row, chosen, judging
from storagekit.units import MS

QUICK = effort("quick")
LATENCIES = tuple(ms * MS for ms in (0.1, 1, 2, 5, 10))
# what an idle node does with a request, see `claims.Preselection`
AT_ONCE, WAITING = "D-SPTF, idle nodes begin at once", "D-SPTF, idle nodes wait for claims"
THREE = (ADAPTIVE, AT_ONCE, WAITING)


def fig7(
    effort: Effort = QUICK,
    *,
    latencies: Sequence[float] = LATENCIES,
    protocols: Sequence[Row] = THREE,
    load: float = 1.0,
    on: str = "scaled",
) -> xr.Dataset:
    """Response times, half the requests writes, against the one-way latency (figure 7); `load` times the published one.
    protocols, and on, how the volumes are put on the nodes: see `fig4`.

    Nodes tell one another nothing under ARS, so that it is the same at every latency, by construction.
    """
    volumes = layout(on)
    names, own = chosen(protocols, THREE, "protocol")
    same = {ADAPTIVE: PROTOCOLS[ADAPTIVE](), **own}

    def run(protocol: str, latency: float) -> Scenario:
        settled = Preselection(latency, waits=int(protocol == WAITING))
        return cluster(same.get(protocol, settled), synthetic(read_share=0.5, load=load, on=volumes), on=volumes)

    return swept(run, {"protocol": names, "latency": list(latencies)}, effort, "fig7")


@judging("protocol", THREE)
def fig7_findings(data: xr.Dataset, busy: xr.Dataset | None = None) -> list[Measurement]:
    """Figure 7: from the least latency to the largest. busy: at a higher load."""
    response = data.response
    ars = response.sel(protocol=ADAPTIVE)
    flat = bool((abs(ars / ars.isel(latency=0) - 1) < 1e-6).all())
    risen = {name: _risen(data, name) for name in (AT_ONCE, WAITING)}
    words = "; ".join(f"{name}: {_points(data, name)}" for name in risen)
    loaded = "" if busy is None else "; at the higher load " + "; ".join(_points(busy, name) for name in risen)
    return [
        Measurement("ars.fig7.ars_flat", flat, note="nodes tell one another nothing"),
        Measurement(
            "ars.fig7.dsptf_rises",
            risen[AT_ONCE],
            note=f"ms at {', '.join(f'{float(one) / MS:g}' for one in data.latency.values)} ms; {words}{loaded}; "
            "held against idle nodes that begin at once, as in the figures before; where they wait twice that it must rise",
        ),
    ]


def _risen(data: xr.Dataset, protocol: str) -> bool:
    """Whether the response at the largest latency is above that at the least, for certain."""
    its = data.response.sel(protocol=protocol)
    rise = interval((its.isel(latency=-1) - its.isel(latency=0)).to_dataset(name="rise")).rise
    return bool(rise.sel(statistic="low") > 0)


def _points(data: xr.Dataset, protocol: str) -> str:
    means = data.response.sel(protocol=protocol).mean("seed") / MS
    return ", ".join(f"{float(one):.1f}" for one in means.values)
