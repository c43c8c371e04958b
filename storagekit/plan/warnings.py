"""Warnings about a recommended scheme: overload after a failure, disks that are nearly overloaded, and odd sizes."""

import math
from dataclasses import replace

from storagekit.core.units import KB, SECTOR
from storagekit.plan.answer import milliseconds
from storagekit.plan.devices import predict_again
from storagekit.plan.objective import BUSIEST
from storagekit.plan.predicting import again_of, load_share, overloads_after_failure
from storagekit.plan.prediction import Prediction
from storagekit.plan.requirements import Requirements

# utilization above which an answer warns
BUSY = 0.9


def warnings_of(needs: Requirements, best: Prediction) -> tuple[str, ...]:
    """Return the limits of a recommended scheme, one sentence each.

    Parameters
    ----------
    needs : Requirements
        The requirements.
    best : Prediction
        The recommended scheme.

    Returns
    -------
    tuple of str
        The sentences. With a number of outstanding requests there is no sentence about the rate, because the rate adapts
        to the disks.
    """
    found = [_full_stripes(needs, best)]
    if needs.rate is None:
        return tuple(filter(None, found))
    found.append(_network(best))
    found.append(_after_failure(needs, best))
    # a scheme without a formula would be simulated again
    if best.basis == "analytic":
        found += [_near_overload(needs, best), _partly(needs, best)]
    return tuple(filter(None, found))


def _full_stripes(needs: Requirements, best: Prediction) -> str:
    """Return the condition that a scheme with full stripes sets for the requests; "" without full stripes."""
    if not best.scheme.whole_pages:
        return ""
    ways = best.scheme.shape.ways
    row = best.scheme.alignment(needs.largest) * SECTOR / KB
    return (
        f"full stripes of {ways} x {row / ways:g} KB: the array must store each request as a row, like RAID-Z, or requests "
        f"must begin at multiples of {row:g} KB; other writes read first, and every read occupies {ways} disks"
    )


def _network(best: Prediction) -> str:
    # NaN without a network
    if not best.network > BUSY:
        return ""
    return (
        f"the busiest link of the network is {best.network:.0%} used: requests wait for it, which the response times "
        "exclude, and a rebuild has little of its rate"
    )


def _after_failure(needs: Requirements, best: Prediction) -> str:
    if not overloads_after_failure(needs, best):
        return ""
    assert needs.rate is not None
    return (
        f"while a disk is lost, the busiest disk would be {best.degraded:.0%} busy, so that response times rise without "
        f"limit and nothing is rebuilt; {_relief(needs.rate, best.degraded, best.streams_lost, 1.0)}more disks avoid this"
    )


def _relief(rate: float, busy: float, streams: float, target: float) -> str:
    """Return the first part of a remedy: the rate of requests at which the disks are busy for the share `target`.

    If the streams alone exceed this share, the remedy is slower streams. busy: share of the time for which the disks are
    busy at the present rate. streams: the part of this share for streams.
    """
    if streams >= target:
        return "slower streams or "
    return f"at most {rate * (target - streams) / (busy - streams):.0f} requests/s, or "


def _near_overload(needs: Requirements, best: Prediction) -> str:
    share = load_share(needs, best)
    if share <= BUSY:
        return ""
    assert needs.rate is not None
    then = predict_again(replace(needs, rate=1.01 * needs.rate), best)
    grows = f"{milliseconds(then.mean)} ms" if math.isfinite(then.mean) else "overload"
    queued = needs.queue_depth > 1
    load = f"the load is {share:.1%} of the maximum rate" if queued else f"the disks are {share:.1%} busy"
    if queued:
        then_rate, relief = f"{BUSIEST * best.disk_limit:.0f} requests/s, or ", f"are {BUSIEST:.0%} of that rate"
    else:
        then_rate = _relief(needs.rate, best.utilization, best.streams, BUSIEST).removeprefix("at most ")
        relief = f"leave the disks {BUSIEST:.0%} busy"
    return (
        f"{load}: 1% more requests changes the mean from {milliseconds(best.mean)} ms to {grows}, and predictions are "
        "uncertain; "
        f"{then_rate}more disks, {relief}"
    )


def _partly(needs: Requirements, best: Prediction) -> str:
    """Return the warning about sizes that are not multiples of a physical sector, with the rate for whole sectors."""
    written = needs.shares_by_operation[1] > 0
    if needs.read_share == 1 or not (again_of(needs, best.scheme) * written).any():
        return ""
    sector = SECTOR * needs.disk.grain
    partly = next(size for (size, _), some in zip(needs.sizes, written, strict=True) if some and size % sector)
    then = predict_again(needs.with_whole(sector), best)
    return (
        f"requests of {partly:,.0f} bytes are not a multiple of the sectors of {sector:,} bytes, so that a write of "
        f"this size takes a revolution more; with whole sectors the limit would be {then.disk_limit:.0f} requests/s in "
        f"place of {best.disk_limit:.0f}"
    )
