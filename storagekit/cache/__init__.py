"""Memory in front of the disks: requests that hit in it do not reach a disk."""

from storagekit.cache.base import AbstractCache as AbstractCache
from storagekit.cache.base import LookUp as LookUp
from storagekit.cache.base import LookUpQuery as LookUpQuery
from storagekit.cache.base import NoCache as NoCache
from storagekit.cache.bricks import BrickLRU as BrickLRU
from storagekit.cache.bricks import blocks_held as blocks_held
from storagekit.cache.lru import LRU as LRU
from storagekit.cache.recorded import RecordedLRU as RecordedLRU
from storagekit.cache.sets import sets_for as sets_for
