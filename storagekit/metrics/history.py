"""Long runs of a few scenarios, as they go: sums by stretches of the run, in memory that does not grow with its length."""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import pandas as pd
import xarray as xr
from tqdm import tqdm

from storagekit.checks import require, require_kind, require_takes
from storagekit.engine import Record, Runner, Scenario, State, Tally, lanes_of, stack, steps
from storagekit.errors import InputError
from storagekit.kinds import takes, text
from storagekit.metrics.experiment import built, check_axes, grid, listed
from storagekit.metrics.extent import NUMERIC, REQUESTS, extent
from storagekit.metrics.measures import Measure, measured, sums_of
from storagekit.metrics.provenance import provenance
from storagekit.metrics.provisioning import fewest, groups, provided
from storagekit.metrics.standard import beside

# chunks of events between two looks at the sums
STRIDE = 64
# where System.slots is not given: a long run is not tried with few first
SLOTS = 256


class History(NamedTuple):
    """Measures over the axes: of the whole run after its warm-up, and of its stretches (dimension `piece`, its coordinate the
    share of the run at the middle of each, warm-up included)."""

    whole: xr.Dataset
    pieces: xr.Dataset


@takes(requests=REQUESTS, pieces=REQUESTS, warm_up=NUMERIC, title=text)
def history(
    build: Callable[..., Scenario],
    axes: Mapping[str, Sequence[Any]],
    *,
    requests: int,
    seeds: Sequence[int] = (0,),
    pieces: int = 40,
    warm_up: float = 0.0,
    at_end: Callable[[State, np.ndarray], None] = lambda state, lanes: None,
    title: str = "replaying",
    measures: Sequence[Measure] = (),
) -> History:
    """`build(**point)` run at every point of the grid that `axes` spans until `requests` are answered.

    Each point is run once for every seed, from which the phases of its spindles come (dimension `seed`). Scenarios may differ
    in numbers only, their number of drives among them, so that they are lanes of one compilation; arrays must be shared, such
    as the requests of a trace. Requests may wait outside for a slot (`held_up`); systems without `slots` get 256 of them.
    warm_up: the share of the run that `whole` leaves out, in whole pieces. at_end: called with the last state of some lanes,
    and which of point * seeds + seed they are. measures: of one's own, beside the standard ones.
    Raises InputError where the scenarios differ in structure.
    """
    require_kind("axes", axes, Mapping, "a mapping of build's parameters to values, as {'replicas': [2, 4]}")
    require_takes("at_end", at_end, ("state", "lanes"))
    seeds, asked = listed(seeds), beside(measures)
    check_axes(axes, asked)
    require(0 <= warm_up < 1, "warm-up of", warm_up, "at least 0 and below 1", "of the run")
    if pieces >= 1 and np.ceil(warm_up * pieces) >= pieces:
        raise InputError(f"warm-up of {warm_up:g} of the run: no whole piece of {pieces} is left; raise pieces")
    if not 1 <= pieces <= requests:
        raise InputError(f"{pieces} pieces of {requests} requests: give at least one, and a request to each")
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    if not points:
        raise InputError("an axis has no values; give each at least one")
    scenarios = [built(build, point) for point in points]
    alike = [some for _, some in groups(scenarios)]
    scenarios = alike[0] if len(alike) == 1 else scenarios
    scenarios = provided(scenarios, max(SLOTS, fewest(scenarios)))
    began = time.perf_counter()
    merged, key = stack(scenarios, seeds)
    lanes = key.shape[1]
    parts: list[Tally] = []
    with tqdm(total=requests * lanes, desc=title, unit="req", delay=2, leave=False) as bar:
        for members in _few_at_a_time(lanes):
            runner = Runner(lanes_of(merged, members), key[:, members], Record(sums_of(asked)))
            parts.append(_by_piece(runner, requests, pieces, bar))
            at_end(runner.run.state, members)
    # a lane that was repeated to fill up the last round is dropped
    sums = {name: np.concatenate([part[name] for part in parts], axis=2)[:, :, :lanes] for name in parts[0]}
    length = extent(requests, None, int(warm_up * requests))
    told = provenance(scenarios, axes, seeds, length.told, time.perf_counter() - began)
    bricks = np.repeat([int(scenario.system.placement.drives) for scenario in scenarios], len(seeds))
    whole = {name: part[int(np.ceil(warm_up * pieces)) :].sum(axis=0) for name, part in sums.items()}
    split = {name: np.moveaxis(part, 0, 2).reshape(part.shape[1], -1) for name, part in sums.items()}
    of_lane = {"point": np.arange(len(points)), "seed": list(seeds)}
    of_piece = {**of_lane, "piece": (np.arange(pieces) + 0.5) / pieces}
    parted = (measured(whole, bricks, asked), of_lane), (measured(split, np.repeat(bricks, pieces), asked), of_piece)
    found = (grid(_along(data, dims), axes) for data, dims in parted)
    return History(*(data.assign_attrs(told) for data in found))


def _along(data: xr.Dataset, dims: Mapping[str, Sequence[Any] | np.ndarray]) -> xr.Dataset:
    """The dimension `lane` as those of which it is the product, the last varying fastest."""
    lanes = pd.MultiIndex.from_product(list(dims.values()), names=list(dims))
    data = data.assign_coords(xr.Coordinates.from_pandas_multiindex(lanes, "lane"))
    return data.unstack("lane").drop_vars("point")


def _few_at_a_time(lanes: int) -> list[np.ndarray]:
    """Lanes that go through the loop together: all on an accelerator, on a CPU one on each device, the last of all repeated
    where it does not come out even.

    One on each, because lanes with memory have little in common: what one does in an event, all wait for.
    """
    wide = min(len(jax.devices()), lanes) if jax.default_backend() == "cpu" else lanes
    return [np.minimum(np.arange(first, first + wide), lanes - 1) for first in range(0, lanes, wide)]


def _by_piece(runner: Runner, requests: int, pieces: int, bar: tqdm) -> Tally:
    """Sums `[piece, row, lane]`: a chunk of events counts for the piece in which it began."""
    sums: Tally = {}
    answered = np.zeros(runner.run.first.shape[1], np.int64)
    for tally, _ in steps(runner, requests, stride=STRIDE):
        sums = sums or {name: np.zeros((pieces, *part.shape[1:])) for name, part in tally.items()}
        done = tally["answered"][:, 0].astype(np.int64)
        before = answered + np.cumsum(done, axis=0) - done
        piece = np.minimum(before * pieces // requests, pieces - 1)
        for name, part in tally.items():
            row, lane = np.arange(part.shape[1])[:, None], np.arange(part.shape[2])
            np.add.at(sums[name], (piece[:, None, :], row, lane), part)
        bar.update(int(np.minimum(done.sum(axis=0), requests - np.minimum(answered, requests)).sum()))
        answered += done.sum(axis=0)
    return sums
