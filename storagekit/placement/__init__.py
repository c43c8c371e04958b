"""Placements: the drives that hold the parts of a request, and their locations on these drives."""

from storagekit.placement.after_loss import AfterLoss as AfterLoss
from storagekit.placement.base import MOST_PARTS as MOST_PARTS
from storagekit.placement.base import AbstractPlacement as AbstractPlacement
from storagekit.placement.base import Location as Location
from storagekit.placement.base import NearestReplica as NearestReplica
from storagekit.placement.base import nearest_replica as nearest_replica
from storagekit.placement.base import of_part as of_part
from storagekit.placement.bricks import Bricks as Bricks
from storagekit.placement.coded import Coded as Coded
from storagekit.placement.declustered import Declustered as Declustered
from storagekit.placement.declustered_parity import DeclusteredParity as DeclusteredParity
from storagekit.placement.grouping import Grouping as Grouping
from storagekit.placement.local_reconstruction import LocalReconstruction as LocalReconstruction
from storagekit.placement.nodes import Node as Node
from storagekit.placement.nodes import Volume as Volume
from storagekit.placement.nodes import laid_out as laid_out
from storagekit.placement.parity import RAID5 as RAID5
from storagekit.placement.parity import ParityGroups as ParityGroups
from storagekit.placement.replicas import Replicas as Replicas
from storagekit.placement.segments import Segments as Segments
from storagekit.placement.segments import cut as cut
from storagekit.placement.srmirror import SRMirror as SRMirror
from storagekit.placement.striped import Striped as Striped
from storagekit.placement.volumes import AbstractVolumes as AbstractVolumes
from storagekit.placement.volumes import SplitVolumes as SplitVolumes
from storagekit.placement.volumes import Volumes as Volumes
