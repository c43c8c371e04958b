"""Answer how durable redundant data are: the probability of a loss, its causes and its dominant path."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from storagekit.analytic.durability.markov import Chain, LossPath
from storagekit.analytic.durability.states import chain_of
from storagekit.core.namespaces import as_number, namespace_of, quotient
from storagekit.core.validation import Amount, Positive, Share, instance_of, several, traced, validate, validate_fields
from storagekit.faults import ReliabilityModel
from storagekit.faults.reliability import READ_ERROR

# Bytes that a drive cannot read if it reports an unrecoverable read error.
UNREADABLE = 4096
# number of paths in the text of an answer
SHOWN = 5


@dataclass(frozen=True)
class Burst:
    """Correlated failures of many disks at once, such as after the loss of power.

    Parameters
    ----------
    annual : float
        Number of bursts a year, which arrive as a Poisson process.
    loss : float
        Probability that a burst loses data (see `burst_loss` and `scattered_loss`).
    name : str
        Name of the burst in a path, by default "burst".

    Raises
    ------
    InputError
        If a number is out of range.
    """

    annual: Amount
    loss: Share
    name: str = "burst"

    def __post_init__(self):
        validate_fields(self)


@dataclass(frozen=True)
class Durability:
    """The durability of redundant data.

    Parameters
    ----------
    years : float
        The duration, years.
    loss_probability : float
        Probability of a data loss within the duration, 0 to 1.
    mttdl_years : float
        Mean time to data loss (MTTDL), years; infinite if a loss is impossible.
    paths : tuple of LossPath
        Sequences of events that lead to a loss, in the order of their shares, the largest first; empty if a loss is
        impossible.
    causes : dict of str to float
        Share of the losses by their last event, 0 to 1.
    lost_bytes : float or None
        Expected number of lost bytes of user data within the duration. None if the capacity of a disk is not given, or
        there are bursts.
    conventions : tuple of str
        The assumptions behind these numbers, one sentence each.
    """

    years: float
    loss_probability: float
    mttdl_years: float
    paths: tuple[LossPath, ...]
    causes: dict[str, float]
    lost_bytes: float | None
    conventions: tuple[str, ...]

    @property
    def nines(self) -> float:
        """Return -log10 of the loss probability, which is infinite without losses."""
        space, lossless = namespace_of(self.loss_probability), self.loss_probability <= 0
        return as_number(
            space.where(lossless, math.inf, -space.log10(space.where(lossless, 1.0, self.loss_probability)))
        )

    @property
    def dominant(self) -> LossPath | None:
        """Return the path of most losses, or None if a loss is impossible."""
        return self.paths[0] if self.paths else None

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a dictionary for JSON, in years and bytes."""
        return {
            "years": self.years,
            "loss_probability": self.loss_probability,
            "nines": self.nines,
            "mttdl_years": self.mttdl_years,
            "paths": [{"events": list(path.events), "share": path.share} for path in self.paths],
            "causes": self.causes,
            "lost_bytes": self.lost_bytes,
            "conventions": list(self.conventions),
        }

    def __str__(self) -> str:
        bytes_lost = [] if self.lost_bytes is None else [("expected lost bytes", f"{self.lost_bytes:.3g}")]
        rows = [
            (
                f"loss probability in {self.years:g} {'year' if self.years == 1 else 'years'}",
                f"{self.loss_probability:.4g}",
            ),
            ("nines", f"{self.nines:.2f}"),
            ("mean time to data loss", f"{self.mttdl_years:.4g} years"),
            *bytes_lost,
        ]
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {value}" for name, value in rows]
        lines += ["", "share of the losses by path:"]
        lines += [f"  {path.share:7.2%}  {' > '.join(path.events)}" for path in self.paths[:SHOWN]]
        rest = 1 - sum(path.share for path in self.paths[:SHOWN])
        lines += [f"  {rest:7.2%}  other paths"] if self.paths and rest > 5e-5 else []
        return "\n".join([*lines, "", "conventions:", *(f"  - {line}" for line in self.conventions)])


@validate
def durability(
    model: ReliabilityModel,
    years: Positive = 1.0,
    bursts: Annotated[Sequence[Burst], several(instance_of(Burst), of="bursts")] = (),
) -> Durability:
    """Return the probability of a data loss, its mean time, and the paths that lead to it.

    Parameters
    ----------
    model : ReliabilityModel
        The redundant data with their failures and repairs. All times are exponential.
    years : float
        Duration, years, by default 1. The model gives the number of days of a year (`Failures.days`).
    bursts : sequence of Burst
        Correlated failures of all groups, in addition to the failures of the model. A burst that loses no data has no
        effect.

    Returns
    -------
    Durability
        The answer. The loss probability is exact for the model, from its Markov chain.

    Raises
    ------
    InputError
        If an argument is invalid, if a distribution is not exponential, or if the chain has too many states.

    Notes
    -----
    The groups are independent, so that the probability that none of G groups loses data is (1 - p)^G. The mean time to
    data loss of the whole is 1 / (G / MTTDL + rate of the bursts that lose data). It neglects that all groups begin
    without failures, which matters only if a loss is likely during one rebuild.

    While JAX traces the numbers of the model, the answer has no paths and no conventions.

    Examples
    --------
    >>> from storagekit.analytic.durability import durability
    >>> from storagekit.core.units import HOUR
    >>> from storagekit.faults import Failures, Redundancy, ReliabilityModel, Repair, rebuild_time
    >>> disks = Redundancy(data=8, parities=2, groups=5, capacity=20e12)
    >>> rebuild = Repair(rebuild_time(20e12, 100e6), at_once=1, detection=HOUR)
    >>> answer = durability(ReliabilityModel(disks, Failures(0.02), rebuild, bit_error_rate=1e-15))
    >>> print(str(answer).partition("conventions")[0].rstrip())
    loss probability in 1 year  0.0008428
    nines                       3.07
    mean time to data loss      1171 years
    expected lost bytes         1.94e+08
    <BLANKLINE>
    share of the losses by path:
       96.35%  disk fails > detected > disk fails > detected > read error in rebuild
        1.74%  disk fails > disk fails > detected > detected > read error in rebuild
        1.74%  disk fails > detected > disk fails > read error in rebuild
        0.14%  disk fails > detected > disk fails > detected > disk fails
        0.03%  disk fails > disk fails > detected > read error in rebuild
    """
    chain, duration, groups = chain_of(model), years * model.failures.year, model.redundancy.groups
    own = chain.loss_probability(duration)
    rates = {burst.name: 0.0 for burst in bursts}
    for burst in bursts:
        rates[burst.name] += burst.annual * burst.loss
    # log of the probability that nothing is lost
    total_bursts, certain = sum(rates.values()), own >= 1
    space = namespace_of(own, total_bursts, years)
    none = groups * space.log1p(-space.where(certain, 0.0, own))
    loss = -space.expm1(space.where(certain, -math.inf, none) - total_bursts * years)
    chain_rate = groups * model.failures.year / chain.mttdl
    total = chain_rate + total_bursts
    paths, causes = [], {}
    if traced(total, loss):
        causes = chain.loss_by_cause if not bursts else {}
    elif total > 0:
        paths = [LossPath(path.events, path.share * chain_rate / total) for path in chain.paths()]
        paths += [LossPath((name,), rate / total) for name, rate in rates.items() if rate > 0]
        causes = {name: share * chain_rate / total for name, share in chain.loss_by_cause.items()}
        causes |= {name: rate / total for name, rate in rates.items() if rate > 0}
    return Durability(
        years=years,
        loss_probability=as_number(loss),
        mttdl_years=as_number(quotient(1.0, total, math.inf)),
        paths=tuple(sorted(paths, key=lambda path: -path.share)),
        causes=causes,
        lost_bytes=None if bursts else _lost_bytes(model, chain, chain_rate * years),
        conventions=() if traced(total, loss) else model.conventions + _burst_conventions(bursts),
    )


def _burst_conventions(bursts: Sequence[Burst]) -> tuple[str, ...]:
    return tuple(
        f"{burst.annual:g} times a year a {burst.name} loses data with probability {burst.loss:.3g}."
        for burst in bursts
    )


def _lost_bytes(model: ReliabilityModel, chain: Chain, losses: float) -> float | None:
    """Return the expected number of lost bytes of user data for an expected number of losses.

    A read error loses one unreadable sector, and the sectors on the failed disks that only this sector could restore.
    All other losses concern the stripes with more lost chunks than parities.
    """
    redundancy = model.redundancy
    if redundancy.capacity is None:
        return None
    data_share = redundancy.data / redundancy.stripe
    lost = redundancy.parities + 1
    exposed = redundancy.disks * redundancy.capacity * data_share
    # the share of all stripes that have a chunk on each of r + 1 given disks
    whole = exposed * math.prod((redundancy.stripe - i) / (redundancy.disks - i) for i in range(lost))
    causes = chain.loss_by_cause
    sector = causes.get(READ_ERROR, 0.0) * min(lost * UNREADABLE * data_share, whole)
    return losses * (sector + (1 - causes.get(READ_ERROR, 0.0)) * whole) if causes else 0.0
