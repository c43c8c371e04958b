"""RAID levels, codes, SR-Arrays and replicated bricks on given disks, compared (`schemes`)."""

from storagekit.plan.keeping.aims import AIMS as AIMS
from storagekit.plan.keeping.aims import Aim as Aim
from storagekit.plan.keeping.aims import MaxCapacity as MaxCapacity
from storagekit.plan.keeping.aims import MaxThroughput as MaxThroughput
from storagekit.plan.keeping.aims import MinCost as MinCost
from storagekit.plan.keeping.aims import MinMean as MinMean
from storagekit.plan.keeping.aims import MinP95 as MinP95
from storagekit.plan.keeping.aims import MinP99 as MinP99
from storagekit.plan.keeping.answer import SchemesAnswer as SchemesAnswer
from storagekit.plan.keeping.asking import schemes as schemes
from storagekit.plan.keeping.checked import SchemesCheck as SchemesCheck
from storagekit.plan.keeping.families import ARRAYS as ARRAYS
from storagekit.plan.keeping.families import ParityRAID as ParityRAID
from storagekit.plan.keeping.families import ReplicatedBricks as ReplicatedBricks
from storagekit.plan.keeping.families import SRArrays as SRArrays
from storagekit.plan.keeping.predicting import Prediction as Prediction
from storagekit.plan.keeping.scheme import DSPTFCopies as DSPTFCopies
from storagekit.plan.keeping.scheme import Hashed as Hashed
from storagekit.plan.keeping.scheme import Mirrored as Mirrored
from storagekit.plan.keeping.scheme import Parity as Parity
from storagekit.plan.keeping.unformulated import Protocols as Protocols
from storagekit.plan.keeping.unformulated import SplitTransfers as SplitTransfers
