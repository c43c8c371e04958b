"""Where blocks live: which drives hold the copies of an address, and where on them."""

from storagekit.placement.base import MOST_COPIES as MOST_COPIES
from storagekit.placement.base import AbstractPlacement as AbstractPlacement
from storagekit.placement.base import Location as Location
from storagekit.placement.base import Reach as Reach
from storagekit.placement.base import nearest_replica as nearest_replica
from storagekit.placement.base import of_copy as of_copy
from storagekit.placement.declustered import Declustered as Declustered
from storagekit.placement.replicas import Replicas as Replicas
from storagekit.placement.srmirror import SRMirror as SRMirror
