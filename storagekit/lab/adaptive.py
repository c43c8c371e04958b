"""Simulation of the shares of requests at four nodes of any speed, with ARS, random and central selection."""

import pandas as pd
import xarray as xr

from storagekit.charts import AnswerText, Dashboard, Slider, StepsControl
from storagekit.core.units import MS
from storagekit.lab.page import LabPage
from storagekit.papers.ars import draw
from storagekit.papers.ars.what_if import what_if


def answer(
    speed_0: float, speed_1: float, speed_2: float, speed_3: float, needed: int, rate: float, window: float
) -> xr.Dataset:
    """Return the result of `storagekit.papers.ars.what_if` for the values of the controls, with speeds in percent."""
    speeds = (one / 100 for one in (speed_0, speed_1, speed_2, speed_3))
    return what_if(*speeds, needed=int(needed), rate=rate, window=window)


def words(found: xr.Dataset) -> AnswerText:
    """Return a text: the fastest and the slowest protocol, and whether all protocols sustain the load."""
    response = found.mean_response.to_series().sort_values()
    rate = float(found.attrs["arrival_rate"])
    table = pd.DataFrame(
        {
            "mean response (ms)": response.to_numpy() / MS,
            "reads/s": [float(found.throughput.sel(protocol=one)) for one in response.index],
        },
        index=pd.Index(response.index, name="protocol"),
    )
    served = (
        "every protocol sustains it"
        if float(found.throughput.min()) > 0.95 * rate
        else "at least one protocol does not sustain it"
    )
    headline = (
        f"Mean response time: {response.index[0]} {response.iloc[0] / MS:.1f} ms, "
        f"{response.index[-1]} {response.iloc[-1] / MS:.1f} ms"
    )
    return AnswerText(headline, [f"The load is {rate:g} reads/s; {served}."], table)


def dashboard() -> Dashboard:
    """Return the interactive page with its controls, as a `Dashboard`."""
    speeds = {
        f"speed_{node}": Slider(
            f"Speed of node {node} (%)", 50 if node == 3 else 100, 10, 100, 5, few=[50, 100] if node == 3 else [100]
        )
        for node in range(4)
    }
    controls = speeds | {
        "needed": Slider("Fragments needed (of 4)", 1, 1, 4, few=[1, 2, 4]),
        "rate": Slider("Reads/s", 150, 10, 400, 10, few=[50, 150, 300]),
        "window": StepsControl("Window of ARS (s)", 1, [0.1, 0.2, 0.5, 1, 2, 5, 10], few=[0.1, 1, 10]),
    }
    waiting = "Compiling the three simulations: up to half a minute the first time, and a few seconds after that."
    return Dashboard(answer, draw.what_if, controls, words, waiting)


PAGE = LabPage(
    "Nodes of different speeds",
    "Four nodes with one disk each hold the same data, as copies or as fragments. Clients of ARS adapt the share of "
    "each node to the response times of the nodes.",
    dashboard,
)
