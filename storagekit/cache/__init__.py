"""Memory in front of the disks: which requests never reach one."""

from storagekit.cache.base import AbstractCache as AbstractCache
from storagekit.cache.base import NoCache as NoCache
from storagekit.cache.lru import LRU as LRU
from storagekit.cache.lru import sets_for as sets_for
