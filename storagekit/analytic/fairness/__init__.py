"""Proportional sharing in distributed storage (dsfq): where it settles.

`levels` is theorem 3: streams backlogged at the same bricks. `maxmin` computes rates for any streams at any bricks.
"""

from storagekit.analytic.fairness.levels import WaterLevel as WaterLevel
from storagekit.analytic.fairness.levels import water_level as water_level
from storagekit.analytic.fairness.maxmin import MaxMin as MaxMin
from storagekit.analytic.fairness.maxmin import max_min_rates as max_min_rates
