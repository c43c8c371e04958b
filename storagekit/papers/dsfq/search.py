"""Search for settings in which a run exceeds a bound: first random settings, then changes of the worst settings."""

import time
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from tqdm import tqdm

from storagekit.analytic.fairness import printed, repaired
from storagekit.core.provenance import made_by
from storagekit.engine import keys
from storagekit.papers.dsfq.drawing import changed, constructed, drawn
from storagekit.papers.dsfq.measuring import ObservedRequests, observed_requests, one_server, total_service, unfairness
from storagekit.papers.dsfq.settings import NAMES, Settings, single, total, unscheduled
from storagekit.papers.dsfq.watching import watched
from storagekit.papers.effort import Effort, of_profile
from storagekit.simulation import described

# BOUNDS: bounds that should hold; the search maximizes the unfairness divided by each of these bounds. CONTROLS: two
# bounds under other schedulers, which need not observe them.
BOUNDS = ("theorem1", "theorem2.printed", "theorem2.repaired", "theorem4.printed", "theorem4.repaired")
CONTROLS = ("theorem1.unscheduled", "theorem2.single")


@dataclass(frozen=True, kw_only=True)
class SearchEffort(Effort):
    """Extent of the search.

    Parameters
    ----------
    seeds, requests : int
        Without effect, because `settings` and `chunks` set the number and the length of the runs.
    first_seed : int
        First seed of the settings and of their requests, by default 0.
    settings : int
        Number of random settings, by default 300.
    rounds : int
        Number of rounds of changes, by default 6.
    children : int
        Number of changed settings for each bound in a round, by default 32.
    parents : int
        Number of settings with the largest unfairness relative to each bound that are changed in the next round, by
        default 6.
    chunks : int
        Length of a run, in chunks of 128 events, by default 16.
    """

    settings: int = 300
    rounds: int = 6
    children: int = 32
    parents: int = 6
    chunks: int = 16


QUICK, FULL = SearchEffort(), SearchEffort(settings=10_000, rounds=40, children=64, parents=8)


def search_effort(profile: str, first_seed: int = 0) -> SearchEffort:
    """Return the extent of the search and of its related exhibits for a profile, "quick" or "full".

    Parameters
    ----------
    profile : str
        "quick" or "full".
    first_seed : int
        The first seed, by default 0.

    Returns
    -------
    SearchEffort
        Extent of the search for the profile, with `first_seed`.

    Raises
    ------
    InputError
        If there is no profile of that name.
    """
    return of_profile(profile, {"quick": QUICK, "full": FULL}, first_seed)


def searched(effort: SearchEffort = QUICK) -> xr.Dataset:
    """Return the largest unfairness divided by each bound, in random settings and in a search that starts from them.

    Parameters
    ----------
    effort : SearchEffort
        Extent of the search.

    Returns
    -------
    Dataset
        `share`, over `bound` and `setting`: the largest unfairness of any pair of streams divided by the bound, in
        random settings; NaN if the bound does not apply to the setting (theorem 2 is for one coordinator, theorem 4 for
        several). `tightest`, over `bound`: the largest ratio found. `climbed`, over `target` (a bound of `BOUNDS`) and
        `round`: the largest ratio up to this round. Over `target`: the setting with the largest ratio, in the variables
        of `settings.Settings`, and `found_at`, the seed of its run.
    """
    began, generator = time.perf_counter(), np.random.default_rng(effort.first_seed)
    settings = drawn(generator, effort.settings)
    seeds = effort.first_seed + np.arange(len(settings))
    share = held_against(settings, seeds, effort.chunks, BOUNDS + CONTROLS)
    pools = _begun(settings, seeds, share, effort)
    climbed = np.zeros((len(BOUNDS), effort.rounds + 1))
    for step in range(effort.rounds + 1):
        climbed[:, step] = [pools[bound].share[0] for bound in BOUNDS]
        if step < effort.rounds:
            pools = _climbed(pools, generator, effort)
    found = {
        "share": (("bound", "setting"), np.stack([share[name] for name in BOUNDS + CONTROLS])),
        "tightest": ("bound", np.array([*climbed[:, -1], *(np.nanmax(share[name]) for name in CONTROLS)])),
        "climbed": (("target", "round"), climbed),
        "found_at": ("target", np.array([pools[bound].seeds[0] for bound in BOUNDS])),
    }
    data = xr.Dataset(found | _columns([pools[bound].settings for bound in BOUNDS]))
    data = data.assign_coords(bound=list(BOUNDS + CONTROLS), target=list(BOUNDS))
    length = {"settings": effort.settings, "rounds": effort.rounds, "events_per_run": 128 * effort.chunks}
    made = made_by("simulated", [effort.first_seed], time.perf_counter() - began) | described([total(settings)])
    return data.assign_attrs(made | length | {"paper": "dsfq", "exhibit": "dsfq.search"})


def held_against(
    settings: Settings, seeds: Int[np.ndarray, " n"], chunks: int, bounds: tuple[str, ...]
) -> dict[str, Float[np.ndarray, " n"]]:
    """Return, by name of the bound, the largest unfairness in each setting divided by the bound.

    The ratio is NaN if the bound does not apply to the setting.

    Parameters
    ----------
    settings : Settings
        The settings.
    seeds : array of int, shape [n]
        Seed of the requests of each setting.
    chunks : int
        Length of a run, in chunks of 128 events.
    bounds : tuple of str
        Names of `BOUNDS` and `CONTROLS`.
    """
    key, one = keys(seeds.tolist()), settings.coordinators == 1
    found = {bound: np.full(len(settings), np.nan) for bound in bounds}

    def note(bound: str, batch: slice, share: np.ndarray, concerns: np.ndarray | None = None) -> None:
        if bound in found:
            found[bound][batch] = share if concerns is None else np.where(concerns[batch], share, np.nan)

    def runs(build, *wanted: str):
        if not any(bound in found for bound in wanted):
            return
        for batch, log in tqdm(watched(build(settings), key, chunks), desc=build.__name__, delay=2, leave=False):
            yield batch, settings[batch], log, unfairness(log, settings[batch].weights)

    for batch, of, log, unfair in runs(total, *BOUNDS[1:]):
        run = observed_requests(log)
        for interpretation in (printed, repaired):
            share = total_service(of, run, unfair, interpretation)
            note(f"theorem2.{interpretation.__name__}", batch, share, one)
            note(f"theorem4.{interpretation.__name__}", batch, share, ~one)
    for batch, of, log, unfair in runs(single, "theorem1", "theorem2.single"):
        run = observed_requests(log)
        note("theorem1", batch, one_server(of, run, unfair))
        note("theorem2.single", batch, total_service(of, run, unfair, repaired), one)
    for batch, of, _, unfair in runs(unscheduled, "theorem1.unscheduled"):
        largest = np.where(of.used(), of.high, 0).astype(float)
        note(
            "theorem1.unscheduled",
            batch,
            one_server(of, ObservedRequests(largest, largest, largest.astype(int)), unfair),
        )
    return found


@dataclass(frozen=True)
class _Pool:
    """The settings with the largest unfairness relative to one bound, with their seeds, in descending order.

    share: the largest unfairness in each setting divided by the bound.
    """

    settings: Settings
    seeds: np.ndarray
    share: np.ndarray


def _begun(
    settings: Settings, seeds: np.ndarray, share: dict[str, np.ndarray], effort: SearchEffort
) -> dict[str, _Pool]:
    """Return the pool of each bound at the start: the worst of the random settings and of `constructed()`."""
    made, first = constructed(), np.full(2, effort.first_seed)
    theirs = held_against(made, first, effort.chunks, BOUNDS)
    together, all_seeds = settings.beside(made), np.concatenate([seeds, first])
    return {
        bound: _best(together, all_seeds, np.concatenate([share[bound], theirs[bound]]), effort.parents)
        for bound in BOUNDS
    }


def _best(settings: Settings, seeds: np.ndarray, share: np.ndarray, count: int) -> _Pool:
    order = np.argsort(-np.nan_to_num(share, nan=-1.0), kind="stable")[:count]
    return _Pool(settings[order], seeds[order], share[order])


def _climbed(pools: dict[str, _Pool], generator: np.random.Generator, effort: SearchEffort) -> dict[str, _Pool]:
    """Return the pool of each bound after one round of changes."""
    children, seeds = [], []
    for bound, pool in pools.items():
        which = generator.integers(0, len(pool.settings), effort.children)
        child = changed(generator, pool.settings[which])
        least, most = (
            (2, None) if bound.startswith("theorem4") else (1, 1) if bound.startswith("theorem2") else (1, None)
        )
        children.append(replace(child, coordinators=np.clip(child.coordinators, least, most)))
        seeds.append(pool.seeds[which])
    found: dict[str, _Pool] = {}
    of_total = children[1].beside(*children[2:])
    shares = held_against(of_total, np.concatenate(seeds[1:]), effort.chunks, BOUNDS[1:])
    shares["theorem1"] = held_against(children[0], seeds[0], effort.chunks, BOUNDS[:1])["theorem1"]
    for index, (bound, pool) in enumerate(pools.items()):
        # A setting that was changed for one bound may have the largest ratio to another bound.
        fresh, theirs = (children[0], seeds[0]) if index == 0 else (of_total, np.concatenate(seeds[1:]))
        together, share = pool.settings.beside(fresh), np.concatenate([pool.share, shares[bound]])
        found[bound] = _best(together, np.concatenate([pool.seeds, theirs]), share, effort.parents)
    return found


def _columns(best: list[Settings]) -> dict[str, tuple]:
    """Return the first setting of the pool of each bound, as variables over `target`."""
    axes = {
        "weights": ("stream",),
        "threads": ("kind",),
        "burst": ("kind", "brick"),
        "begins": ("kind",),
        "spacing": ("kind",),
        "low": ("stream", "brick"),
        "high": ("stream", "brick"),
        "rate": ("brick",),
    }
    return {
        name: (("target", *axes.get(name, ())), np.stack([getattr(one, name)[..., 0] for one in best]))
        for name in NAMES
    }
