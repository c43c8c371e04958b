"""Which waiting parts a brick hands to its drives."""

from storagekit.queue.base import AbstractQueue as AbstractQueue
from storagekit.queue.base import Everything as Everything
from storagekit.queue.base import Queued as Queued
from storagekit.queue.depth import Depth as Depth
