"""Proportional sharing in distributed storage (paper dsfq): bounds on unfairness, long-run rates, unfairness of a run.

`bounds` contains the bounds of equations 4 and 8, the cap of delays of equation 11, and the minimum service that this
cap guarantees. `levels` implements theorem 3, for streams that are backlogged at the same bricks. `maxmin` computes
rates for any streams at any bricks. `hybrid` computes the rates if delays are capped in order to guarantee minimum
shares. `witness` finds the worst interval in the log of a run, to which the bounds apply.
"""

from storagekit.analytic.fairness.bounds import Interpretation as Interpretation
from storagekit.analytic.fairness.bounds import Side as Side
from storagekit.analytic.fairness.bounds import bound_one_server as bound_one_server
from storagekit.analytic.fairness.bounds import bound_total as bound_total
from storagekit.analytic.fairness.bounds import delay_factor as delay_factor
from storagekit.analytic.fairness.bounds import floor as floor
from storagekit.analytic.fairness.bounds import printed as printed
from storagekit.analytic.fairness.bounds import repaired as repaired
from storagekit.analytic.fairness.bounds import shortfall as shortfall
from storagekit.analytic.fairness.hybrid import WithMinimums as WithMinimums
from storagekit.analytic.fairness.hybrid import hybrid_rates as hybrid_rates
from storagekit.analytic.fairness.levels import WaterLevel as WaterLevel
from storagekit.analytic.fairness.levels import water_level as water_level
from storagekit.analytic.fairness.maxmin import MaxMin as MaxMin
from storagekit.analytic.fairness.maxmin import max_min_rates as max_min_rates
from storagekit.analytic.fairness.witness import largest_drop as largest_drop
from storagekit.analytic.fairness.witness import largest_unfairness as largest_unfairness
from storagekit.analytic.fairness.witness import worst_interval as worst_interval
