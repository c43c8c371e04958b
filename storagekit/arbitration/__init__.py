"""Arbitration, which selects the drive for a request that is queued at several drives."""

from storagekit.arbitration.base import AbstractArbitration as AbstractArbitration
from storagekit.arbitration.base import Bid as Bid
from storagekit.arbitration.base import Decision as Decision
from storagekit.arbitration.base import NoArbitration as NoArbitration
from storagekit.arbitration.dsptf import DSPTFClaims as DSPTFClaims
from storagekit.arbitration.dsptf import Lossy as Lossy
from storagekit.arbitration.dsptf import Reliable as Reliable
from storagekit.arbitration.preselection import PreselectionBids as PreselectionBids
from storagekit.arbitration.switch import ArbitrationSwitch as ArbitrationSwitch
