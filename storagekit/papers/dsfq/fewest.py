"""A counterexample to theorem 4 as printed: a run with few requests that exceeds the bound, as a timeline."""

import time
from dataclasses import replace

import jax
import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from storagekit.analytic.fairness import printed, repaired, worst_interval
from storagekit.engine import NO_REQUEST, keys
from storagekit.papers.dsfq.drawing import changed, constructed
from storagekit.papers.dsfq.measuring import (
    PAIRS,
    backlogged,
    observed_requests,
    share,
    total_bound,
    total_service,
    unfairness,
)
from storagekit.papers.dsfq.search import QUICK, SearchEffort
from storagekit.papers.dsfq.settings import BRICKS, Settings, total
from storagekit.papers.dsfq.theorems import all_runs, made
from storagekit.papers.dsfq.watching import Watched
from storagekit.simulation import described

# Numbers of events after which a run is examined, and number of chunks of events that contain all of these events.
LOOKS, CHUNKS = tuple(round(24 * 1.15**step) for step in range(27)), 8
NEVER = np.iinfo(np.int64).max


def counterexample(effort: SearchEffort = QUICK) -> xr.Dataset:
    """Return a run of TOTAL-DSFQ that exceeds the printed bound of theorem 4 with few requests.

    Each stream has several coordinators. A search begins with the second setting of `drawing.constructed`, changes it
    at random, and keeps a change if the bound is exceeded with fewer requests.

    Parameters
    ----------
    effort : SearchEffort
        Extent of the search.

    Returns
    -------
    Dataset
        Variables over `time`, the times of events in seconds since the start of the worst interval. `served`, over
        `stream` and `brick` too: sectors served since that start. `unfairness`: difference of the services of the two
        streams since that start, each divided by the weight of the stream. Attributes: `bound`, the bound as printed;
        `repaired`, the bound as corrected by us; `unfair`, the unfairness over the whole interval; `share`, this
        unfairness divided by the printed bound; `shared`, the brick where both streams are backlogged; `requests`, the
        number of requests sent; `coordinators`; `depth`; and for each stream its weight, largest costs and largest
        batches.
    """
    began, generator = time.perf_counter(), np.random.default_rng([effort.first_seed, 4])
    settings = constructed()[1:]
    fewest = needed(settings, effort.first_seed)
    for _ in range(2 * effort.rounds):
        others = changed(generator, settings[np.zeros(2 * effort.children, int)])
        others = replace(others, coordinators=np.maximum(others.coordinators, 2))
        together = settings.beside(others)
        count = np.concatenate([fewest, needed(others, effort.first_seed)])
        # With equal numbers of requests, prefer fewer threads, then fewer coordinators.
        best = np.lexsort((together.coordinators, together.threads.sum(axis=0), count))[:1]
        settings, fewest = together[best], count[best]
    return _timeline(settings, effort).assign_attrs(
        made("dsfq.counterexample", effort, began) | described([total(settings)])
    )


def needed(settings: Settings, seed: int) -> Int[np.ndarray, " n"]:
    """Return, for each setting, the number of requests until a run exceeds the printed bound of theorem 4, or NEVER.

    The bound depends on parameters that are measured in the run. It must be exceeded with the parameters up to that
    request, and with the parameters of the whole run.

    Parameters
    ----------
    settings : Settings
        The settings.
    seed : int
        Seed of the requests.
    """
    log = _run(settings, seed)
    found = np.full(len(settings), NEVER)
    assert log.sent is not None
    sent = (log.sent.stream != NO_REQUEST).cumsum(axis=0)
    for look in reversed(LOOKS):
        until = first(log, look)
        taken = total_service(settings, observed_requests(until), unfairness(until, settings.weights), printed)
        found = np.where(taken > 1, sent[look - 1], found)
    whole = total_service(settings, observed_requests(log), unfairness(log, settings.weights), printed)
    return np.where(whole > 1, found, NEVER)


def first(log: Watched, events: int) -> Watched:
    """Return the first events of a log.

    Parameters
    ----------
    log : Watched
        The log.
    events : int
        Number of events.
    """
    return jax.tree.map(lambda column: column[:events], log)


def _run(settings: Settings, seed: int) -> Watched:
    return all_runs(total(settings), np.tile(keys([seed]), (1, len(settings))), CHUNKS)


def _timeline(settings: Settings, effort: SearchEffort) -> xr.Dataset:
    """Return the timeline of the worst interval in the run of one setting; see `counterexample`."""
    log = _run(settings, effort.first_seed)
    looks = [first(log, look) for look in LOOKS]
    broken = [one for one in looks if _shares(settings, one, printed).max() > 1]
    # Take the shortest part of the run that exceeds the bound. If no part exceeds it, take the longest part.
    until = (broken or looks[-1:])[0]
    of_bound = _shares(settings, until, printed)
    pair, brick = np.unravel_index(of_bound.argmax(), of_bound.shape)
    run = observed_requests(until)
    interpretations = [
        float(total_bound(settings, run, interpretation)[pair, brick, 0]) for interpretation in (printed, repaired)
    ]
    f, g = PAIRS[pair]
    cost = np.where(until.brick == NO_REQUEST, 0, until.cost)[:, 0].astype(float)
    mine = (until.stream[:, 0, None] == np.array([f, g]))[:, :, None] & (until.brick[:, 0, None] == np.arange(BRICKS))[
        :, None
    ]
    served = cost[:, None, None] * mine
    both, gap = backlogged(until, np.array([1 << f | 1 << g], np.uint32))
    begin, end = worst_interval(
        served.sum(axis=2) / settings.weights[[f, g], 0], both[:, 0, brick, 0], gap[:, 0, brick, 0]
    )
    inside = slice(begin + 1, end + 1)
    path = served[inside].cumsum(axis=0)
    apart = np.abs(np.diff(path.sum(axis=2) / settings.weights[[f, g], 0], axis=1)[:, 0])
    now = until.elapsed[:, 0].cumsum(dtype=float)
    data = xr.Dataset(
        {
            "served": (("time", "stream", "brick"), path, {"units": "sectors"}),
            "unfairness": ("time", apart, {"units": "sectors"}),
        },
        coords={"time": ("time", now[inside] - now[begin], {"units": "s"}), "stream": ["f", "g"], "brick": list("ABC")},
    )
    assert until.sent is not None
    of = {
        "bound": interpretations[0],
        "repaired": interpretations[1],
        "unfair": float(apart[-1]),
        "share": float(of_bound.max()),
        "shared": "ABC"[brick],
    }
    of |= {"requests": int((until.sent.stream != NO_REQUEST).sum()), "depth": int(settings.depth[0])}
    of |= {"coordinators": int(settings.coordinators[0]), "random": int(settings.random[0])}
    for name, which in zip("fg", (f, g), strict=True):
        of[f"weight of {name}"] = float(settings.weights[which, 0])
        of[f"largest costs of {name}"] = run.largest[which, :, 0].tolist()
        of[f"largest batches of {name}"] = run.batch[which, :, 0].tolist()
    return data.assign_attrs(of)


def _shares(settings: Settings, log: Watched, interpretation) -> Float[np.ndarray, "pair brick"]:
    return share(
        unfairness(log, settings.weights).everywhere, total_bound(settings, observed_requests(log), interpretation)
    )[..., 0]
