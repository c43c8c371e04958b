"""Fair sharing: rates of weighted streams on shared bricks, with sliders."""

from dataclasses import dataclass

import pandas as pd

from storagekit.charts import AnswerText, Dashboard, Slider
from storagekit.charts.live import FilledDashboard
from storagekit.core.units import KB, MS
from storagekit.lab.draw.shared import WAYS, sharing
from storagekit.lab.page import LabPage
from storagekit.plan import SharesAnswer, Stream, shares
from storagekit.plan.sharing_question import Policy

BRICKS = ("A", "B")
# bricks of each stream: the backup reads both
STREAMS = {"mail": (0,), "backup": (0, 1), "archive": (1,)}
_POLICIES: tuple[Policy, ...] = ("total", "single")
_MB = 1e6
_CHART = sharing(list(STREAMS))
SIZE = 64 * KB


@dataclass(frozen=True)
class SharedBricks:
    """The rates of the same streams under two policies: bricks are shared together, or each brick is shared separately.

    waiting: number of 64 KB requests that each stream keeps outstanding at each of its bricks.
    """

    answers: dict[Policy, SharesAnswer]
    waiting: int

    def delay(self, name: str, brick: int) -> float:
        """Return the delay of a request of a stream at a brick under DSFQ, in bytes.

        The delay is the service that the stream receives at other bricks between two of its requests at this brick. The
        delay is infinite if only other bricks serve the stream.
        """
        share = self.answers["total"].shares[name]
        here = share.by_brick[brick]
        return SIZE * (share.rate - here) / here if here > 0 else float("inf")

    def response(self, policy: Policy, name: str) -> float:
        """Return the mean response time in seconds of a stream's requests, by Little's law."""
        return len(STREAMS[name]) * self.waiting * SIZE / self.answers[policy].shares[name].rate


def answer(
    weight_mail: float,
    weight_backup: float,
    weight_archive: float,
    minimum: float,
    rate_a: float,
    rate_b: float,
    waiting: int,
) -> SharedBricks:
    """Return the answers of `sk.plan.shares` for mail on brick A, an archive on brick B, and a backup on both bricks.

    minimum: percentage of every brick that is guaranteed to each stream, at most the stream's share of all weights.
    rate_a, rate_b: capacities of the bricks, MB/s.
    """
    weights = {"mail": weight_mail, "backup": weight_backup, "archive": weight_archive}
    together = sum(weights.values())
    streams = {
        name: Stream(weight, STREAMS[name], min(minimum / 100, weight / together) or None)
        for name, weight in weights.items()
    }
    rates = rate_a * _MB, rate_b * _MB
    return SharedBricks({policy: shares(rates, streams, policy=policy) for policy in _POLICIES}, int(waiting))


def words(found: SharedBricks) -> AnswerText:
    """Return a text: the rate of each stream, its constraint, and the effect of sharing both bricks together."""
    total, single = (found.answers[policy] for policy in _POLICIES)
    gets = ", ".join(f"{name} {rate / _MB:.0f}" for name, rate in total.rates.items())
    gain = total.rates["mail"] - single.rates["mail"]
    moved = (
        f"{abs(gain) / _MB:.0f} MB/s {'more' if gain > 0 else 'less'} than" if abs(gain) >= _MB / 2 else "the same as"
    )
    held = "; ".join(f"{name} by {_named(share.binding.constraint)}" for name, share in total.shares.items())
    lines = [
        f"The rate of mail is {moved} with separate sharing of each brick, because the service of the backup at B "
        "counts at A.",
        _delays(found),
        f"The rates are limited as follows: {held}.",
    ]
    return AnswerText(f"Rates with fairness over both bricks, MB/s: {gets}", lines, _table(found))


def _named(constraint: str) -> str:
    return constraint.replace("0", BRICKS[0]).replace("1", BRICKS[1])


def _delays(found: SharedBricks) -> str:
    here, there = (found.delay("backup", brick) for brick in (0, 1))
    for set_back, other in ((here, "B"), (there, "A")):
        if set_back == float("inf"):
            return (
                f"The backup is served only at {other}, where it already receives more than the share of its weight "
                "in both bricks."
            )
    return (
        f"A request of the backup is delayed at A by {here / KB:,.0f} KB, and at B by {there / KB:,.0f} KB. The delay "
        "is the service that the backup receives at the other brick between two of its requests."
    )


def _table(found: SharedBricks) -> pd.DataFrame:
    columns = {}
    for policy in _POLICIES:
        answer = found.answers[policy]
        columns[f"rate (MB/s), {WAYS[policy]}"] = [rate / _MB for rate in answer.rates.values()]
        columns[f"response (ms), {WAYS[policy]}"] = [found.response(policy, name) / MS for name in STREAMS]
    return pd.DataFrame(columns, index=pd.Index(list(STREAMS), name="stream"))


def draw(found: SharedBricks) -> FilledDashboard:
    """Return the chart of rates by stream and brick under both policies."""
    rows = [
        (WAYS[policy], name, BRICKS[brick], rate / _MB)
        for policy, answer in found.answers.items()
        for name, share in answer.shares.items()
        for brick, rate in share.by_brick.items()
    ]
    return _CHART.filled(rows=pd.DataFrame(rows, columns=["way", "stream", "brick", "rate"]))


def dashboard() -> Dashboard:
    """Return the interactive page with its controls, as a `Dashboard`."""
    few = [1, 2, 4]
    controls = {
        "weight_mail": Slider("Weight of mail, on A", 2, 0.5, 8, 0.5, few=few),
        "weight_backup": Slider("Weight of backup, on A and B", 1, 0.5, 8, 0.5, few=few),
        "weight_archive": Slider("Weight of archive, on B", 1, 0.5, 8, 0.5, few=few),
        "minimum": Slider("Minimum share of a brick (%)", 0, 0, 30, few=[0, 10]),
        "rate_a": Slider("Rate of brick A (MB/s)", 200, 20, 1000, 10, few=[100, 200]),
        "rate_b": Slider("Rate of brick B (MB/s)", 200, 20, 1000, 10, few=[100, 200]),
        "waiting": Slider("Requests waiting per stream", 16, 1, 64, few=[16]),
    }
    return Dashboard(answer, draw, controls, words)


PAGE = LabPage(
    "Share fairly",
    "Mail reads from brick A, an archive from brick B, and a backup from both. With fairness over both bricks, "
    "service of the backup at B reduces its share of A. Choose the weights, the minimum shares and the rates of the "
    "bricks.",
    dashboard,
)
