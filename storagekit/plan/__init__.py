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

====================  ====================================================================
requirements          `requirements` (schemes), `question` and `goal` (layouts), `sharing_question`
candidates            `families` and `scheme`; the layouts of a `question`
prediction            `devices`, `predicting`, `ssd_schemes`, `cached`, `networking` (schemes); `paper_rule`
ranking               `objective`; `finding`, `ranking`, `sr_array`, `sizing`, `many`, `sharing`
answer                `answer` (text, JSON, tables); `schemes_answer`, `layout_answer`, `sharing_answer`; `purchases`
check                 `check` (the result), `checking`, `simulating` (scenarios); `trials` (random questions)
====================  ====================================================================
"""

from storagekit.analytic.array.aspect import Layout as Layout
from storagekit.analytic.array.elevator import RLOOK as RLOOK
from storagekit.analytic.array.elevator import RSATF as RSATF
from storagekit.analytic.array.positioning import DriveFigures as DriveFigures
from storagekit.core.binding import Binding as Binding
from storagekit.plan.check import Check as Check
from storagekit.plan.check import CheckRow as CheckRow
from storagekit.plan.families import Code as Code
from storagekit.plan.families import ParityRAID as ParityRAID
from storagekit.plan.families import Protocols as Protocols
from storagekit.plan.families import ReplicatedBricks as ReplicatedBricks
from storagekit.plan.families import SplitTransfers as SplitTransfers
from storagekit.plan.families import SRArrays as SRArrays
from storagekit.plan.goal import ResponseGoal as ResponseGoal
from storagekit.plan.goal import ThroughputGoal as ThroughputGoal
from storagekit.plan.layout_answer import Candidate as Candidate
from storagekit.plan.layout_answer import LayoutAnswer as LayoutAnswer
from storagekit.plan.layout_answer import SizeAnswer as SizeAnswer
from storagekit.plan.many import Ranked as Ranked
from storagekit.plan.many import rank_many as rank_many
from storagekit.plan.memory_or_disks import MemoryAnswer as MemoryAnswer
from storagekit.plan.memory_or_disks import memory as memory
from storagekit.plan.memory_or_disks import price_ratio as price_ratio
from storagekit.plan.network import Network as Network
from storagekit.plan.objective import MaxCapacity as MaxCapacity
from storagekit.plan.objective import MaxThroughput as MaxThroughput
from storagekit.plan.objective import MinCost as MinCost
from storagekit.plan.objective import MinMean as MinMean
from storagekit.plan.objective import MinP95 as MinP95
from storagekit.plan.objective import MinP99 as MinP99
from storagekit.plan.question import Question as Question
from storagekit.plan.ranking import schemes as schemes
from storagekit.plan.scheme import DSPTFCopies as DSPTFCopies
from storagekit.plan.scheme import Hashed as Hashed
from storagekit.plan.scheme import Mirrored as Mirrored
from storagekit.plan.scheme import Parity as Parity
from storagekit.plan.schemes_answer import SchemesAnswer as SchemesAnswer
from storagekit.plan.schemes_next import Change as Change
from storagekit.plan.schemes_next import NextPurchase as NextPurchase
from storagekit.plan.schemes_next import ReadCache as ReadCache
from storagekit.plan.sharing import shares as shares
from storagekit.plan.sharing_answer import SharesAnswer as SharesAnswer
from storagekit.plan.sharing_answer import StreamShare as StreamShare
from storagekit.plan.sharing_question import Stream as Stream
from storagekit.plan.sizing import size as size
from storagekit.plan.sr_array import array as array
from storagekit.plan.ssd_cache import SSDCache as SSDCache
from storagekit.plan.tenants import SequentialStream as SequentialStream
from storagekit.plan.tenants import Tenant as Tenant
from storagekit.plan.tenants import tenants_of as tenants_of
from storagekit.plan.trials import RandomQuestion as RandomQuestion
from storagekit.plan.trials import plan_against_simulation as plan_against_simulation
from storagekit.plan.trials import random_questions as random_questions
