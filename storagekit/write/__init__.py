"""Write policies, which define when a write completes and how it reaches its copies."""

from storagekit.write.background import Background as Background
from storagekit.write.background import Delayed as Delayed
from storagekit.write.base import AbstractWrite as AbstractWrite
from storagekit.write.base import WaitingParts as WaitingParts
from storagekit.write.committed import Claimed as Claimed
from storagekit.write.committed import Committed as Committed
from storagekit.write.foreground import AllCopies as AllCopies
from storagekit.write.foreground import FirstCopy as FirstCopy
from storagekit.write.foreground import Immediate as Immediate
from storagekit.write.foreground import ReceivingBrick as ReceivingBrick
from storagekit.write.recovery import Pending as Pending
from storagekit.write.recovery import recovery as recovery
from storagekit.write.switch import WriteSwitch as WriteSwitch
