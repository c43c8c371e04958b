"""What a capacity planner imports: layouts ranked by what they give, arrays sized for a goal, memory against disks."""

from storagekit.analytic.array.aspect import Layout as Layout
from storagekit.analytic.array.elevator import RLOOK as RLOOK
from storagekit.analytic.array.elevator import RSATF as RSATF
from storagekit.analytic.array.positioning import DriveFigures as DriveFigures
from storagekit.binding import Binding as Binding
from storagekit.plan.answer import Candidate as Candidate
from storagekit.plan.answer import Check as Check
from storagekit.plan.answer import LayoutAnswer as LayoutAnswer
from storagekit.plan.answer import SizeAnswer as SizeAnswer
from storagekit.plan.goal import ResponseGoal as ResponseGoal
from storagekit.plan.goal import ThroughputGoal as ThroughputGoal
from storagekit.plan.many import Ranked as Ranked
from storagekit.plan.many import rank_many as rank_many
from storagekit.plan.memory import MemoryAnswer as MemoryAnswer
from storagekit.plan.memory import memory_or_disks as memory_or_disks
from storagekit.plan.memory import price_ratio as price_ratio
from storagekit.plan.objective import Latency as Latency
from storagekit.plan.objective import Throughput as Throughput
from storagekit.plan.question import Question as Question
from storagekit.plan.sizing import size_array as size_array
from storagekit.plan.sr_array import best_sr_array as best_sr_array
from storagekit.plan.trials import RandomQuestion as RandomQuestion
from storagekit.plan.trials import plan_against_simulation as plan_against_simulation
from storagekit.plan.trials import random_questions as random_questions
