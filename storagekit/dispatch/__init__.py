"""Which copies of a request are asked, and who may serve it."""

from storagekit.dispatch.base import AbstractDispatch as AbstractDispatch
from storagekit.dispatch.base import Claim as Claim
from storagekit.dispatch.base import OneChosen as OneChosen
from storagekit.dispatch.base import Uncontested as Uncontested
from storagekit.dispatch.base import Verdict as Verdict
from storagekit.dispatch.base import View as View
from storagekit.dispatch.by_number import ByNumber as ByNumber
from storagekit.dispatch.dsptf import DSPTF as DSPTF
from storagekit.dispatch.dsptf import Lossy as Lossy
from storagekit.dispatch.dsptf import Reliable as Reliable
from storagekit.dispatch.dsptf import central as central
from storagekit.dispatch.hashing import Hashing as Hashing
from storagekit.dispatch.hashing import WeightedHashing as WeightedHashing
from storagekit.dispatch.lard import LARD as LARD
from storagekit.dispatch.mirror import NearestIdle as NearestIdle
