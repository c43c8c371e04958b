"""Who serves a request that several were asked for."""

from storagekit.claims.base import AbstractClaims as AbstractClaims
from storagekit.claims.base import Claim as Claim
from storagekit.claims.base import NoClaims as NoClaims
from storagekit.claims.base import Verdict as Verdict
from storagekit.claims.by_number import ByNumber as ByNumber
from storagekit.claims.dsptf import DSPTF as DSPTF
from storagekit.claims.dsptf import Lossy as Lossy
from storagekit.claims.dsptf import Reliable as Reliable
from storagekit.claims.preselection import Preselection as Preselection
