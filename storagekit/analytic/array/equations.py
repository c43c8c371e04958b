"""Formulas of the SR-Array: seek and rotation of striped, replicated and mirrored data, and the best aspect ratio.

Symbols: S `full_seek`, the time in seconds of a seek from end to end, with seek times linear in distance; R
`revolution`, the time of a revolution in seconds; D `disks`, the number of disks over which a data set with the
capacity of one disk is spread; D_s `striping`, where the data uses 1/D_s of the cylinders of each disk; D_r `replicas`,
the number of replicas of a block at even angles of one cylinder, with D = D_s D_r; p `share`, the share of requests
that do not propagate copies in the foreground; q `queue`, the number of requests in one stroke of a disk; L `locality`,
by which the paper divides S; T_o `overhead`, the overhead of a request in seconds.

Every argument is a number or an array of NumPy or JAX. Arrays broadcast. JAX differentiates a formula where it is
smooth. A value out of range raises InputError. Only the times of equations 15 and 16 include the overhead. For an
SR-Mirror, which has D_m copies on different disks, D_r D_m replaces D_r as an approximation (srarray, section 2.5).

Source: Yu et al., Trading capacity for performance in a disk array, OSDI 2000 (srarray), sections 2.1 to 2.5.
"""

import inspect
from typing import Annotated, Any, NamedTuple

from storagekit.core.namespaces import namespace_of
from storagekit.core.validation import (
    AMOUNT,
    MOST_COUNTED,
    POSITIVE,
    SHARE,
    SPAN,
    TIME,
    Amount,
    Call,
    Count,
    Validator,
    require,
    require_broadcast,
    unchecked,
    validate,
)

# a number, or an array of NumPy or JAX
Number = Any
# section 4.1: a larger number of copies cannot be written within a revolution
MOST_REPLICAS = 6
# section 2.4: up to this queue, requests are too sparse for a stroke, and a seek is random
SPARSE_QUEUE = 3
# a number of disks, which need not be whole
DISKS = Validator(least=1, most=MOST_COUNTED)
# validators of the arguments of the formulas, by name
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
    """Division of D disks into striping D_s and replicas D_r: the aspect ratio of the array.

    Parameters
    ----------
    striping : float or array of float
        Striping D_s, not necessarily whole.
    replicas : float or array of float
        Number of replicas D_r, not necessarily whole.
    """

    striping: Any
    replicas: Any


def _formula(function: Call) -> Call:
    """Return a formula that validates each argument according to its name, and checks that the arrays broadcast."""
    # If seeks take no time, no aspect ratio is the best.
    kinds = _KINDS | ({"full_seek": TIME} if function.__name__.startswith(("best_", "unbounded_")) else {})
    function.__annotations__ |= {
        name: Annotated[Number, kinds[name].each] for name in inspect.signature(function).parameters
    }
    return validate(function, together=require_broadcast)


@_formula
def seek_mirrored(full_seek, copies):
    """Return the mean seek time of the nearest of D heads, each at an independent uniform distance.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds.
    copies : float or array of float
        Number D of heads.

    Returns
    -------
    float or array of float
        Mean seek, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is

        E seek = S / (2D + 1)

    The heads of a mirror share the target, so their distances are correlated. The exact value for two heads is 5 S / 24
    and not S / 5.

    References
    ----------
    srarray, section 2.1.
    """
    return full_seek / (2 * copies + 1)


@_formula
def seek_striped(full_seek, disks):
    """Return the mean seek time if each of D disks uses 1/D of its cylinders.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds.
    disks : float or array of float
        Number D of disks.

    Returns
    -------
    float or array of float
        Mean seek, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is

        S_s(D) = S / (3 D)

    References
    ----------
    srarray, equation 1.
    """
    return full_seek / (3 * disks)


@_formula
def rotation_even(revolution, replicas):
    """Return the mean rotational latency to the nearest of D replicas at even angles.

    Parameters
    ----------
    revolution : float or array of float
        Time R of a revolution, seconds.
    replicas : float or array of float
        Number D of replicas.

    Returns
    -------
    float or array of float
        Mean wait, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is

        R_r(D) = R / (2 D)

    References
    ----------
    srarray, equation 2.
    """
    return revolution / (2 * replicas)


@_formula
def rotation_random(revolution, replicas):
    """Return the mean rotational latency to the nearest of D replicas at independent uniform angles.

    Parameters
    ----------
    revolution : float or array of float
        Time R of a revolution, seconds.
    replicas : float or array of float
        Number D of replicas.

    Returns
    -------
    float or array of float
        Mean wait, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is

        R_r(D) = R / (D + 1)

    References
    ----------
    srarray, section 2.2.
    """
    return revolution / (replicas + 1)


@_formula
def rotation_write_all(revolution, replicas):
    """Return the mean rotation time until all D replicas at even angles are written.

    Parameters
    ----------
    revolution : float or array of float
        Time R of a revolution, seconds.
    replicas : float or array of float
        Number D of replicas.

    Returns
    -------
    float or array of float
        Mean rotation, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is

        R_w(D) = R - R / (2 D)

    References
    ----------
    srarray, equation 3.
    """
    return revolution - revolution / (2 * replicas)


@_formula
def read_latency(full_seek, revolution, striping, replicas, locality: Number = 1.0):
    """Return the mean latency of a random read.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds.
    revolution : float or array of float
        Time R of a revolution, seconds.
    striping : float or array of float
        Striping D_s: the data uses 1/D_s of the cylinders.
    replicas : float or array of float
        Number D_r of replicas of a block on its disk.
    locality : float or array of float
        Locality L, by which the paper divides S; 1 by default.

    Returns
    -------
    float or array of float
        Mean latency, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is, with S/L instead of S,

        T_R(D_s, D_r) = S / (3 D_s) + R / (2 D_r)

    References
    ----------
    srarray, equation 4; section 2.3 for the locality.
    """
    return seek_striped(full_seek / locality, striping) + rotation_even(revolution, replicas)


@_formula
def best_read(full_seek, revolution, disks, locality: Number = 1.0) -> Aspect:
    """Return the aspect ratio of D disks that gives the least read latency.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds, above 0.
    revolution : float or array of float
        Time R of a revolution, seconds.
    disks : float or array of float
        Number D of disks.
    locality : float or array of float
        Locality L, by which the paper divides S; 1 by default.

    Returns
    -------
    Aspect
        Striping D_s and number of replicas D_r, with 1 <= D_r <= D.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The aspect ratio is, with S/L instead of S,

        D_s = sqrt(2 S D / (3 R)),  D_r = sqrt(3 R D / (2 S))

    The bounds of D_r are not in the paper; `unbounded_replicas` does not apply them.

    References
    ----------
    srarray, equation 5.
    """
    return best_mixed(full_seek, revolution, disks, 1.0, locality)


@_formula
def best_read_latency(full_seek, revolution, disks, locality: Number = 1.0):
    """Return the mean read latency at the best aspect ratio.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds, above 0.
    revolution : float or array of float
        Time R of a revolution, seconds.
    disks : float or array of float
        Number D of disks.
    locality : float or array of float
        Locality L, by which the paper divides S; 1 by default.

    Returns
    -------
    float or array of float
        Mean latency, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is, with S/L instead of S,

        T_best = sqrt(2 S R / (3 D))

    If the best aspect ratio is at a bound, the mean is equation 4 at this bound.

    References
    ----------
    srarray, equation 6.
    """
    return read_latency(full_seek, revolution, *best_read(full_seek, revolution, disks, locality), locality)


@_formula
def write_latency(full_seek, revolution, striping, replicas, locality: Number = 1.0):
    """Return the mean latency of a write that propagates all its copies in the foreground.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds.
    revolution : float or array of float
        Time R of a revolution, seconds.
    striping : float or array of float
        Striping D_s: the data uses 1/D_s of the cylinders.
    replicas : float or array of float
        Number D_r of replicas of a block on its disk.
    locality : float or array of float
        Locality L, by which the paper divides S; 1 by default.

    Returns
    -------
    float or array of float
        Mean latency, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is, with S/L instead of S,

        T_W(D_s, D_r) = S / (3 D_s) + R - R / (2 D_r)

    References
    ----------
    srarray, equation 7.
    """
    return seek_striped(full_seek / locality, striping) + rotation_write_all(revolution, replicas)


def _some(reads, background_writes, foreground_writes):
    """Raise InputError if there are no requests."""
    require_broadcast(reads=reads, background_writes=background_writes, foreground_writes=foreground_writes)
    requests = reads + background_writes + foreground_writes
    require(requests > 0, "requests", requests, "above 0; give reads or writes")


@validate(together=_some)
def unpropagated_share(
    reads: Annotated[Any, AMOUNT.each],
    background_writes: Annotated[Any, AMOUNT.each],
    foreground_writes: Annotated[Any, AMOUNT.each],
):
    """Return the share of requests that do not propagate copies in the foreground.

    The three arguments must have the same unit: counts, rates or shares.

    Parameters
    ----------
    reads : float or array of float
        Amount X_r of reads.
    background_writes : float or array of float
        Amount X_wb of writes that propagate their copies in the background.
    foreground_writes : float or array of float
        Amount X_wf of writes that propagate their copies in the foreground.

    Returns
    -------
    float or array of float
        Share p of requests that do not propagate copies in the foreground, 0 to 1.

    Raises
    ------
    InputError
        If a number is below 0, there are no requests, or the arrays do not broadcast.

    Notes
    -----
    The share is

        p = (X_r + X_wb) / (X_r + X_wb + X_wf)

    References
    ----------
    srarray, equation 8.
    """
    unpropagated = reads + background_writes
    return unpropagated / (unpropagated + foreground_writes)


@_formula
def mixed_latency(full_seek, revolution, striping, replicas, share, locality: Number = 1.0):
    """Return the mean latency over reads and writes.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds.
    revolution : float or array of float
        Time R of a revolution, seconds.
    striping : float or array of float
        Striping D_s: the data uses 1/D_s of the cylinders.
    replicas : float or array of float
        Number D_r of replicas of a block on its disk.
    share : float or array of float
        Share p of requests that do not propagate copies in the foreground, 0 to 1.
    locality : float or array of float
        Locality L, by which the paper divides S; 1 by default.

    Returns
    -------
    float or array of float
        Mean latency, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is, with S/L instead of S,

        T(D_s, D_r) = S / (3 D_s) + p R / (2 D_r) + (1 - p) (R - R / (2 D_r))

    References
    ----------
    srarray, equation 9.
    """
    reads = read_latency(full_seek, revolution, striping, replicas, locality)
    return share * reads + (1 - share) * write_latency(full_seek, revolution, striping, replicas, locality)


@_formula
def best_mixed(full_seek, revolution, disks, share, locality: Number = 1.0) -> Aspect:
    """Return the aspect ratio of D disks that gives the least mean latency over reads and writes.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds, above 0.
    revolution : float or array of float
        Time R of a revolution, seconds.
    disks : float or array of float
        Number D of disks.
    share : float or array of float
        Share p of requests that do not propagate copies in the foreground, 0 to 1.
    locality : float or array of float
        Locality L, by which the paper divides S; 1 by default.

    Returns
    -------
    Aspect
        Striping D_s and number of replicas D_r, with 1 <= D_r <= D; pure striping if p <= 1/2.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The aspect ratio is, with S/L instead of S,

        D_s = sqrt(2 S D / (3 R (2 p - 1))),  D_r = sqrt(3 R (2 p - 1) D / (2 S))

    References
    ----------
    srarray, equation 10.
    """
    return best_rlook(full_seek, revolution, disks, share, SPARSE_QUEUE, locality)


@_formula
def best_mixed_latency(full_seek, revolution, disks, share, locality: Number = 1.0):
    """Return the mean latency over reads and writes at the best aspect ratio.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds, above 0.
    revolution : float or array of float
        Time R of a revolution, seconds.
    disks : float or array of float
        Number D of disks.
    share : float or array of float
        Share p of requests that do not propagate copies in the foreground, 0 to 1.
    locality : float or array of float
        Locality L, by which the paper divides S; 1 by default.

    Returns
    -------
    float or array of float
        Mean latency, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is, with S/L instead of S,

        T_best = sqrt(2 S R (2 p - 1) / (3 D)) + (1 - p) R

    If the best aspect ratio is at a bound, the mean is equation 9 at this bound.

    References
    ----------
    srarray, equation 11.
    """
    best = best_mixed(full_seek, revolution, disks, share, locality)
    return mixed_latency(full_seek, revolution, *best, share, locality)


@_formula
def rlook_service(full_seek, revolution, striping, replicas, share, queue, locality: Number = 1.0):
    """Return the mean time of one request in an RLOOK stroke of q requests.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds.
    revolution : float or array of float
        Time R of a revolution, seconds.
    striping : float or array of float
        Striping D_s: the data uses 1/D_s of the cylinders.
    replicas : float or array of float
        Number D_r of replicas of a block on its disk.
    share : float or array of float
        Share p of requests that do not propagate copies in the foreground, 0 to 1.
    queue : float or array of float
        Number q of requests in one stroke of a disk, above 0.
    locality : float or array of float
        Locality L, by which the paper divides S; 1 by default.

    Returns
    -------
    float or array of float
        Mean time, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is, with S/L instead of S,

        T(D_s, D_r) = S / (q D_s) + p R / (2 D_r) + (1 - p) (R - R / (2 D_r))

    For q <= 3 the mean is equation 9, which equals this equation at q = 3.

    References
    ----------
    srarray, equation 12.
    """
    seek = full_seek / (locality * _stroke(queue) * striping)
    rotation = share * rotation_even(revolution, replicas) + (1 - share) * rotation_write_all(revolution, replicas)
    return seek + rotation


@_formula
def best_rlook(full_seek, revolution, disks, share, queue, locality: Number = 1.0) -> Aspect:
    """Return the aspect ratio of D disks that gives the least RLOOK service time.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds, above 0.
    revolution : float or array of float
        Time R of a revolution, seconds.
    disks : float or array of float
        Number D of disks.
    share : float or array of float
        Share p of requests that do not propagate copies in the foreground, 0 to 1.
    queue : float or array of float
        Number q of requests in one stroke of a disk, above 0.
    locality : float or array of float
        Locality L, by which the paper divides S; 1 by default.

    Returns
    -------
    Aspect
        Striping D_s and number of replicas D_r, with 1 <= D_r <= D; pure striping if p <= 1/2.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The aspect ratio is, with S/L instead of S,

        D_s = sqrt(2 S D / (R (2 p - 1) q)),  D_r = sqrt(R (2 p - 1) q D / (2 S))

    For q <= 3 the aspect ratio is given by equation 10.

    References
    ----------
    srarray, equation 13.
    """
    square = _replicas_squared(full_seek, revolution, disks, share, queue, locality)
    # The bounds are applied before the root, so that the gradient is finite where p <= 1/2.
    replicas = namespace_of(square, disks).clip(square, 1, disks * disks) ** 0.5
    return Aspect(disks / replicas, replicas)


@_formula
def best_rlook_latency(full_seek, revolution, disks, share, queue, locality: Number = 1.0):
    """Return the mean RLOOK service time at the best aspect ratio.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds, above 0.
    revolution : float or array of float
        Time R of a revolution, seconds.
    disks : float or array of float
        Number D of disks.
    share : float or array of float
        Share p of requests that do not propagate copies in the foreground, 0 to 1.
    queue : float or array of float
        Number q of requests in one stroke of a disk, above 0.
    locality : float or array of float
        Locality L, by which the paper divides S; 1 by default.

    Returns
    -------
    float or array of float
        Mean time, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is, with S/L instead of S,

        T_best = sqrt(2 S R (2 p - 1) / (q D)) + (1 - p) R

    If the best aspect ratio is at a bound, the mean is equation 12 at this bound. For q <= 3 the mean is equation 11.

    References
    ----------
    srarray, equation 14.
    """
    best = best_rlook(full_seek, revolution, disks, share, queue, locality)
    return rlook_service(full_seek, revolution, *best, share, queue, locality)


@_formula
def disk_throughput(overhead, service):
    """Return the throughput of one busy disk whose requests take T_o + T seconds.

    Parameters
    ----------
    overhead : float or array of float
        Overhead T_o of a request, seconds.
    service : float or array of float
        Service time T of a request without the overhead, seconds.

    Returns
    -------
    float or array of float
        Throughput N_1, requests a second.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The throughput is

        N_1 = 1 / (T_o + T)

    References
    ----------
    srarray, equation 15.
    """
    return 1 / (overhead + service)


@_formula
def array_throughput(disks, outstanding, one_disk):
    """Return the throughput of D disks if Q outstanding requests are distributed over the disks at random.

    Parameters
    ----------
    disks : float or array of float
        Number D of disks.
    outstanding : float or array of float
        Number Q of outstanding requests.
    one_disk : float or array of float
        Throughput N_1 of one busy disk, requests a second.

    Returns
    -------
    float or array of float
        Throughput N_D, requests a second.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The throughput is

        N_D = D [1 - (1 - 1/D)^Q] N_1

    References
    ----------
    srarray, equation 16.
    """
    return disks * (1 - unchecked(idle_share)(disks, outstanding)) * one_disk


@_formula
def idle_share(disks, outstanding):
    """Return the probability that no outstanding request is at a given disk.

    Parameters
    ----------
    disks : float or array of float
        Number D of disks.
    outstanding : float or array of float
        Number Q of outstanding requests.

    Returns
    -------
    float or array of float
        Probability, 0 to 1.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The probability is

        (1 - 1/D)^Q

    References
    ----------
    srarray, section 2.4.
    """
    return (1 - 1 / disks) ** outstanding


@_formula
def unbounded_replicas(
    full_seek, revolution, disks, share: Number = 1.0, queue: Number = SPARSE_QUEUE, locality: Number = 1.0
):
    """Return the number of replicas D_r of equation 13, without the bounds 1 <= D_r <= D.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds, above 0.
    revolution : float or array of float
        Time R of a revolution, seconds.
    disks : float or array of float
        Number D of disks.
    share : float or array of float
        Share p of requests that do not propagate copies in the foreground, 0 to 1; 1 by default, as in equation 5.
    queue : float or array of float
        Number q of requests in one stroke of a disk, above 0; 3 by default. For q <= 3 the result is D_r of equation 10.
    locality : float or array of float
        Locality L, by which the paper divides S; 1 by default.

    Returns
    -------
    float or array of float
        Number of replicas D_r; 0 if p <= 1/2.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    If D_r is below 1, replicas cost more than they save. If D_r is above D, even D replicas are too few.

    References
    ----------
    srarray, section 4.1, which quotes 5.8 and 11.6 replicas for nine disks.
    """
    square = _replicas_squared(full_seek, revolution, disks, share, queue, locality)
    return namespace_of(square).clip(square, 0, None) ** 0.5


@validate
def practical_replicas(optimum: Amount, disks: Count, most: Count = MOST_REPLICAS) -> int:
    """Return the largest factor of `disks` that exceeds neither `optimum` nor `most`.

    Parameters
    ----------
    optimum : float
        Best number of replicas, not necessarily whole.
    disks : int
        Number of disks.
    most : int
        Largest number of replicas; 6 by default.

    Returns
    -------
    int
        Number of replicas; 1 if the optimum is below 1.

    Raises
    ------
    InputError
        If `disks` or `most` is not whole or below 1, or `optimum` is below 0.

    Notes
    -----
    The result is whole and has no derivative.

    References
    ----------
    srarray, sections 2.3 (factors) and 4.1 (at most six).
    """
    # Because of the tolerance, rounding does not exclude a factor that equals the optimum.
    limit = max(1.0, min(optimum * (1 + 1e-12), most))
    return max(factor for factor in range(1, min(disks, int(limit)) + 1) if disks % factor == 0)


def _replicas_squared(full_seek, revolution, disks, share, queue, locality):
    return revolution * (2 * share - 1) * _stroke(queue) * disks * locality / (2 * full_seek)


def _stroke(queue):
    return namespace_of(queue).maximum(queue, float(SPARSE_QUEUE))
