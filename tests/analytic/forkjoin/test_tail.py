"""The bound on the share of late blocks, against random draws."""

import numpy as np
import pytest

from storagekit.analytic.forkjoin import Disk, lateness_bound
from storagekit.core.errors import InputError
from storagekit.core.units import MS

SLOW, QUICK = Disk(16 * MS, 8.3 * MS, 2.5e6), Disk(8 * MS, 4 * MS, 6e6)
FLASH = Disk(0.1 * MS, 0, 20e6, "flash")


@pytest.mark.parametrize("disk", [SLOW, QUICK, FLASH, Disk(0, 5 * MS, 1e6)])
@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_the_bound_is_above_the_observed_share(disk, count):
    draw = np.random.default_rng(count)
    units = 2.0 ** draw.integers(12, 20, count)
    seek, rotation = draw.random((2, 100_000, count))
    together = disk.times(units, seek, rotation).sum(axis=1)
    for share in (0.5, 0.9, 0.99, 0.999):
        period = float(np.quantile(together, share))
        happened = float(np.mean(together > period))
        bound = lateness_bound(disk, units, period)
        assert happened <= bound <= 1
        # the bound is not loose either: the exponent of the tail is right, except for a slowly growing factor
        assert bound <= 25 * happened
    longest = float(disk.slowest(units).sum())
    assert lateness_bound(disk, units, longest) == 0
    assert 0 < lateness_bound(disk, units, longest - 0.05 * (longest - disk.transfer(units).sum())) < 0.2
    assert lateness_bound(disk, units, float(together.mean()) * 0.99) == 1


@pytest.mark.parametrize("period", [0.0, -1.0, np.nan])
def test_the_bound_needs_a_period(period):
    with pytest.raises(InputError, match=f"period {period:g} s: it must be above 0"):
        lateness_bound(SLOW, [4096], period)
