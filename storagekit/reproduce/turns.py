"""Turns of notebooks that run in parallel: the first results of every paper have priority over further results."""

import heapq
import itertools
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Condition

Rank = tuple[int, int]


class RunStopped(Exception):
    """Raised in a thread that waits for its turn when the run ends."""


class Turns:
    """A queue with priorities: at most `slots` threads have a turn at the same time, and the lowest rank is served next."""

    def __init__(self, slots: int):
        self._free = slots
        self._waiting: list[tuple[Rank, int]] = []
        self._numbers = itertools.count()
        self._changed = Condition()
        self._stopped = False

    def enter(self, rank: Rank) -> AbstractContextManager[None]:
        """Enter the queue immediately, and return the turn as a context manager.

        The block of the context manager begins when the turn begins. The turn ends when the block ends.
        """
        with self._changed:
            return self._turn(self._queue(rank))

    @contextmanager
    def _turn(self, mine: tuple[Rank, int]) -> Iterator[None]:
        with self._changed:
            self._take(mine)
        try:
            yield
        finally:
            with self._changed:
                self._leave()

    def give_way(self, rank: Rank) -> None:
        """Within a turn, let waiting threads of a lower rank go first."""
        with self._changed:
            self._leave()
            try:
                self._take(self._queue(rank))
            except RunStopped:
                self._free -= 1  # the block that ends now adds it back
                raise

    def stop(self) -> None:
        """Raise `RunStopped` in every thread that waits for a turn, now or later."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _queue(self, rank: Rank) -> tuple[Rank, int]:
        mine = rank, next(self._numbers)
        heapq.heappush(self._waiting, mine)
        return mine

    def _take(self, mine: tuple[Rank, int]) -> None:
        self._changed.wait_for(lambda: self._stopped or (self._free > 0 and self._waiting[0] == mine))
        if self._stopped:
            raise RunStopped
        heapq.heappop(self._waiting)
        self._free -= 1
        self._changed.notify_all()

    def _leave(self) -> None:
        self._free += 1
        self._changed.notify_all()
