"""What a run adds up, chunk by chunk of events."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from storagekit.engine.event import Report
from storagekit.engine.state import NOBODY


class Tally(NamedTuple):
    """Sums over a chunk of events; times in seconds.

    elapsed: simulated time. reads, writes: requests answered, and the sums of their response times; asynchronous: of these
    writes, those that nobody waited for, whose response times are summed apart.
    admitted, held_up, hits: requests that entered; of these, that had waited outside for a slot, and that memory answered;
    elsewhere: of these, from that of another brick than the receiving one. resent: requests sent again after a time-out.
    choices, candidates: choices made and the copies they chose among.
    claims: made on reads. further: claims on reads that another drive had claimed. contested: reads with such claims.
    twice: services of reads beyond the first.
    seek, rotation, transfer: the parts of the time of disk accesses. served, busy: accesses and their time by drive.
    """

    elapsed: Float[Array, "1 *lanes"]
    reads: Int[Array, "1 *lanes"]
    writes: Int[Array, "1 *lanes"]
    asynchronous: Int[Array, "1 *lanes"]
    read_response: Float[Array, "1 *lanes"]
    asynchronous_response: Float[Array, "1 *lanes"]
    write_response: Float[Array, "1 *lanes"]
    admitted: Int[Array, "1 *lanes"]
    held_up: Int[Array, "1 *lanes"]
    hits: Int[Array, "1 *lanes"]
    elsewhere: Int[Array, "1 *lanes"]
    resent: Int[Array, "1 *lanes"]
    choices: Int[Array, "1 *lanes"]
    candidates: Int[Array, "1 *lanes"]
    claims: Int[Array, "1 *lanes"]
    further: Int[Array, "1 *lanes"]
    contested: Int[Array, "1 *lanes"]
    twice: Int[Array, "1 *lanes"]
    seek: Float[Array, "1 *lanes"]
    rotation: Float[Array, "1 *lanes"]
    transfer: Float[Array, "1 *lanes"]
    served: Int[Array, "drive *lanes"]
    busy: Float[Array, "drive *lanes"]


def empty(drives: int, lanes: tuple[int, ...]) -> Tally:
    """Nothing yet."""

    counts = {
        "reads",
        "writes",
        "asynchronous",
        "admitted",
        "held_up",
        "hits",
        "elsewhere",
        "resent",
        "choices",
        "candidates",
        "claims",
        "further",
        "contested",
        "twice",
        "served",
    }
    by_drive = {"served", "busy"}
    return Tally(
        **{
            name: jnp.zeros(
                (drives if name in by_drive else 1, *lanes),
                jnp.int32 if name in counts else jnp.float32,
            )
            for name in Tally._fields
        }
    )


def add(tally: Tally, report: Report) -> Tally:
    """The sums with one more event."""
    answered = report.answered.number != NOBODY
    read = answered & report.answered.read
    write = answered & ~report.answered.read
    hidden = write & report.answered.asynchronous
    return Tally(
        elapsed=tally.elapsed + report.elapsed,
        reads=tally.reads + read,
        writes=tally.writes + write,
        asynchronous=tally.asynchronous + hidden,
        asynchronous_response=tally.asynchronous_response + jnp.where(hidden, report.answered.response, 0.0),
        read_response=tally.read_response + jnp.where(read, report.answered.response, 0.0),
        write_response=tally.write_response + jnp.where(write & ~hidden, report.answered.response, 0.0),
        admitted=tally.admitted + report.admitted,
        held_up=tally.held_up + report.held_up,
        hits=tally.hits + report.admission.hit,
        elsewhere=tally.elsewhere + report.admission.elsewhere,
        resent=tally.resent + report.admission.resent + report.lost,
        choices=tally.choices + report.chose,
        candidates=tally.candidates + report.candidates,
        claims=tally.claims + report.claimed,
        further=tally.further + report.further,
        contested=tally.contested + report.contested,
        twice=tally.twice + report.twice,
        seek=tally.seek + report.seek,
        rotation=tally.rotation + report.rotation,
        transfer=tally.transfer + report.transfer,
        served=tally.served + report.served,
        busy=tally.busy + jnp.where(report.served, report.seek + report.rotation + report.transfer, 0.0),
    )
