"""Reuse of data in a trace, and the hit rate of an LRU cache of any size.

An LRU cache of C blocks holds the C most recently accessed blocks. An access therefore hits if and only if fewer than C
other blocks were accessed since the last access to its block. One pass over a stream gives the hit rate at every size.

The hit rate is computed on the host, and shares no code with `storagekit.cache`. Each of the two implementations can
therefore verify the other.

References
----------
Mattson, Gecsei, Slutz and Traiger, Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2), 1970.
"""

import numpy as np

from storagekit.core import units
from storagekit.core.errors import InputError
from storagekit.workload.trace import RequestTrace

BLOCK = 16 * units.SECTOR
# the distance of the first access to a block
NEVER = np.iinfo(np.int64).max
# limit of the blocks that the requests of a trace access, repetitions included: a dozen arrays of 1 GB
MOST_TOUCHES = 2**27


def hit_rates(stream: RequestTrace | np.ndarray, capacities, block: int = BLOCK) -> np.ndarray | np.floating:
    """Return the share of reads that hit in an LRU cache, for several sizes of the cache.

    Parameters
    ----------
    stream : RequestTrace or ndarray of int, shape (touch,)
        A trace, or an array of block numbers. The devices of a trace are concatenated. Each block number is a read of
        one block.
    capacities : array_like
        Sizes of the cache, in blocks.
    block : int
        Size of a block, bytes; by default 16 sectors. It has no effect if `stream` is an array of block numbers.

    Returns
    -------
    ndarray of float, shape of `capacities`
        Number of read hits / number of reads.

    Raises
    ------
    InputError
        If there is no read, a capacity is below 0, or the block is smaller than 1 byte.

    Notes
    -----
    The cache is empty at first. A read hits if the cache holds all blocks of the read at its arrival. A write does not
    count as a hit, and leaves its blocks in the cache.
    """
    wanted = np.asarray(capacities)
    if wanted.size and not np.all(wanted >= 0):
        raise InputError(f"cache of {wanted.min():g} blocks: it must be 0 or more")
    farthest = np.sort(
        _farthest(stream, block)[stream.read] if isinstance(stream, RequestTrace) else stack_distances(stream)
    )
    if not farthest.size:
        raise InputError("a stream without reads has no hit rate; give at least one read")
    return np.searchsorted(farthest, wanted, side="right") / farthest.size


def stack_distances(blocks: np.ndarray, first: int = 0) -> np.ndarray:
    """Return, for each access, the number of distinct blocks that were accessed since the previous access to its block.

    This number, the stack distance, includes the block itself. It is the size in blocks of the smallest LRU cache that
    still holds the block, and is 1 for a block that is accessed twice in succession.

    Parameters
    ----------
    blocks : ndarray of int, shape (touch,)
        Block numbers.
    first : int
        Index of the first access in the result; by default 0. Earlier accesses only fill the cache.

    Returns
    -------
    ndarray of int64, shape (touch - first,)
        The stack distances; `NEVER` for the first access to a block.

    Notes
    -----
    The computation takes n log n steps for n accesses before `first`, and n log^2 n steps for n later accesses. All
    steps are NumPy operations.
    """
    touched = np.asarray(blocks)
    first = min(first, len(touched))
    # the past affects an LRU cache only through the last access to each block, and the order of these accesses
    _, back = np.unique(touched[:first][::-1], return_index=True)
    held = len(back)
    latest = np.concatenate([touched[np.sort(first - 1 - back)], touched[first:]])
    before = _last_touch(latest)[held:]
    # To count the blocks accessed between two accesses to one block, count the accesses in between whose block was last
    # accessed before the first of the two. All accesses up to the first of the two also meet this condition, and are
    # subtracted.
    return np.where(before < 0, NEVER, held + _not_larger_before(before) - before)


def read_distances(trace: RequestTrace, block: int = BLOCK, first: int = 0) -> np.ndarray:
    """Return, for each read, the size in blocks of the smallest LRU cache that holds all blocks of the read.

    Parameters
    ----------
    trace : RequestTrace
        The requests. Devices are concatenated.
    block : int
        Size of a block, bytes, at least 1; by default 16 sectors.
    first : int
        Index of the first request in the result; by default 0. Earlier requests only fill the cache.

    Returns
    -------
    ndarray of int64, shape (request - first,)
        The size for each request; `NEVER` for a write, and for a read of a block that was not accessed before.

    Raises
    ------
    InputError
        If the block is smaller than 1 byte, `first` is below 0, or the requests access more than `MOST_TOUCHES`
        blocks.
    """
    return np.where(trace.read[first:], _farthest(trace, block, first), NEVER)


def _farthest(trace: RequestTrace, block: int, start: int = 0) -> np.ndarray:
    """Return, for each request, the largest stack distance of its blocks. The first request is number `start`."""
    if block < 1:
        raise InputError(f"cache blocks of {block} bytes: give at least 1")
    if start < 0:
        raise InputError(f"first request {start}: it must be 0 or more")
    if start >= len(trace):
        return np.zeros(0, np.int64)
    joined = trace.concatenated()
    first = joined.offset // block
    count = (joined.offset + joined.size - 1) // block - first + 1
    touches = sum(count.tolist())
    if touches > MOST_TOUCHES:
        raise InputError(
            f"requests touch {touches} blocks of {block} bytes: at most {MOST_TOUCHES} are possible; give a larger "
            "block, or fewer requests"
        )
    begin = np.cumsum(count) - count
    touched = np.repeat(first - begin, count) + np.arange(count.sum())
    return np.maximum.reduceat(stack_distances(touched, int(begin[start])), begin[start:] - begin[start])


def _last_touch(blocks: np.ndarray) -> np.ndarray:
    """Return, for each access, the index of the previous access to the same block, `[touch]`; -1 for a first access."""
    order = np.argsort(blocks, kind="stable")
    again = blocks[order][1:] == blocks[order][:-1]
    before = np.full(len(blocks), -1, np.int64)
    before[order[1:][again]] = order[:-1][again]
    return before


def _not_larger_before(values: np.ndarray) -> np.ndarray:
    """Return, for each entry, the number of earlier entries that are not larger, `[entry]`.

    The count follows the steps of a merge sort. At every width, the entries of each right half are compared with the
    left half before it.
    """
    index = np.arange(len(values))
    smaller = np.zeros(len(values), np.int64)
    by_value = np.argsort(values, kind="stable")
    width = 1
    while width < len(values):
        order = by_value[np.argsort(index[by_value] // (2 * width), kind="stable")]
        left = order // width % 2 == 0
        # every earlier pair of halves contributes its whole left half, which is subtracted
        passed = np.cumsum(left) - order // (2 * width) * width
        smaller[order[~left]] += passed[~left]
        width *= 2
    return smaller
