"""Expected rates of streams on shared bricks, and their comparison with a simulation."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from storagekit.core.binding import Binding
from storagekit.plan.sharing_question import WORDS, SharesQuestion, Stream


@dataclass(frozen=True)
class StreamShare:
    """The result of one stream.

    rate: total rate. normalized: rate divided by weight. by_brick: rate at each brick. binding: the constraint that limits
    the stream. otherwise: total rate under the other policy. All rates are in bytes a second.
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
class SharesRow:
    """Predicted rate of a stream, its simulated mean, and the ends of the 95% interval (low, high), in bytes a second."""

    stream: str
    predicted: float
    simulated: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """Return the relative difference: the predicted value divided by the simulated value, minus 1."""
        return self.predicted / self.simulated - 1 if self.simulated else float("inf")


@dataclass(frozen=True)
class SharesCheck:
    """Predicted and simulated rates of all streams.

    within: the largest difference that counts as agreement. attrs: provenance of the simulation.
    """

    rows: tuple[SharesRow, ...]
    within: float
    attrs: dict[str, Any]

    @property
    def agrees(self) -> bool:
        """Return whether no difference is larger than `within`."""
        return all(abs(row.difference) <= self.within for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dictionary for JSON."""
        rows = [asdict(row) | {"difference": row.difference} for row in self.rows]
        return {"rows": rows, "within": self.within, "agrees": self.agrees, "attrs": self.attrs}

    def __str__(self) -> str:
        seeds, seconds = len(self.attrs["seeds"]), self.attrs["seconds_per_run"]
        wide = _width([row.stream for row in self.rows])
        lines = [
            f"simulated rates, MB/s, {seeds} runs of {seconds:.3g} s",
            f"  {'stream':<{wide}}{'predicted':>11}{'simulated':>11}{'95% interval':>22}{'difference':>12}",
        ]
        for row in self.rows:
            interval = f"{row.low / 1e6:.2f} to {row.high / 1e6:.2f}"
            lines.append(
                f"  {row.stream:<{wide}}{row.predicted / 1e6:>11.2f}{row.simulated / 1e6:>11.2f}{interval:>22}"
                f"{row.difference:>+12.1%}"
            )
        worst = max(self.rows, key=lambda row: abs(row.difference))
        verdict = "agree" if self.agrees else f"do not agree, {worst.stream} least"
        return "\n".join([*lines, f"{verdict}, within {self.within:.0%}"])


@dataclass(frozen=True)
class SharesAnswer:
    """The long-run rates of streams on shared bricks.

    shares: the result of each stream, keyed by name, in the given order. utilization: utilization of each brick. checker:
    the function that `check` calls with the answer.
    """

    shares: dict[str, StreamShare]
    utilization: tuple[float, ...]
    assumptions: tuple[str, ...]
    question: SharesQuestion
    checker: Callable[..., SharesCheck] = field(repr=False, compare=False)

    @property
    def rates(self) -> dict[str, float]:
        """Return the total rate of each stream in bytes a second."""
        return {name: share.rate for name, share in self.shares.items()}

    def check(
        self, *, seconds: float | None = None, seeds: int = 8, threads: int = 16, depth: int = 1, within: float = 0.05
    ) -> SharesCheck:
        """Simulate the streams on bricks with fair queues.

        Parameters
        ----------
        seconds : float, optional
            Simulated time of each run, of which the second half is measured. The default is enough for some thousand requests
            to the fastest brick. Rates under total sharing converge slowly.
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
        SharesCheck
            Predicted and simulated rates, 95% intervals, and differences.

        Raises
        ------
        InputError
            If the simulation is too large.
        """
        return self.checker(self, seconds=seconds, seeds=seeds, threads=threads, depth=depth, within=within)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a dictionary for JSON; rates in bytes a second."""
        asked = self.question
        return {
            "policy": asked.policy,
            "streams": {name: share.to_dict() for name, share in self.shares.items()},
            "utilization": list(self.utilization),
            "assumptions": list(self.assumptions),
            "question": {
                "bricks_bytes_per_s": list(asked.bricks),
                "streams": {name: _asked(stream) for name, stream in asked.streams.items()},
            },
        }

    def __str__(self) -> str:
        asked, wide = self.question, _width(self.shares)
        other = "single" if asked.policy == "total" else "total"
        many = [f"{count} {word}{'s' * (count > 1)}" for count, word in _counts(asked)]
        lines = [
            f"{', '.join(many)}, shared {WORDS[asked.policy]}; rates in MB/s",
            f"  {'stream':<{wide}}{'weight':>8}{'rate':>9}{'rate/weight':>13}{WORDS[other]:>26}   by brick",
        ]
        for name, share in self.shares.items():
            bricks = ", ".join(f"{brick}: {rate / 1e6:.2f}" for brick, rate in share.by_brick.items())
            lines.append(
                f"  {name:<{wide}}{asked.streams[name].weight:>8g}{share.rate / 1e6:>9.2f}{share.normalized / 1e6:>13.2f}"
                f"{share.otherwise / 1e6:>26.2f}   {bricks}"
            )
        made = zip(self.utilization, asked.bricks, strict=True)
        used = [f"{number} {part:.0%} of {rate / 1e6:.2f}" for number, (part, rate) in enumerate(made)]
        lines += [f"bricks used: {', '.join(used)}", "", "held back by:"]
        lines += [f"  {name:<{wide}}{_in_words(share.binding)}" for name, share in self.shares.items()]
        return "\n".join([*lines, "", "assumed:", *(f"  - {line}" for line in self.assumptions)])


def _in_words(binding: Binding) -> str:
    assert binding.value is not None and binding.limit is not None
    return f"{binding.constraint} ({binding.value / 1e6:.2f} of {binding.limit / 1e6:.2f} MB/s); {binding.remedy}"


def _counts(asked: SharesQuestion) -> tuple[tuple[int, str], ...]:
    return (len(asked.streams), "stream"), (len(asked.bricks), "brick")


def _width(names: Iterable[str]) -> int:
    return 2 + max(len("stream"), *(len(name) for name in names))


def _asked(stream: Stream) -> dict[str, Any]:
    demand = stream.demand
    limits = {str(brick): float(rate) for brick, rate in demand.items()} if isinstance(demand, Mapping) else demand
    bricks = [int(brick) for brick in stream.bricks]
    return {"weight": float(stream.weight), "bricks": bricks, "minimum": stream.minimum, "demand_bytes_per_s": limits}
