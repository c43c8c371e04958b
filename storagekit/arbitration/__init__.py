"""Who serves a request that several were asked for."""

from storagekit.arbitration.base import AbstractClaims as AbstractClaims
from storagekit.arbitration.base import Claim as Claim
from storagekit.arbitration.base import NoClaims as NoClaims
from storagekit.arbitration.base import Verdict as Verdict
from storagekit.arbitration.by_number import ByNumber as ByNumber
from storagekit.arbitration.dsptf import DSPTF as DSPTF
from storagekit.arbitration.dsptf import Lossy as Lossy
from storagekit.arbitration.dsptf import Reliable as Reliable
from storagekit.arbitration.preselection import Preselection as Preselection
