"""Is the layout that the planner recommends the best? Not in the paper, which has figure 7 for it."""

import xarray as xr
from scipy import stats

from storagekit.drive import load_drive
from storagekit.papers.measurement import Measurement
from storagekit.papers.srarray.disk import QUICK, ArrayEffort
from storagekit.plan import plan_against_simulation, random_questions

REAL = ("cheetah9lp", "atlas10k")
# by the claim's name
CASES = {"latency": "latency", "rlook": "throughput, RLOOK", "rsatf": "throughput, RSATF"}


def plan_grid(effort: ArrayEffort = QUICK, *, mirrors: int = 1) -> xr.Dataset:
    """Random questions to the planner, every feasible layout of each simulated (see `plan.plan_against_simulation`)."""
    real = [load_drive(name) for name in REAL]
    quick = effort.questions < 20
    most = 12 if quick else 48
    questions = random_questions(effort.questions, effort.first_seed, real=real, most_disks=most)
    cases = list(CASES.values())[: 1 if quick else 3]
    data = plan_against_simulation(
        questions, seed=effort.first_seed, effort=0.1 if quick else 0.25, mirrors=mirrors, cases=cases
    )
    told = {"scenario": "random questions, which are in the data, and every layout that answers each"}
    return data.assign_attrs(told, paper="srarray", exhibit="srarray.plan", basis="simulated", most_disks=most)


def plan_findings(data: xr.Dataset) -> list[Measurement]:
    """The share of questions on which the plan is the best simulated layout, or within 5% of it."""
    found = []
    for name, case in CASES.items():
        claim = f"srarray.plan.{name}"
        if case not in data["case"].values:
            found.append(Measurement(claim, None, note="profile full asks this as well"))
            continue
        row = data.sel(case=case)
        plan, paper = (float(row.within.sel(rule=rule)) for rule in ("plan", "paper"))
        worst = float(row.shortfall.sel(rule="plan").max())
        count = row.sizes["question"]
        sure = float(stats.beta.ppf(0.05, round(plan * count), count - round(plan * count) + 1))
        note = (
            f"{count} questions of 2 to {int(data.attrs['most_disks'])} disks, above {sure:.0%} at 95% confidence; worst "
            f"{worst:.1%} behind; the paper's own rule: {paper:.1%}"
        )
        found.append(Measurement(claim, plan, holds=plan >= 0.95, note=note))
    return found
