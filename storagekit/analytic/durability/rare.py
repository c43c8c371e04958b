"""Approximate the probability of rare losses, also for Weibull lifetimes."""

import math

from storagekit.core.errors import InputError
from storagekit.core.namespaces import as_number, is_true, is_zero, namespace_of
from storagekit.core.validation import Positive, validate
from storagekit.faults import ReliabilityModel


@validate
def rare_loss(model: ReliabilityModel, years: Positive = 1.0) -> float:
    """Return the probability of a loss if repairs are much faster than failures.

    Parameters
    ----------
    model : ReliabilityModel
        Redundant data without failure domains and with spares that are always available. Lifetimes may be Weibull
        distributed. Only the mean of the rebuild times has an effect.
    years : float
        Duration, years, by default 1. The model gives the number of days of a year (`Failures.days`). All disks are new
        at the beginning.

    Returns
    -------
    float
        The probability.

    Raises
    ------
    InputError
        If the model has failure domains or limited spares.

    Notes
    -----
    Let h(t) be the hazard of a disk and W_f the mean time until a disk is rebuilt, with f failed disks. The rate at
    which a group reaches m failed disks is approximately

        n! / (n - m)! h(t)^m W_1 ... W_(m-1)

    A group loses data at m = r + 1, and with the probability of a read error at m = r. For Weibull lifetimes with shape
    b and scale a, the integral of h^m up to t is (b / a^b)^m t^s / s with s = m (b - 1) + 1.

    References
    ----------
    Seagate, CORTX durability and availability (presentation), and the durability calculator of MLEC-sim
    (src/helpers/weibullNines.py), for one repair at a time and without read errors. Wang et al., SC 2023, for the
    windows of declustered pools.

    Examples
    --------
    >>> from storagekit.analytic.durability import rare_loss
    >>> from storagekit.faults import Failures, Redundancy, ReliabilityModel, Repair
    >>> aging = Failures(0.02, shape=1.4)
    >>> f"{rare_loss(ReliabilityModel(Redundancy(8, 2), aging, Repair(4e5, at_once=1))):.2e}"
    '1.72e-07'
    """
    if model.domains or model.repair.limited:
        raise InputError(
            "model: the approximation has no failure domains and no limited spares; call `durability` or "
            "sk.simulation.data_loss"
        )
    redundancy = model.redundancy
    expected = _reached(model, redundancy.parities + 1, years)
    if redundancy.parities:
        expected += model.read_error * _reached(model, redundancy.parities, years)
    return as_number(-namespace_of(expected).expm1(-redundancy.groups * expected))


def _reached(model: ReliabilityModel, failed: int, years: float) -> float:
    """Return the expected number of times that a group or pool reaches a number of failed disks."""
    failures, repair, disks = model.failures, model.repair, model.redundancy.disks
    if is_zero(failures.rate):
        return 0.0
    together = 1 if model.redundancy.declustered else repair.at_once or failed
    product = math.prod(disks - lost for lost in range(failed))
    for lost in range(1, failed):
        product *= failures.acceleration * (repair.detection + model.rebuild_time(lost) / min(lost, together))
    exponent = failed * (failures.shape - 1) + 1
    if is_true(exponent <= 0):
        raise InputError(
            f"shape of lifetimes {failures.shape:g}: the approximation needs a shape above {1 - 1 / failed:g}, because "
            "new disks would fail too often"
        )
    span = failures.matched * failures.year
    # (t / a)^(b m) as hazards, so that the powers of large times cancel
    hazard = failures.rate * span * (years / failures.matched) ** failures.shape
    time = years * failures.year
    return product * (failures.shape * hazard / time) ** failed * time / exponent
