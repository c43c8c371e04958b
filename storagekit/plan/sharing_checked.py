"""Check of an answer about shares by simulation."""

from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, POSITIVE, TIME
from storagekit.plan.checking import RUNS
from storagekit.plan.sharing_answer import SharesAnswer, SharesCheck, SharesRow
from storagekit.plan.sharing_question import numbers

# number of requests to the fastest brick in a run
_ENOUGH = 8_000
_MOST_STREAMS, _MOST_BRICKS, _MOST_THREADS = 64, 32, 2048


def check_shares(
    answer: SharesAnswer, *, seconds: float | None, seeds: int, threads: int, depth: int, within: float
) -> SharesCheck:
    """See `SharesAnswer.check`."""
    from storagekit.plan.sharing_simulated import MEAN, shared
    from storagekit.simulation import by_stream, interval, replicate

    seeds, threads, depth = RUNS("seeds", seeds), COUNT("threads", threads), COUNT("depth", depth)
    POSITIVE("within", within)
    question = answer.question
    if seconds is None:
        seconds = _ENOUGH * MEAN / max(question.bricks)
    TIME("seconds", seconds)
    given = numbers(question)
    _require_room("streams", len(given.weights), _MOST_STREAMS)
    _require_room("bricks", len(given.capacity), _MOST_BRICKS)
    asking = shared(given, question.policy, threads, depth)
    assert asking.system.slots is not None
    _require_room("threads", asking.system.slots, _MOST_THREADS)
    measures = by_stream(len(given.weights))
    data = replicate(asking, seconds=seconds, warm_up=seconds / 2, seeds=seeds, measures=measures)
    found = interval(data).stream_throughput.transpose("stream", "statistic").values
    rows = tuple(
        SharesRow(name, share.rate, *(float(figure) for figure in figures))
        for (name, share), figures in zip(answer.shares.items(), found, strict=True)
    )
    return SharesCheck(rows, within, data.attrs)


def _require_room(what: str, count: int, most: int) -> None:
    if count > most:
        raise InputError(f"{count} {what}: at most {most} are simulated together; check a part of the system")
