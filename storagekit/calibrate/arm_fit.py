"""The arm of a measured drive: its seek curve, from how long requests waited for their first sector.

A request that needs n seconds before it can wait for its sector waits n + U R, R being the revolution and U uniform from 0
to 1. So rotation hides n, but not the edges: no wait of its kind is below n or above n + R. The fit is the curve whose
edges make the waits likeliest. The edges are rounded by `blur`, which stands for noise; both alike, so that it moves none.
"""

from typing import NamedTuple, cast

import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy import ndarray
from scipy import optimize, special, stats

from storagekit.drive import AbstractSeek, SeekTable, fit_seek

# waits that are no such (caches, retries) are taken to be this share, spread over so many revolutions
STRAY, SPREAD = 0.02, 5.0
# requests of a knot of the curve; the curve's most knots; the fewest that any other figure rests on
SAMPLES, MOST_KNOTS, FEWEST = 200, 10, 100
# the blur in gaps between waits: finer, and single waits make edges
RESOLVED = 2.0


class Moves(NamedTuple):
    """wait: seconds from the arrival until the first sector is under the head. distance: cylinders. switched: whether the
    head differs from the one before."""

    wait: Float[ndarray, "request"]
    distance: Int[ndarray, "request"]
    switched: Bool[ndarray, "request"]
    read: Bool[ndarray, "request"]


class Estimate(NamedTuple):
    """A figure in seconds, its standard error, and the requests that it rests on."""

    value: float
    error: float
    requests: int


class Knots(NamedTuple):
    """The curve: seconds of a read from its arrival until the arm is there, at distances of `cylinders`, and their standard
    errors. Between them it is linear in `scale`, the smooth curve nearest the one that the fit started from, as seeks are
    neither linear in distance nor in its square root."""

    cylinders: Float[ndarray, "knot"]
    seconds: Float[ndarray, "knot"]
    errors: Float[ndarray, "knot"]
    scale: AbstractSeek

    def __call__(self, distance: ndarray) -> ndarray:
        return np.interp(_on(self.scale, distance), _on(self.scale, self.cylinders), self.seconds)


class ArmFit(NamedTuple):
    """What the waits tell; None where too few requests do. still_read, still_write: before a request that moves nothing.
    switched: before a read that changes heads alone. settle: what a write's move takes longer. blur: the width of the edges,
    seconds."""

    curve: Knots
    still_read: Estimate | None
    still_write: Estimate | None
    switched: Estimate | None
    settle: Estimate | None
    blur: float


def fit_arm(moves: Moves, guess: Float[ndarray, "distance"], revolution: float) -> ArmFit:
    """The arm behind these moves, of which 2 * SAMPLES move it; guess: seconds by distance from which the fit starts."""
    knots = _knots(moves.distance[moves.distance > 0])
    moves = _between(moves, knots)
    scale = fit_seek(SeekTable(guess))
    columns, counts = _columns(moves, knots, scale)
    others = {"still_read": guess[1] / 2, "still_write": guess[1] / 2, "switched": guess[1], "settle": 0.0}
    kept = [name for name in others if counts[name] >= FEWEST]
    told = sum(columns[name] for name in others if name not in kept) + np.zeros(moves.wait.size) == 0
    matrix = np.column_stack([columns["curve"], *(columns[name] for name in kept)])[told]
    first = guess[np.round(knots).astype(int)]
    rises = np.maximum(np.diff(first), 0.0)
    start = np.array([first[0], *rises, *(others[name] for name in kept)]) / revolution
    bounds = [(0.0, None)] * knots.size + [(-0.5, 1.0) if name == "settle" else (0.0, 1.0) for name in kept]
    fit = WaitLikelihood(matrix, moves.wait[told] / revolution)
    found, blur = _likeliest(fit, start, bounds, knots.size)
    value, spread = found * revolution, fit.covariance(found, blur) * revolution**2
    sums = np.tril(np.ones((knots.size, knots.size)))
    curve = slice(0, knots.size)
    # no edge is known better than the gaps between waits near it: of two edges among n waits, R / n / sqrt(2)
    near = columns["curve"].sum(axis=0) - np.append(columns["curve"].sum(axis=0)[1:], 0.0)
    errors = np.hypot(np.sqrt(np.diag(sums @ spread[curve, curve] @ sums.T)), revolution / near / np.sqrt(2))
    others_told = {}
    for at, name in enumerate(kept, start=knots.size):
        error = np.hypot(np.sqrt(spread[at, at]), revolution / counts[name] / np.sqrt(2))
        others_told[name] = Estimate(float(value[at]), float(error), counts[name])
    return ArmFit(
        Knots(knots, sums @ value[curve], errors, scale),
        **{name: others_told.get(name) for name in others},
        blur=blur * revolution,
    )


def _on(scale: AbstractSeek, distance: ndarray) -> ndarray:
    return np.asarray(scale(cast(Array, distance.astype(int))), float)


def _knots(distance: ndarray) -> ndarray:
    """Distances with as many requests between each two, but for a few at either end that are too rare to tell a time."""
    count = int(np.clip(distance.size // SAMPLES, 2, MOST_KNOTS))
    rare = min(10 / distance.size, 0.02)
    return np.unique(np.round(np.quantile(distance, np.linspace(rare, 1 - rare, count)))).astype(float)


def _between(moves: Moves, knots: ndarray) -> Moves:
    sampled = (moves.distance == 0) | ((moves.distance >= knots[0]) & (moves.distance <= knots[-1]))
    return Moves(*(column[sampled] for column in moves))


def _columns(moves: Moves, knots: ndarray, scale: AbstractSeek) -> tuple[dict[str, ndarray], dict[str, int]]:
    """What each figure adds to the time that a request needs, and how many requests tell of it."""
    moved, still = moves.distance > 0, (moves.distance == 0) & ~moves.switched
    hats = np.column_stack(
        [np.interp(_on(scale, moves.distance), _on(scale, knots), one) for one in np.eye(knots.size)]
    )
    rising = hats[:, ::-1].cumsum(axis=1)[:, ::-1]
    columns = {
        "curve": np.where(moved[:, None], rising, 0.0),
        "still_read": (still & moves.read).astype(float),
        "still_write": (still & ~moves.read).astype(float),
        "switched": (~moved & moves.switched).astype(float),
        "settle": ((moved | moves.switched) & ~moves.read).astype(float),
    }
    return columns, {name: int(np.count_nonzero(column)) for name, column in columns.items() if name != "curve"}


class WaitLikelihood(NamedTuple):
    """Waits in revolutions, of which `matrix @ figures` is what each request needs at least."""

    matrix: ndarray
    wait: ndarray

    def each(self, figures: ndarray, blur: float) -> tuple[ndarray, ndarray]:
        """Of each request, its likelihood's negative logarithm `[request]` and its slopes `[request, figure]`."""
        early = (self.wait - self.matrix @ figures) / blur
        late = early - 1 / blur
        likely = (1 - STRAY) * (special.ndtr(early) - special.ndtr(late)) + STRAY / SPREAD
        edges = stats.norm.pdf(early) - stats.norm.pdf(late)
        return -np.log(likely), ((1 - STRAY) * edges / blur / likely)[:, None] * self.matrix

    def against(self, figures: ndarray, blur: float) -> tuple[float, ndarray]:
        """Means of what `each` gives."""
        against, slopes = self.each(figures, blur)
        return float(against.mean()), slopes.mean(axis=0)

    def covariance(self, figures: ndarray, blur: float) -> ndarray:
        """By the sandwich rule, which holds though the blur is not the noise's own (White, Maximum likelihood estimation of
        misspecified models, Econometrica 50, 1982)."""
        step = blur / 4
        bends = [
            (self.each(figures + one, blur)[1] - self.each(figures - one, blur)[1]).sum(axis=0) / (2 * step)
            for one in np.eye(figures.size) * step
        ]
        slopes = self.each(figures, blur)[1]
        inverse = np.linalg.pinv((np.array(bends) + np.transpose(bends)) / 2)
        return inverse @ (slopes.T @ slopes) @ inverse


def _likeliest(fit: WaitLikelihood, start: ndarray, bounds: list, knots: int) -> tuple[ndarray, float]:
    """Figures, in revolutions, and blur: from a wide blur, which sees edges from afar, to the finest resolved."""
    finest = RESOLVED * knots / fit.wait.size
    figures = start
    limits = np.array(
        [[-np.inf if end is None else end for end, _ in bounds], [np.inf if end is None else end for _, end in bounds]]
    )
    # each knot by itself, and each other figure
    ways = np.eye(start.size)
    ways[: knots - 1] -= np.eye(start.size)[1:knots]
    for blur in np.geomspace(max(0.2, finest), finest, 12):
        figures = optimize.minimize(fit.against, figures, (blur,), "L-BFGS-B", jac=True, bounds=bounds).x
        # a figure of few requests may have settled on the wrong side of some of them
        for way in ways:
            rows = fit.matrix @ way != 0
            part = WaitLikelihood(fit.matrix[rows], fit.wait[rows])
            tried = np.clip(figures + np.linspace(-0.1, 0.1, 41)[:, None] * way, *limits)
            figures = min(tried, key=lambda one, part=part, blur=blur: part.against(one, blur)[0])
    return optimize.minimize(fit.against, figures, (finest,), "L-BFGS-B", jac=True, bounds=bounds).x, float(finest)
