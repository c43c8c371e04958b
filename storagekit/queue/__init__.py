"""Queues of bricks, which issue waiting parts to the drives of a brick."""

from storagekit.queue.base import AbstractQueue as AbstractQueue
from storagekit.queue.base import Queued as Queued
from storagekit.queue.base import Unlimited as Unlimited
from storagekit.queue.coordinators import AbstractCoordinators as AbstractCoordinators
from storagekit.queue.coordinators import AtRandom as AtRandom
from storagekit.queue.coordinators import ByBrick as ByBrick
from storagekit.queue.coordinators import InTurn as InTurn
from storagekit.queue.coordinators import OneCoordinator as OneCoordinator
from storagekit.queue.coordinators import account as account
from storagekit.queue.coordinators import empty_ledger as empty_ledger
from storagekit.queue.cost import AbstractCost as AbstractCost
from storagekit.queue.cost import ByBytes as ByBytes
from storagekit.queue.cost import ByRequests as ByRequests
from storagekit.queue.cost import ByTime as ByTime
from storagekit.queue.delay import AbstractDelay as AbstractDelay
from storagekit.queue.delay import Hybrid as Hybrid
from storagekit.queue.delay import MinimumOnly as MinimumOnly
from storagekit.queue.delay import Single as Single
from storagekit.queue.delay import Total as Total
from storagekit.queue.delay import prices as prices
from storagekit.queue.depth import Depth as Depth
from storagekit.queue.fair import FairQueue as FairQueue
from storagekit.queue.mclock import MClock as MClock
