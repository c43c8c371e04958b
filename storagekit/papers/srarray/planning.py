"""Comparison of the planner's layouts with the best simulated layouts.

The paper does not have this exhibit. The paper's figure 7 has the same purpose.
"""

import xarray as xr
from scipy import stats

from storagekit.drive import load_drive
from storagekit.papers.measurement import Measurement
from storagekit.papers.srarray.disk import QUICK, ArrayEffort
from storagekit.plan import plan_against_simulation, random_questions

REAL = ("cheetah9lp", "atlas10k")
# Case of the planner for each claim, by the last part of the claim's identifier.
CASES = {"latency": "latency", "rlook": "throughput, RLOOK", "rsatf": "throughput, RSATF"}


def plan_grid(effort: ArrayEffort = QUICK, *, mirrors: int = 1) -> xr.Dataset:
    """Return the planner's answers to random questions, and the simulation of every feasible layout.

    Parameters
    ----------
    effort : ArrayEffort
        Gives the number of questions and the seed. With fewer than 20 questions, arrays have at most 12 disks instead
        of 48, only the first of `CASES` is simulated, and the runs are shorter.
    mirrors : int
        D_m, the number of mirrors of the layouts, by default 1.

    Returns
    -------
    Dataset
        Result of `plan.plan_against_simulation`.
    """
    real = [load_drive(name) for name in REAL]
    quick = effort.questions < 20
    most = 12 if quick else 48
    questions = random_questions(effort.questions, effort.first_seed, real=real, most_disks=most)
    cases = list(CASES.values())[: 1 if quick else 3]
    data = plan_against_simulation(
        questions, seed=effort.first_seed, effort=0.1 if quick else 0.25, mirrors=mirrors, cases=cases
    )
    facts = {"scenario": "random questions (listed in the data), with every feasible layout of each question"}
    return data.assign_attrs(facts, paper="srarray", exhibit="srarray.plan", basis="simulated", most_disks=most)


def plan_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the fraction of the questions for which the planner's layout is within 5% of the best.

    Parameters
    ----------
    data : Dataset
        Result of `plan_grid`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `srarray.plan`. A case that is not in `data` has no measured value.
    """
    found = []
    for name, case in CASES.items():
        claim = f"srarray.plan.{name}"
        if case not in data["case"].values:
            found.append(Measurement(claim, None, note="Only the profile full includes this case."))
            continue
        row = data.sel(case=case)
        plan, paper = (float(row.within.sel(rule=rule)) for rule in ("plan", "paper"))
        worst = float(row.shortfall.sel(rule="plan").max())
        count = row.sizes["question"]
        sure = float(stats.beta.ppf(0.05, round(plan * count), count - round(plan * count) + 1))
        note = (
            f"The value is the fraction of {count} questions, with 2 to {int(data.attrs['most_disks'])} disks, for "
            "which the recommended layout is at most 5% slower than the best simulated layout. The claim holds if this "
            f"fraction is at least 95%. With 95% confidence, it is above {sure:.0%}. The recommended layout is at most "
            f"{worst:.1%} slower than the best "
            f"layout. With the rule of the paper instead of the planner, the fraction is {paper:.1%}."
        )
        found.append(Measurement(claim, plan, holds=plan >= 0.95, note=note))
    return found
