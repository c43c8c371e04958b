"""Fit of the arm of a measured drive: its seek curve, from the time that each request waits for its first sector.

A request needs n seconds (overhead and arm movement) before its rotational delay begins. Its first sector is then under
the head n + U R seconds after its arrival, where R is the time of a revolution and U is uniform from 0 to 1. This total
wait is never below n or above n + R. The fit is the seek curve under which the measured waits are most likely. Both
limits of the wait (the edges of its distribution) are smoothed equally by `blur`, which represents noise. The smoothing
therefore shifts neither edge.
"""

from typing import NamedTuple, cast

import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy import ndarray
from scipy import optimize, special, stats

from storagekit.drive import AbstractSeek, SeekTable, fit_seek

# Assumed share of other waits (caches, retries), and the number of revolutions over which they are spread.
STRAY, SPREAD = 0.02, 5.0
# Number of requests for each knot of the curve; largest number of knots; smallest number of requests for any other
# parameter.
SAMPLES, MOST_KNOTS, FEWEST = 200, 10, 100
# Smallest blur, in mean gaps between neighbouring waits. With a smaller blur, single waits would look like edges.
RESOLVED = 2.0


class Moves(NamedTuple):
    """Movements of the arm before requests.

    wait: time from the arrival until the first sector is under the head, seconds. distance: cylinders. switched:
    whether the head differs from the head of the request before. read: whether the request is a read.
    """

    wait: Float[ndarray, "request"]
    distance: Int[ndarray, "request"]
    switched: Bool[ndarray, "request"]
    read: Bool[ndarray, "request"]


class Estimate(NamedTuple):
    """A fitted parameter and its standard error, seconds, and the number of requests that determine the parameter."""

    value: float
    error: float
    requests: int


class Knots(NamedTuple):
    """A fitted seek curve.

    cylinders: distances of its knots. seconds: time of a read from its arrival until the end of the movement, at each
    knot. errors: standard errors of these times, seconds. scale: smooth curve nearest to the curve from which the fit
    started. Between knots, the curve is linear in `scale`, because seek times are linear neither in the distance nor in
    its square root.
    """

    cylinders: Float[ndarray, "knot"]
    seconds: Float[ndarray, "knot"]
    errors: Float[ndarray, "knot"]
    scale: AbstractSeek

    def __call__(self, distance: ndarray) -> ndarray:
        return np.interp(_on(self.scale, distance), _on(self.scale, self.cylinders), self.seconds)


class ArmFit(NamedTuple):
    """Fitted parameters of the arm, in seconds. A parameter is None if too few requests determine it.

    curve: the seek curve. still_read, still_write: time before a read or a write that needs neither a seek nor a head
    switch. switched: time before a read that needs only a head switch. settle: extra time of a write that moves the arm
    or switches the head. blur: width of the edges.
    """

    curve: Knots
    still_read: Estimate | None
    still_write: Estimate | None
    switched: Estimate | None
    settle: Estimate | None
    blur: float


def fit_arm(moves: Moves, guess: Float[ndarray, "distance"], revolution: float) -> ArmFit:
    """Fit the arm to movements. At least 2 * SAMPLES of the movements must change the cylinder.

    Parameters
    ----------
    moves : Moves
        The movements.
    guess : float, `[distance]`
        Initial values of the times for the distances 0, 1, 2, ... cylinders, seconds.
    revolution : float
        Time of a revolution, seconds.

    Returns
    -------
    ArmFit
        The fitted parameters. A parameter for which there are too few requests is None.
    """
    knots = _knots(moves.distance[moves.distance > 0])
    moves = _between(moves, knots)
    scale = fit_seek(SeekTable(guess))
    columns, counts = _columns(moves, knots, scale)
    others = {"still_read": guess[1] / 2, "still_write": guess[1] / 2, "switched": guess[1], "settle": 0.0}
    kept = [name for name in others if counts[name] >= FEWEST]
    usable = sum(columns[name] for name in others if name not in kept) + np.zeros(moves.wait.size) == 0
    matrix = np.column_stack([columns["curve"], *(columns[name] for name in kept)])[usable]
    first = guess[np.round(knots).astype(int)]
    rises = np.maximum(np.diff(first), 0.0)
    start = np.array([first[0], *rises, *(others[name] for name in kept)]) / revolution
    bounds = [(0.0, None)] * knots.size + [(-0.5, 1.0) if name == "settle" else (0.0, 1.0) for name in kept]
    fit = WaitLikelihood(matrix, moves.wait[usable] / revolution)
    found, blur = _likeliest(fit, start, bounds, knots.size)
    value, spread = found * revolution, fit.covariance(found, blur) * revolution**2
    sums = np.tril(np.ones((knots.size, knots.size)))
    curve = slice(0, knots.size)
    # The gaps between waits limit the precision of an edge: with two edges among n waits, it is R / n / sqrt(2).
    near = columns["curve"].sum(axis=0) - np.append(columns["curve"].sum(axis=0)[1:], 0.0)
    errors = np.hypot(np.sqrt(np.diag(sums @ spread[curve, curve] @ sums.T)), revolution / near / np.sqrt(2))
    estimates = {}
    for at, name in enumerate(kept, start=knots.size):
        error = np.hypot(np.sqrt(spread[at, at]), revolution / counts[name] / np.sqrt(2))
        estimates[name] = Estimate(float(value[at]), float(error), counts[name])
    return ArmFit(
        Knots(knots, sums @ value[curve], errors, scale),
        **{name: estimates.get(name) for name in others},
        blur=blur * revolution,
    )


def _on(scale: AbstractSeek, distance: ndarray) -> ndarray:
    return np.asarray(scale(cast(Array, distance.astype(int))), float)


def _knots(distance: ndarray) -> ndarray:
    """Return distances with equal numbers of requests between them.

    A few of the shortest and of the longest distances are excluded, because they are too rare to determine a time.
    """
    count = int(np.clip(distance.size // SAMPLES, 2, MOST_KNOTS))
    rare = min(10 / distance.size, 0.02)
    return np.unique(np.round(np.quantile(distance, np.linspace(rare, 1 - rare, count)))).astype(float)


def _between(moves: Moves, knots: ndarray) -> Moves:
    sampled = (moves.distance == 0) | ((moves.distance >= knots[0]) & (moves.distance <= knots[-1]))
    return Moves(*(column[sampled] for column in moves))


def _columns(moves: Moves, knots: ndarray, scale: AbstractSeek) -> tuple[dict[str, ndarray], dict[str, int]]:
    """Return the factor of each parameter in the time before each request, and the number of requests per parameter."""
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
    """Likelihood of waits, in revolutions.

    `matrix @ figures` is the shortest possible wait of each request, where `figures` are the parameters. wait: measured
    waits.
    """

    matrix: ndarray
    wait: ndarray

    def each(self, figures: ndarray, blur: float) -> tuple[ndarray, ndarray]:
        """Return the negative log-likelihood of each request, and its derivatives with respect to the parameters.

        Their shapes are `[request]` and `[request, figure]`.
        """
        early = (self.wait - self.matrix @ figures) / blur
        late = early - 1 / blur
        likely = (1 - STRAY) * (special.ndtr(early) - special.ndtr(late)) + STRAY / SPREAD
        edges = stats.norm.pdf(early) - stats.norm.pdf(late)
        return -np.log(likely), ((1 - STRAY) * edges / blur / likely)[:, None] * self.matrix

    def against(self, figures: ndarray, blur: float) -> tuple[float, ndarray]:
        """Return the two results of `each`, averaged over all requests."""
        against, slopes = self.each(figures, blur)
        return float(against.mean()), slopes.mean(axis=0)

    def covariance(self, figures: ndarray, blur: float) -> ndarray:
        """Return the covariance of the parameters by the sandwich rule.

        The rule is valid even if the blur differs from the noise.

        References
        ----------
        White, Maximum likelihood estimation of misspecified models, Econometrica 50, 1982.
        """
        step = blur / 4
        bends = [
            (self.each(figures + one, blur)[1] - self.each(figures - one, blur)[1]).sum(axis=0) / (2 * step)
            for one in np.eye(figures.size) * step
        ]
        slopes = self.each(figures, blur)[1]
        inverse = np.linalg.pinv((np.array(bends) + np.transpose(bends)) / 2)
        return inverse @ (slopes.T @ slopes) @ inverse


def _likeliest(fit: WaitLikelihood, start: ndarray, bounds: list, knots: int) -> tuple[ndarray, float]:
    """Return the most likely parameters and the blur, all in revolutions.

    The search starts with a wide blur, so that distant edges have an effect. It ends with the smallest blur that the
    waits can resolve.
    """
    finest = RESOLVED * knots / fit.wait.size
    figures = start
    limits = np.array(
        [[-np.inf if end is None else end for end, _ in bounds], [np.inf if end is None else end for _, end in bounds]]
    )
    # Directions of the search: each knot separately, and each other parameter.
    ways = np.eye(start.size)
    ways[: knots - 1] -= np.eye(start.size)[1:knots]
    for blur in np.geomspace(max(0.2, finest), finest, 12):
        figures = optimize.minimize(fit.against, figures, (blur,), "L-BFGS-B", jac=True, bounds=bounds).x
        # A parameter with few requests may be in a local optimum on the wrong side of some waits of these requests.
        for way in ways:
            rows = fit.matrix @ way != 0
            part = WaitLikelihood(fit.matrix[rows], fit.wait[rows])
            tried = np.clip(figures + np.linspace(-0.1, 0.1, 41)[:, None] * way, *limits)
            figures = min(tried, key=lambda one, part=part, blur=blur: part.against(one, blur)[0])
    return optimize.minimize(fit.against, figures, (finest,), "L-BFGS-B", jac=True, bounds=bounds).x, float(finest)
