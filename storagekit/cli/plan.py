"""The commands of a capacity planner: the layout of given disks, the disks for a goal, and memory or disks."""

import json
from typing import Annotated

import typer

from storagekit.cli import completion
from storagekit.core.errors import InputError

Check = Annotated[bool, typer.Option("--check", help="Also simulate the recommendation.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Drive = Annotated[str, typer.Option(help=completion.A_DRIVE, autocompletion=completion.drives)]
ReadShare = Annotated[float, typer.Option(help="Fraction of reads among the requests, 0 to 1.")]
Locality = Annotated[float, typer.Option(help="Seek locality: factor by which seek distances are divided.")]
Background = Annotated[float, typer.Option(help="Fraction of the writes whose copies are propagated in idle time.")]
Overhead = Annotated[
    float | None,
    typer.Option("--overhead-ms", help=("Overhead of an access, ms; by default the overhead of the drive.")),
]
Data = Annotated[float, typer.Option(help="Size of the data set, in capacities of one drive.")]

plan_app = typer.Typer(
    help=(
        "Rank schemes (RAID levels, codes, SR-Arrays) for given disks and data. Lay out an array of --disks disks. "
        "Size an array for a goal. Compare memory with disks. Calculate guaranteed sessions. Exit status: 0 for an "
        "answer, 1 if none is possible (with the reason), 2 for bad input."
    ),
    rich_markup_mode=None,
    invoke_without_command=True,
)
_MS = 1e-3
_MB = 1e6
# largest size of an object or of a stripe of a session, bytes
_MOST_BYTES = 2**50
_MOST_AGENTS = 2000


@plan_app.callback()
def layout(
    context: typer.Context,
    drive: Drive = "cheetah9lp",
    disks: Annotated[int | None, typer.Option(help="Number of disks of the array.")] = None,
    read_share: ReadShare = 1.0,
    queue: Annotated[float, typer.Option(help="Outstanding requests per disk.")] = 1.0,
    locality: Locality = 1.0,
    objective: Annotated[str, typer.Option(help="Objective: latency or throughput.")] = "latency",
    mirrors: Annotated[int, typer.Option(help="Number of mirrors; 0 for any number.")] = 1,
    background: Background = 0.0,
    overhead_ms: Overhead = None,
    data: Data = 1.0,
    scheduler: Annotated[str, typer.Option(help="Scheduler for throughput: RLOOK or RSATF.")] = "RLOOK",
    check: Check = False,
    as_json: Json = False,
) -> None:
    """Find the best division of the disks into striping x replicas x mirrors.

    If a subcommand is given, only the subcommand runs.
    """
    if context.invoked_subcommand is not None:
        return
    if disks is None:
        raise InputError("--disks is missing; give the number of disks, or see `storagekit plan --help`")
    from storagekit.core.validation import one_of
    from storagekit.drive import load_drive
    from storagekit.plan import RLOOK, RSATF
    from storagekit.plan.objective import LAYOUT_OBJECTIVES
    from storagekit.plan.sr_array import array

    one_of(*LAYOUT_OBJECTIVES)("objective", objective)
    schedulers = {"RLOOK": RLOOK(), "RSATF": RSATF()}
    one_of(*schedulers)("scheduler", scheduler)
    answer = array(
        load_drive(drive),
        disks,
        read_share=read_share,
        queue=queue,
        locality=locality,
        objective=LAYOUT_OBJECTIVES[objective],
        scheduler=schedulers[scheduler],
        mirrors=mirrors if mirrors else None,
        background=background,
        overhead=None if overhead_ms is None else overhead_ms * _MS,
        data=data,
    )
    _finish(answer, as_json, check)


@plan_app.command()
def size(
    drive: Drive = "cheetah9lp",
    rate: Annotated[float, typer.Option(help="Request rate, requests/s.")] = 100.0,
    response_ms: Annotated[
        float | None,
        typer.Option(help=("Limit of the mean response time, ms. Without it, --rate is the required throughput.")),
    ] = None,
    queue: Annotated[float, typer.Option(help="Outstanding requests per disk, for a throughput goal.")] = 8.0,
    read_share: ReadShare = 1.0,
    locality: Locality = 1.0,
    mirrors: Annotated[int, typer.Option(help="Number of mirrors.")] = 1,
    background: Background = 0.0,
    overhead_ms: Overhead = None,
    data: Data = 1.0,
    price: Annotated[float | None, typer.Option(help="Price of one disk.")] = None,
    budget: Annotated[float | None, typer.Option(help="Limit of the total price; needs --price.")] = None,
    most_disks: Annotated[int, typer.Option(help="Limit of the number of disks.")] = 256,
    check: Check = False,
    as_json: Json = False,
) -> None:
    """Print the smallest number of disks that serves --rate requests a second, within --response-ms if given."""
    from storagekit import plan
    from storagekit.drive import load_drive

    goal = plan.ThroughputGoal(rate, queue) if response_ms is None else plan.ResponseGoal(response_ms * _MS, rate)
    answer = plan.size(
        load_drive(drive),
        goal,
        read_share=read_share,
        data=data,
        locality=locality,
        background=background,
        mirrors=mirrors,
        overhead=None if overhead_ms is None else overhead_ms * _MS,
        price=price,
        budget=budget,
        most_disks=most_disks,
    )
    _finish(answer, as_json, check)


@plan_app.command()
def memory(
    cache_mb: Annotated[float, typer.Option(help="Memory with the same effect as the added disks, 10^6 bytes.")],
    disks: Annotated[float, typer.Option(help="Number of added disks.")],
    disk_mb: Annotated[float, typer.Option(help="Capacity charged for one added disk, 10^6 bytes.")],
    ratio: Annotated[
        float | None, typer.Option(help=("Current price of a byte of memory divided by the price of a byte of disk."))
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the price ratio at which memory for a cache costs as much as added disks."""
    from storagekit import plan

    answer = plan.memory(cache=cache_mb * _MB, disks=disks, disk_size=disk_mb * _MB, price_ratio=ratio)
    _print(answer, as_json)


@plan_app.command()
def sessions(
    rate_mb: Annotated[float, typer.Option(help="Data rate of a session, 10^6 bytes/s.")],
    drive: Drive = "cheetah9lp",
    agents: Annotated[
        int, typer.Option(help=(f"Number of storage agents with one drive each; at most {_MOST_AGENTS}."))
    ] = 8,
    minutes: Annotated[float, typer.Option(help="Duration of a session, minutes.")] = 60.0,
    group: Annotated[int | None, typer.Option(help="Data blocks per parity block; by default no parity.")] = None,
    write: Annotated[bool, typer.Option("--write", help="The sessions write; by default they read.")] = False,
    buffer_mb: Annotated[float, typer.Option(help="Client buffer for one stripe, 10^6 bytes.")] = 4.0,
    link_gbps: Annotated[
        float, typer.Option(help=("Rate of the link between each host and the switch, 10^9 bits/s."))
    ] = 25.0,
    mips: Annotated[float, typer.Option(help="Speed of each host, 10^6 instructions/s.")] = 10_000.0,
    check: Check = False,
    as_json: Json = False,
) -> None:
    """Print the number of sessions of --rate-mb that the agents can guarantee. Each uses as few agents as possible."""
    from storagekit.analytic.forkjoin import Disk, Host, Network
    from storagekit.core.units import MINUTE
    from storagekit.core.validation import COUNT, POSITIVE
    from storagekit.drive import load_drive
    from storagekit.mediator import Cluster, Request, fill

    for option, value in (
        *(("--rate-mb", rate_mb), ("--minutes", minutes), ("--buffer-mb", buffer_mb)),
        *(("--link-gbps", link_gbps), ("--mips", mips)),
    ):
        POSITIVE(option, value)
    COUNT("--agents", agents)
    if agents > _MOST_AGENTS:
        raise InputError(
            f"--agents {agents}: give at most {_MOST_AGENTS}; plan each part of a larger cluster separately"
        )
    _require_bytes(f"--rate-mb {rate_mb:g} for --minutes {minutes:g}: the object", rate_mb * _MB * minutes * MINUTE)
    _require_bytes(f"--buffer-mb {buffer_mb:g}: the buffer", buffer_mb * _MB)
    disk, host = Disk.like(load_drive(drive)), Host(mips * 1e6)
    cluster = Cluster((disk,) * agents, host, host, Network(link_gbps * 1e9 / 8, switched=True))
    size = round(rate_mb * _MB * minutes * MINUTE)
    answer = fill(cluster, Request("client", rate_mb * _MB, size, write, round(buffer_mb * _MB), group))
    _finish(answer, as_json, check)


def _require_bytes(label: str, size: float) -> None:
    if not 1 <= size <= _MOST_BYTES:
        change = "more" if size < 1 else "less"
        raise InputError(f"{label} has {size:.4g} bytes; it must have 1 to {_MOST_BYTES:.4g} bytes; give {change}")


def _finish(answer, as_json: bool, check: bool) -> None:
    """Print an answer, with its check if `check` is true. If the answer is not feasible, exit with status 1."""
    if not check or not answer.feasible:
        _print(answer, as_json)
    elif as_json:
        print(json.dumps(answer.to_dict() | {"check": answer.check().to_dict()}, indent=1))
    else:
        print(answer, answer.check(), sep="\n\n")
    if not answer.feasible:
        raise typer.Exit(1)


def _print(answer, as_json: bool) -> None:
    print(json.dumps(answer.to_dict(), indent=1) if as_json else answer)
