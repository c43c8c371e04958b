"""How soon data is touched again, and what an LRU cache of any size would have caught of it.

LRU keeps the C blocks touched last, so that a touch hits exactly if fewer than C other blocks were touched since the
block's last touch: one pass over a stream tells the hit rate at every size (Mattson, Gecsei, Slutz and Traiger, Evaluation
techniques for storage hierarchies, IBM Systems Journal 9(2), 1970). Computed on the host, with nothing in common
with `storagekit.cache` but the question, so that each is a witness for the other.
"""

import numpy as np

from storagekit.core import units
from storagekit.core.errors import InputError
from storagekit.workload.trace import RequestTrace

BLOCK = 16 * units.SECTOR
# the distance of a block that was never touched before
NEVER = np.iinfo(np.int64).max
# blocks that the requests of a trace may touch, each as often as it is: a dozen arrays of 1 GB
MOST_TOUCHES = 2**27


def hit_rates(stream: RequestTrace | np.ndarray, capacities, block: int = BLOCK) -> np.ndarray | np.floating:
    """The share of reads that an LRU cache answers, for each of `capacities` (in blocks), an array of the same shape.

    stream: a trace, or block numbers `[touch]`, each a read of one block. Of a trace, devices lie end to end; a read hits
    if all blocks of `block` bytes that it touches are held when it arrives; a write is no hit and leaves its blocks in the
    cache. The cache is empty at first. Raises InputError where there is no read, a capacity is below 0 or a block
    below 1 byte.
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
    """Return how many blocks were touched from a block's last touch up to this one, itself included.

    This is the smallest LRU cache, in blocks, in which the touch hits: 1 for a block touched twice in succession.

    Parameters
    ----------
    blocks : ndarray of int, shape (touch,)
        Block numbers.
    first : int
        The first touch of interest. Touches before it fill the cache.

    Returns
    -------
    ndarray of int64, shape (touch - first,)
        `NEVER` for the first touch of a block.

    Notes
    -----
    Takes n log n steps for the touches before `first`, and n log^2 n for n touches from there on, all of them in NumPy.
    """
    touched = np.asarray(blocks)
    first = min(first, len(touched))
    # an LRU cache depends on the past only by the last touch of each block, and their order
    _, back = np.unique(touched[:first][::-1], return_index=True)
    held = len(back)
    latest = np.concatenate([touched[np.sort(first - 1 - back)], touched[first:]])
    before = _last_touch(latest)[held:]
    # blocks touched between = touches between that are their block's first there, i.e. last touched before this one's
    # last touch; all touches up to that one are, too, and are subtracted
    return np.where(before < 0, NEVER, held + _not_larger_before(before) - before)


def read_distances(trace: RequestTrace, block: int = BLOCK, first: int = 0) -> np.ndarray:
    """Return the smallest LRU cache, in blocks, in which each request is a read that hits.

    Parameters
    ----------
    trace : RequestTrace
        The requests. Devices lie end to end.
    block : int
        Size of a block, bytes, at least 1.
    first : int
        The first request of interest. Requests before it fill the cache.

    Returns
    -------
    ndarray of int64, shape (request - first,)
        `NEVER` for a write, and for a read of a block that was not touched before.

    Raises
    ------
    InputError
        If the block is smaller than 1 byte, `first` is below 0, or the requests touch more than `MOST_TOUCHES` blocks.
    """
    return np.where(trace.read[first:], _farthest(trace, block, first), NEVER)


def _farthest(trace: RequestTrace, block: int, start: int = 0) -> np.ndarray:
    """Return the largest stack distance among the blocks of each request from `start` on."""
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
            f"requests touch {touches} blocks of {block} bytes: at most {MOST_TOUCHES} are followed; give a larger block, or "
            "fewer requests"
        )
    begin = np.cumsum(count) - count
    touched = np.repeat(first - begin, count) + np.arange(count.sum())
    return np.maximum.reduceat(stack_distances(touched, int(begin[start])), begin[start:] - begin[start])


def _last_touch(blocks: np.ndarray) -> np.ndarray:
    """Index of the touch before of the same block, -1 if there is none: `[touch]`."""
    order = np.argsort(blocks, kind="stable")
    again = blocks[order][1:] == blocks[order][:-1]
    before = np.full(len(blocks), -1, np.int64)
    before[order[1:][again]] = order[:-1][again]
    return before


def _not_larger_before(values: np.ndarray) -> np.ndarray:
    """How many earlier entries are not larger than each: `[entry]`.

    As merging sorted halves counts them: at every width, entries of a right half meet those of the left half beside it.
    """
    index = np.arange(len(values))
    smaller = np.zeros(len(values), np.int64)
    by_value = np.argsort(values, kind="stable")
    width = 1
    while width < len(values):
        order = by_value[np.argsort(index[by_value] // (2 * width), kind="stable")]
        left = order // width % 2 == 0
        # every pair before this one counted a whole left half
        passed = np.cumsum(left) - order // (2 * width) * width
        smaller[order[~left]] += passed[~left]
        width *= 2
    return smaller
