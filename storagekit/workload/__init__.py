"""Workloads: requests, arrival processes, clients, and traces."""

from typing import TYPE_CHECKING

from storagekit.core.lazy_loading import loader
from storagekit.workload.arrivals import AbstractArrivals as AbstractArrivals
from storagekit.workload.arrivals import ClosedLoop as ClosedLoop
from storagekit.workload.arrivals import PoissonArrivals as PoissonArrivals
from storagekit.workload.arrivals import RecordedArrivals as RecordedArrivals
from storagekit.workload.arrivals import Window as Window
from storagekit.workload.closed_or_open import ClosedOrOpen as ClosedOrOpen
from storagekit.workload.counts import AbstractCount as AbstractCount
from storagekit.workload.counts import OnOff as OnOff
from storagekit.workload.counts import Sinusoid as Sinusoid
from storagekit.workload.counts import Steady as Steady
from storagekit.workload.counts import Steps as Steps
from storagekit.workload.mixed import MixedRequests as MixedRequests
from storagekit.workload.randomness import below as below
from storagekit.workload.randomness import fraction as fraction
from storagekit.workload.randomness import scramble as scramble
from storagekit.workload.randomness import words as words
from storagekit.workload.recorded import recorded as recorded
from storagekit.workload.recorded import wrapped as wrapped
from storagekit.workload.requests import RandomRequests as RandomRequests
from storagekit.workload.requests import Requests as Requests
from storagekit.workload.requests import empty_request as empty_request
from storagekit.workload.sizes import AbstractSize as AbstractSize
from storagekit.workload.sizes import ExponentialSize as ExponentialSize
from storagekit.workload.sizes import FixedSize as FixedSize
from storagekit.workload.sizes import MixedSizes as MixedSizes
from storagekit.workload.sizes import UniformSize as UniformSize
from storagekit.workload.threads import Group as Group
from storagekit.workload.threads import Threads as Threads
from storagekit.workload.volumes import VolumeRequests as VolumeRequests

if TYPE_CHECKING:
    from storagekit.workload import synthetic as synthetic
    from storagekit.workload import trace as trace

__getattr__, __dir__ = loader(__name__, ("synthetic", "trace"))
