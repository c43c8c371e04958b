"""The public API for capacity planning.

====================  ====================================================================
schemes               ranks RAID levels, codes, SR-Arrays and replicated bricks on given disks
array                 ranks every SR-Array layout of given disks
size                  finds the fewest disks for a goal
memory                finds the price ratio at which memory and disks cost the same
rank_many             finds the best layout for each question in arrays of questions
shares                computes the rate of each stream on shared bricks, and its constraint
====================  ====================================================================

An answer prints as text and converts to a dictionary. `answer.check()` compares it with a simulation.
"""

from storagekit.analytic.array.aspect import Layout
from storagekit.analytic.array.elevator import RLOOK, RSATF
from storagekit.analytic.array.positioning import DriveFigures
from storagekit.core.binding import Binding
from storagekit.plan.answer import Candidate, Check, LayoutAnswer, SizeAnswer
from storagekit.plan.goal import ResponseGoal, ThroughputGoal
from storagekit.plan.many import Ranked, rank_many
from storagekit.plan.memory_or_disks import MemoryAnswer, price_ratio
from storagekit.plan.memory_or_disks import memory_or_disks as memory
from storagekit.plan.objective import Latency, Throughput
from storagekit.plan.question import Question
from storagekit.plan.scheme_ranking import (
    DSPTFCopies,
    Hashed,
    MaxCapacity,
    MaxThroughput,
    MinCost,
    MinMean,
    MinP95,
    MinP99,
    Mirrored,
    Parity,
    ParityRAID,
    Protocols,
    ReplicatedBricks,
    SchemesAnswer,
    SchemesCheck,
    SplitTransfers,
    SRArrays,
    schemes,
)
from storagekit.plan.sharing import share_bricks as shares
from storagekit.plan.sharing_answer import SharesAnswer, SharesCheck, SharesRow, StreamShare
from storagekit.plan.sharing_question import Stream
from storagekit.plan.sizing import size_array as size
from storagekit.plan.sr_array import best_sr_array as array
from storagekit.plan.trials import RandomQuestion, plan_against_simulation, random_questions

__all__ = [
    "RLOOK",
    "RSATF",
    "Binding",
    "Candidate",
    "Check",
    "DSPTFCopies",
    "DriveFigures",
    "Hashed",
    "Latency",
    "Layout",
    "LayoutAnswer",
    "MaxCapacity",
    "MaxThroughput",
    "MemoryAnswer",
    "MinCost",
    "MinMean",
    "MinP95",
    "MinP99",
    "Mirrored",
    "Parity",
    "ParityRAID",
    "Protocols",
    "Question",
    "RandomQuestion",
    "Ranked",
    "ReplicatedBricks",
    "ResponseGoal",
    "SRArrays",
    "SchemesAnswer",
    "SchemesCheck",
    "SharesAnswer",
    "SharesCheck",
    "SharesRow",
    "SizeAnswer",
    "SplitTransfers",
    "Stream",
    "StreamShare",
    "Throughput",
    "ThroughputGoal",
    "array",
    "memory",
    "plan_against_simulation",
    "price_ratio",
    "random_questions",
    "rank_many",
    "schemes",
    "shares",
    "size",
]
