"""The SR-Array's formulas: seek and rotation when data is striped, replicated and mirrored, and the best aspect ratio.

Symbols: S `full_seek`, seconds of arm movement end to end, linear in distance; R `revolution`, seconds; D `disks`, a
data set of one disk's capacity spread over them; D_s `striping`: 1/D_s of the cylinders is used; D_r `replicas` of a block at
even angles of one cylinder, D = D_s D_r; p `share` of requests that do not propagate copies in the foreground; q `queue`,
requests in one stroke of a disk; L `locality`, by which the paper divides S; T_o `overhead`, seconds.

Every argument is a number or an array, NumPy's or JAX's; arrays broadcast, and JAX differentiates where the formula is
smooth. What a formula cannot have raises InputError. The overhead is in no time but those of equations 15 and 16. An
SR-Mirror, D_m copies on different disks, is approximated by D_r D_m in the place of D_r (srarray, section 2.5).

Source: Yu et al., Trading capacity for performance in a disk array, OSDI 2000 (srarray), sections 2.1 to 2.5.
"""

import inspect
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from storagekit.core.checks import require, require_broadcast
from storagekit.core.kinds import AMOUNT, COUNT, MOST_COUNTED, POSITIVE, SHARE, SPAN, TIME, Call, Kind, takes, unchecked

# a number or an array, NumPy's or JAX's
Number = Any
# section 4.1: more copies than this cannot be written within a revolution
MOST_REPLICAS = 6
# section 2.4: up to here requests are too sparse for a stroke, and a seek is a random one
SPARSE_QUEUE = 3
# a number of disks, whole only in practice
DISKS = Kind(least=1, most=MOST_COUNTED)
# what the arguments of the formulas are, by name
_KINDS = {
    "full_seek": SPAN,
    "revolution": TIME,
    "overhead": SPAN,
    "service": TIME,
    "disks": DISKS,
    "copies": DISKS,
    "striping": POSITIVE,
    "replicas": POSITIVE,
    "share": SHARE,
    "queue": POSITIVE,
    "locality": POSITIVE,
    "outstanding": AMOUNT,
    "one_disk": AMOUNT,
}


class Aspect(NamedTuple):
    """How D disks are divided: D_s `striping` and D_r `replicas`, not necessarily whole."""

    striping: Any
    replicas: Any


def _formula(function: Call) -> Call:
    """A formula that looks at what it is given: each argument by its name, and whether arrays broadcast."""
    # where nothing seeks there is no best shape
    kinds = _KINDS | ({"full_seek": TIME} if function.__name__.startswith(("best_", "unbounded_")) else {})
    held = {name: kinds[name].each for name in inspect.signature(function).parameters}
    return takes(require_broadcast, **held)(function)


@_formula
def seek_mirrored(full_seek, copies):
    """Mean seek of the nearest of D heads, each at an independent uniform distance.

        E seek = S / (2D + 1)

    The heads of a mirror share the target, which makes their distances somewhat alike: the exact value for two heads is
    5 S / 24 and not S / 5. Source: srarray, section 2.1.
    """
    return full_seek / (2 * copies + 1)


@_formula
def seek_striped(full_seek, disks):
    """Mean seek where each of D disks uses 1/D of its cylinders.

        S_s(D) = S / 3D

    Source: srarray, equation 1.
    """
    return full_seek / (3 * disks)


@_formula
def rotation_even(revolution, replicas):
    """Mean rotational wait for the nearest of D replicas at even angles.

        R_r(D) = R / 2D

    Source: srarray, equation 2.
    """
    return revolution / (2 * replicas)


@_formula
def rotation_random(revolution, replicas):
    """Mean rotational wait for the nearest of D replicas at independent uniform angles.

        R_r(D) = R / (D + 1)

    Source: srarray, section 2.2.
    """
    return revolution / (replicas + 1)


@_formula
def rotation_write_all(revolution, replicas):
    """Mean rotation until all of D replicas at even angles are written.

        R_w(D) = R - R / 2D

    Source: srarray, equation 3.
    """
    return revolution - revolution / (2 * replicas)


@_formula
def read_latency(full_seek, revolution, striping, replicas, locality: Number = 1.0):
    """Mean latency of a random read, seconds.

        T_R(D_s, D_r) = S / 3D_s + R / 2D_r

    Source: srarray, equation 4; S/L for S, section 2.3.
    """
    return seek_striped(full_seek / locality, striping) + rotation_even(revolution, replicas)


@_formula
def best_read(full_seek, revolution, disks, locality: Number = 1.0) -> Aspect:
    """The aspect of D disks with the least read latency, 1 <= D_r <= D.

        D_s = sqrt(2S D / 3R),  D_r = sqrt(3R D / 2S)

    Source: srarray, equation 5. The bounds are ours; `unbounded_replicas` leaves them out.
    """
    return best_mixed(full_seek, revolution, disks, 1.0, locality)


@_formula
def best_read_latency(full_seek, revolution, disks, locality: Number = 1.0):
    """Mean read latency at the best aspect, seconds.

        T_best = sqrt(2SR / 3D)

    Source: srarray, equation 6; equation 4 at the bound where the best aspect meets one.
    """
    return read_latency(full_seek, revolution, *best_read(full_seek, revolution, disks, locality), locality)


@_formula
def write_latency(full_seek, revolution, striping, replicas, locality: Number = 1.0):
    """Mean latency of a write that propagates all its copies in the foreground, seconds.

        T_W(D_s, D_r) = S / 3D_s + R - R / 2D_r

    Source: srarray, equation 7.
    """
    return seek_striped(full_seek / locality, striping) + rotation_write_all(revolution, replicas)


def _some(reads, background_writes, foreground_writes):
    """Raises InputError where there is no request of any sort."""
    require_broadcast(reads=reads, background_writes=background_writes, foreground_writes=foreground_writes)
    requests = reads + background_writes + foreground_writes
    require(requests > 0, "requests", requests, "some: give reads or writes above 0")


@takes(_some, reads=AMOUNT.each, background_writes=AMOUNT.each, foreground_writes=AMOUNT.each)
def unpropagated_share(reads, background_writes, foreground_writes):
    """Share of requests, 0 to 1, that do not propagate copies in the foreground; arguments are counts, rates or shares.

        p = (X_r + X_wb) / (X_r + X_wb + X_wf)

    Source: srarray, equation 8.
    """
    unpropagated = reads + background_writes
    return unpropagated / (unpropagated + foreground_writes)


@_formula
def mixed_latency(full_seek, revolution, striping, replicas, share, locality: Number = 1.0):
    """Mean latency over reads and writes, seconds.

        T(D_s, D_r) = S / 3D_s + p R / 2D_r + (1 - p) (R - R / 2D_r)

    Source: srarray, equation 9.
    """
    reads = read_latency(full_seek, revolution, striping, replicas, locality)
    return share * reads + (1 - share) * write_latency(full_seek, revolution, striping, replicas, locality)


@_formula
def best_mixed(full_seek, revolution, disks, share, locality: Number = 1.0) -> Aspect:
    """The aspect of D disks with the least mixed latency, 1 <= D_r <= D; pure striping where p <= 1/2.

        D_s = sqrt(2S D / 3R(2p - 1)),  D_r = sqrt(3R(2p - 1) D / 2S)

    Source: srarray, equation 10.
    """
    return best_rlook(full_seek, revolution, disks, share, SPARSE_QUEUE, locality)


@_formula
def best_mixed_latency(full_seek, revolution, disks, share, locality: Number = 1.0):
    """Mean latency over reads and writes at the best aspect, seconds.

        T_best = sqrt(2SR(2p - 1) / 3D) + (1 - p) R

    Source: srarray, equation 11; equation 9 at the bound where the best aspect meets one.
    """
    best = best_mixed(full_seek, revolution, disks, share, locality)
    return mixed_latency(full_seek, revolution, *best, share, locality)


@_formula
def rlook_service(full_seek, revolution, striping, replicas, share, queue, locality: Number = 1.0):
    """Mean time of one request in an RLOOK stroke of q requests, seconds.

        T(D_s, D_r) = S / q D_s + p R / 2D_r + (1 - p) (R - R / 2D_r)

    For q <= 3 it is equation 9, which is this one at q = 3. Source: srarray, equation 12.
    """
    seek = full_seek / (locality * _stroke(queue) * striping)
    rotation = share * rotation_even(revolution, replicas) + (1 - share) * rotation_write_all(revolution, replicas)
    return seek + rotation


@_formula
def best_rlook(full_seek, revolution, disks, share, queue, locality: Number = 1.0) -> Aspect:
    """The aspect of D disks with the least RLOOK service time, 1 <= D_r <= D; pure striping where p <= 1/2.

        D_s = sqrt(2S D / R(2p - 1) q),  D_r = sqrt(R(2p - 1) q D / 2S)

    For q <= 3 it is equation 10. Source: srarray, equation 13.
    """
    square = _replicas_squared(full_seek, revolution, disks, share, queue, locality)
    # bounded before the root, so that its gradient is finite where p <= 1/2
    replicas = _namespace(square, disks).clip(square, 1, disks * disks) ** 0.5
    return Aspect(disks / replicas, replicas)


@_formula
def best_rlook_latency(full_seek, revolution, disks, share, queue, locality: Number = 1.0):
    """Mean RLOOK service time at the best aspect, seconds.

        T_best = sqrt(2SR(2p - 1) / qD) + (1 - p) R

    Source: srarray, equation 14; equation 12 at the bound where the best aspect meets one; equation 11 for q <= 3.
    """
    best = best_rlook(full_seek, revolution, disks, share, queue, locality)
    return rlook_service(full_seek, revolution, *best, share, queue, locality)


@_formula
def disk_throughput(overhead, service):
    """Requests a second of one busy disk whose requests take T_o + T seconds.

        N_1 = 1 / (T_o + T)

    Source: srarray, equation 15.
    """
    return 1 / (overhead + service)


@_formula
def array_throughput(disks, outstanding, one_disk):
    """Requests a second of D disks that serve `one_disk` a second each, Q `outstanding` at disks chosen at random.

        N_D = D [1 - (1 - 1/D)^Q] N_1

    Source: srarray, equation 16.
    """
    return disks * (1 - unchecked(idle_share)(disks, outstanding)) * one_disk


@_formula
def idle_share(disks, outstanding):
    """Probability that none of Q outstanding requests is at a given one of D disks.

        (1 - 1/D)^Q

    Source: srarray, section 2.4.
    """
    return (1 - 1 / disks) ** outstanding


@_formula
def unbounded_replicas(
    full_seek, revolution, disks, share: Number = 1.0, queue: Number = SPARSE_QUEUE, locality: Number = 1.0
):
    """D_r of equation 13 before its bounds, 0 where p <= 1/2; of equation 10 for q <= 3 and of equation 5 with p = 1.

    Below 1 replicas cost more than they bring; above D even D replicas are too few. Source: srarray, section 4.1, which
    quotes 5.8 and 11.6 replicas for nine disks.
    """
    square = _replicas_squared(full_seek, revolution, disks, share, queue, locality)
    return _namespace(square).clip(square, 0, None) ** 0.5


@takes(optimum=AMOUNT, disks=COUNT, most=COUNT)
def practical_replicas(optimum: float, disks: int, most: int = MOST_REPLICAS) -> int:
    """The largest factor of `disks` that is neither above `optimum` nor above `most`; 1 where the optimum is below it.

    Raises InputError for less than one disk or replica. Source: srarray, sections 2.3 (factors) and 4.1 (at most six).
    """
    # a hair of slack: an optimum that is whole on paper must not lose a factor to rounding
    limit = max(1.0, min(optimum * (1 + 1e-12), most))
    return max(factor for factor in range(1, min(disks, int(limit)) + 1) if disks % factor == 0)


def _replicas_squared(full_seek, revolution, disks, share, queue, locality):
    return revolution * (2 * share - 1) * _stroke(queue) * disks * locality / (2 * full_seek)


def _stroke(queue):
    return _namespace(queue).maximum(queue, float(SPARSE_QUEUE))


def _namespace(*values) -> ModuleType | Any:
    """JAX's NumPy if a value is JAX's, without importing JAX for those who have none."""
    spaces = (value.__array_namespace__() for value in values if hasattr(value, "__array_namespace__"))
    return next((space for space in spaces if space is not np), np)
