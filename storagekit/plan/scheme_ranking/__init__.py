"""Comparison of RAID levels, codes, SR-Arrays and replicated bricks on given disks (`schemes`)."""

from storagekit.plan.scheme_ranking.aims import AIMS as AIMS
from storagekit.plan.scheme_ranking.aims import Aim as Aim
from storagekit.plan.scheme_ranking.aims import MaxCapacity as MaxCapacity
from storagekit.plan.scheme_ranking.aims import MaxThroughput as MaxThroughput
from storagekit.plan.scheme_ranking.aims import MinCost as MinCost
from storagekit.plan.scheme_ranking.aims import MinMean as MinMean
from storagekit.plan.scheme_ranking.aims import MinP95 as MinP95
from storagekit.plan.scheme_ranking.aims import MinP99 as MinP99
from storagekit.plan.scheme_ranking.answer import SchemesAnswer as SchemesAnswer
from storagekit.plan.scheme_ranking.asking import schemes as schemes
from storagekit.plan.scheme_ranking.checked import SchemesCheck as SchemesCheck
from storagekit.plan.scheme_ranking.families import ARRAYS as ARRAYS
from storagekit.plan.scheme_ranking.families import ParityRAID as ParityRAID
from storagekit.plan.scheme_ranking.families import ReplicatedBricks as ReplicatedBricks
from storagekit.plan.scheme_ranking.families import SRArrays as SRArrays
from storagekit.plan.scheme_ranking.predicting import Prediction as Prediction
from storagekit.plan.scheme_ranking.scheme import DSPTFCopies as DSPTFCopies
from storagekit.plan.scheme_ranking.scheme import Hashed as Hashed
from storagekit.plan.scheme_ranking.scheme import Mirrored as Mirrored
from storagekit.plan.scheme_ranking.scheme import Parity as Parity
from storagekit.plan.scheme_ranking.simulated_only import Protocols as Protocols
from storagekit.plan.scheme_ranking.simulated_only import SplitTransfers as SplitTransfers
