"""Expected rates of streams on shared bricks, and their comparison with a simulation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storagekit.core.binding import Binding
from storagekit.plan.answer import Answer, text_table
from storagekit.plan.check import WITHIN, Check
from storagekit.plan.sharing_question import WORDS, SharesQuestion, Stream


@dataclass(frozen=True)
class StreamShare:
    """The result of one stream. All rates are in bytes a second.

    Parameters
    ----------
    rate : float
        Total rate.
    normalized : float
        Total rate divided by weight.
    by_brick : dict of int to float
        Rate at each brick.
    binding : Binding
        The constraint that limits the stream.
    otherwise : float
        Total rate under the policy that was not selected.
    """

    rate: float
    normalized: float
    by_brick: dict[int, float]
    binding: Binding
    otherwise: float

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary for JSON; rates in bytes a second."""
        return {
            "rate_bytes_per_s": self.rate,
            "normalized_bytes_per_s": self.normalized,
            "by_brick_bytes_per_s": {str(brick): rate for brick, rate in self.by_brick.items()},
            "otherwise_bytes_per_s": self.otherwise,
            "binding": self.binding.to_dict(),
        }


@dataclass(frozen=True)
class SharesAnswer(Answer):
    """The long-run rates of streams on shared bricks.

    Parameters
    ----------
    shares : dict of str to StreamShare
        The result of each stream, keyed by name, in the given order.
    utilization : tuple of float
        Utilization of each brick.
    assumptions : tuple of str
        The assumptions of the rates.
    question : SharesQuestion
        The question.
    """

    shares: dict[str, StreamShare]
    utilization: tuple[float, ...]
    assumptions: tuple[str, ...]
    question: SharesQuestion

    @property
    def rates(self) -> dict[str, float]:
        """Return the total rate of each stream in bytes a second."""
        return {name: share.rate for name, share in self.shares.items()}

    def check(
        self, *, seconds: float | None = None, seeds: int = 8, threads: int = 16, depth: int = 1, within: float = WITHIN
    ) -> Check:
        """Simulate the streams on bricks with fair queues.

        Parameters
        ----------
        seconds : float, optional
            Simulated time of each run. Only the second half of this time is measured. The default is enough for some
            thousand requests to the fastest brick. Rates under total sharing converge slowly.
        seeds : int
            Number of independent runs, at least 2.
        threads : int
            Number of threads of a stream at each brick where its demand is unlimited. If there are too few threads, the
            stream is not always backlogged.
        depth : int
            D, the number of requests that a brick serves simultaneously.
        within : float
            The largest relative difference that counts as agreement.

        Returns
        -------
        Check
            Predicted and simulated rates, 95% intervals, and differences.

        Raises
        ------
        InputError
            If the simulation is too large.
        """
        from storagekit.plan.checking import check_shares

        return check_shares(
            self.question, self.rates, seconds=seconds, seeds=seeds, threads=threads, depth=depth, within=within
        )

    def _content(self):
        question = self.question
        return {
            "policy": question.policy,
            "streams": {name: share.to_dict() for name, share in self.shares.items()},
            "utilization": list(self.utilization),
            "question": {
                "bricks_bytes_per_s": list(question.bricks),
                "streams": {name: _stream_facts(stream) for name, stream in question.streams.items()},
            },
        }

    def _lines(self):
        question = self.question
        counts = [f"{count} {word}{'s' * (count > 1)}" for count, word in _counts(question)]
        other = "single" if question.policy == "total" else "total"
        titles = ("stream", "weight", "rate", "rate/weight", WORDS[other], "   by brick")
        rows = [self._cells(name, share) for name, share in self.shares.items()]
        made = zip(self.utilization, question.bricks, strict=True)
        used = [f"brick {number} {part:.0%} of {rate / 1e6:.2f}" for number, (part, rate) in enumerate(made)]
        wide = 2 + max(len("stream"), *(len(name) for name in self.shares))
        return [
            f"{', '.join(counts)}, shared {WORDS[question.policy]}; rates in MB/s",
            *text_table(titles, rows, (0, 8, 9, 13, 26, 0)),
            f"utilization: {', '.join(used)}",
            "",
            "limited by:",
            *(f"  {name:<{wide}}{_in_words(share.binding)}" for name, share in self.shares.items()),
        ]

    def _cells(self, name: str, share: StreamShare) -> tuple[str, ...]:
        rates = (f"{rate / 1e6:.2f}" for rate in (share.rate, share.normalized, share.otherwise))
        bricks = ", ".join(f"{brick}: {rate / 1e6:.2f}" for brick, rate in share.by_brick.items())
        return name, f"{self.question.streams[name].weight:g}", *rates, f"   {bricks}"


def _in_words(binding: Binding) -> str:
    assert binding.value is not None and binding.limit is not None
    return f"{binding.constraint} ({binding.value / 1e6:.2f} of {binding.limit / 1e6:.2f} MB/s); {binding.remedy}"


def _counts(question: SharesQuestion) -> tuple[tuple[int, str], ...]:
    return (len(question.streams), "stream"), (len(question.bricks), "brick")


def _stream_facts(stream: Stream) -> dict[str, Any]:
    demand = stream.demand
    limits = {str(brick): float(rate) for brick, rate in demand.items()} if isinstance(demand, Mapping) else demand
    bricks = [int(brick) for brick in stream.bricks]
    return {"weight": float(stream.weight), "bricks": bricks, "minimum": stream.minimum, "demand_bytes_per_s": limits}
