"""`storagekit plan schemes`: RAID levels, codes and SR-Arrays for given disks, side by side."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, TypeVar

import typer

from storagekit.cli import completion
from storagekit.cli.plan import Json, plan_app
from storagekit.core.errors import InputError

_TB, _MB, _KB, _MS, _HOUR = 1e12, 1e6, 1024, 1e-3, 3600.0

_DAY = 24 * _HOUR
# units of the option --cache
_CACHES = {"%": 0.01, "TB": 1e12, "GB": 1e9}

Named = TypeVar("Named")


def size_mix(words: str, option: str = "--size-kb", sign: str = ":") -> float | dict[float, float]:
    """Return the request size in bytes from a number of KB, "64", or from sizes with shares, "4:0.8,1024:0.2".

    option: name of the option, for messages. sign: character between a size and its share.
    """
    try:
        if sign not in words:
            return float(words) * _KB
        pairs = [part.split(sign) for part in words.split(",")]
        found = {float(size) * _KB: float(share) for size, share in pairs}
    except ValueError:
        raise InputError(
            f"{option} {words[:40]!r}: give a size in KB such as 64, or sizes with fractions such as "
            f"4{sign}0.8,1024{sign}0.2"
        ) from None
    if len(found) < len(pairs):
        raise InputError(f"{option} {words[:40]!r}: the same size twice; give each size once")
    return found


def code_of(words: str, declustered: bool = False):
    """Return the family of one code, such as 8+3."""
    from storagekit.plan import Code

    data, plus, parities = words.partition("+")
    if not (plus and data.isdecimal() and parities.isdecimal()):
        option = "--declustered" if declustered else "--code"
        raise InputError(f"{option} {words[:40]!r}: give the numbers of data and of parity disks, such as 8+3")
    return Code(int(data), int(parities), declustered)


DiskOrSSD = Annotated[
    str,
    typer.Option(
        help=f"{completion.A_DRIVE} Or an SSD: a file such as data/samples/nvme.toml, or "
        "iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB.",
        autocompletion=completion.drives,
    ),
]
Outstanding = Annotated[int | None, typer.Option(help="Number of requests kept outstanding, instead of --rate.")]
QueueDepth = Annotated[
    int, typer.Option(help="With --rate: queue depth of a disk, which serves the nearest request first; 32 for NCQ.")
]
Codes = Annotated[
    list[str] | None,
    typer.Option(metavar="M+P", help="Include a code such as 8+3, with the disks that remain as spares; repeatable."),
]
DeclusteredCodes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="M+P", help="Include a code whose groups and spare space are spread over all disks; repeatable."
    ),
]
FailureRate = Annotated[
    float | None, typer.Option(help="Annual failure rate of a disk, percent: add the probability of data loss.")
]
Detection = Annotated[
    float, typer.Option(help="With --afr: mean time from a failure to the start of the rebuild, hours.")
]
BitErrorRate = Annotated[float, typer.Option(help="With --afr: probability that a bit cannot be read, such as 1e-15.")]
TolerateNodes = Annotated[
    int, typer.Option(help="With --nodes: number of nodes that may fail simultaneously without a loss of data.")
]
TolerateRacks = Annotated[
    int, typer.Option(help="With --racks: number of racks that may fail simultaneously without a loss of data.")
]
NodeFailureRate = Annotated[
    float | None,
    typer.Option(
        help="With --afr and --nodes: probability in percent that a node fails in a year and its disks are lost."
    ),
]
RackFailureRate = Annotated[
    float | None,
    typer.Option(
        help="With --afr and --racks: probability in percent that a rack fails in a year and its disks are lost."
    ),
]
AfterFailure = Annotated[bool, typer.Option("--after-failure", help="Add the response times while a disk is lost.")]
RebuildRate = Annotated[
    float | None,
    typer.Option(
        "--rebuild-mb-s", help="Rate of a rebuild, MB/s: add the response times during the rebuild; also for --afr."
    ),
]
GrowthData = Annotated[
    float,
    typer.Option(
        help="Growth of the data in a year, percent: add the years for which each scheme meets the requirements."
    ),
]
GrowthLoad = Annotated[
    float,
    typer.Option(
        help="Growth of the load in a year, percent: add the years for which each scheme meets the requirements."
    ),
]
BuyNext = Annotated[
    bool, typer.Option("--buy-next", help="Add the possible purchases, each with its effect and cost; needs --price.")
]
Instead = Annotated[
    list[str] | None,
    typer.Option(metavar="DRIVE:PRICE", help="With --buy-next: another drive for all disks; repeatable."),
]
Cache = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HITS:PRICE",
        help="With --buy-next: a cache, given by hits or size, and its price: 50%:2000, 2TB:2000; repeatable.",
    ),
]
SpareDays = Annotated[
    float, typer.Option(help="With --buy-next and --afr: mean time until an ordered disk arrives, days.")
]
Tenants = Annotated[
    list[str] | None,
    typer.Option(
        "--tenant",
        metavar="NAME:RATE:KB[:READS%][:mean<MS][:p99<MS]",
        help="A tenant, in place of --rate: web:300:8:80%:p99<50, or with sizes and fractions "
        "web:300:4=0.8,1024=0.2:80%; repeatable.",
    ),
]
Streams = Annotated[
    list[str] | None,
    typer.Option(
        "--stream",
        metavar="NAME:MB/S[:write]",
        help="A sequential stream in addition to the requests, such as backup:200; repeatable.",
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Trace that gives the request sizes, the share of reads and, without --rate, the rate."
    ),
]
Nodes = Annotated[
    str | None,
    typer.Option(
        metavar="NODES:MB/S",
        help="Number of nodes over which the disks are spread, and rate of the link of each node: 4:1250 for 10 Gbit/s.",
    ),
]
Racks = Annotated[
    str | None,
    typer.Option(metavar="RACKS:MB/S", help="With --nodes: number of racks, and rate of the link of each rack."),
]
CachedBy = Annotated[
    str | None,
    typer.Option(
        metavar="SSD:DRIVES[:HITS%][:write-back]",
        help="SSDs in front of the disks, and the share of the reads that they serve: data/samples/nvme.toml:2:80%.",
    ),
]
Chunk = Annotated[float, typer.Option(help="With --stream: MB that a stream reads from a disk in one access.")]
Charts = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for charts of the ranking, PNG and SVG.")]
SIMULATED = "Also simulate schemes without a formula (ARS, shorter queue, split requests), about half a minute each."


def join(app: typer.Typer) -> None:
    """Add `plan` with its commands, this one included, to the command line."""
    app.add_typer(plan_app, name="plan")


@plan_app.command()
def schemes(
    context: typer.Context,
    disks: Annotated[int, typer.Option(help="Number of disks.")],
    data_tb: Annotated[float, typer.Option(help="Size of the data, 10^12 bytes.")],
    drive: DiskOrSSD = "cheetah9lp",
    size_kb: Annotated[
        str | None,
        typer.Option(help="Request size in KB, by default 4, or sizes with shares or counts: 4:0.8,1024:0.2."),
    ] = None,
    read_share: Annotated[float | None, typer.Option(help="Share of reads, 0 to 1; by default 1.")] = None,
    rate: Annotated[float | None, typer.Option(help="Request rate, requests/s.")] = None,
    outstanding: Outstanding = None,
    tenant: Tenants = None,
    trace: Trace = None,
    stream: Streams = None,
    chunk_mb: Chunk = 1.0,
    ssd_cache: CachedBy = None,
    nodes: Nodes = None,
    racks: Racks = None,
    tolerate_nodes: TolerateNodes = 0,
    tolerate_racks: TolerateRacks = 0,
    objective: Annotated[
        str | None, typer.Option(help="Objective: throughput, mean, p95, p99, cost or capacity.")
    ] = None,
    tolerate: Annotated[int, typer.Option(help="Number of disk failures that the scheme must tolerate.")] = 0,
    mean_ms: Annotated[float | None, typer.Option(help="Limit of the mean response time, ms.")] = None,
    p99_ms: Annotated[float | None, typer.Option(help="Limit of the 99th percentile of the response time, ms.")] = None,
    price: Annotated[float | None, typer.Option(help="Price of one disk.")] = None,
    budget: Annotated[float | None, typer.Option(help="Limit of the total price.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="Scheduler, with --outstanding: RLOOK or RSATF.")] = None,
    queue_depth: QueueDepth = 1,
    copies: Annotated[bool, typer.Option("--copies", help="Include replicated bricks with hashing or D-SPTF.")] = False,
    code: Codes = None,
    declustered: DeclusteredCodes = None,
    no_full_stripes: Annotated[
        bool, typer.Option("--no-full-stripes", help="Leave out parity that divides each request over a full stripe.")
    ] = False,
    simulated: Annotated[bool, typer.Option("--simulated", help=SIMULATED)] = False,
    check: Annotated[int, typer.Option(help="Number of best schemes to simulate as a check.")] = 0,
    afr: FailureRate = None,
    detection_hours: Detection = 0.0,
    bit_error_rate: BitErrorRate = 0.0,
    node_afr: NodeFailureRate = None,
    rack_afr: RackFailureRate = None,
    after_failure: AfterFailure = False,
    rebuild_mb_s: RebuildRate = None,
    growth_data: GrowthData = 0.0,
    growth_load: GrowthLoad = 0.0,
    buy_next: BuyNext = False,
    instead: Instead = None,
    cache: Cache = None,
    spare_days: SpareDays = 0.0,
    charts: Charts = None,
    as_json: Json = False,
) -> None:
    """Rank RAID 0 to 60, codes of m + p and SR-Arrays of --disks disks by response time, fault tolerance and cost."""
    # the options have many names, which the functions below read
    given = SimpleNamespace(**context.params)
    answer = _ranked(given)
    _report(answer, _further(answer, given), check, charts, as_json)


def _ranked(given: SimpleNamespace):
    """Return the ranking of the schemes. given: the options of the command."""
    from storagekit.drive import SSD
    from storagekit.plan import RLOOK, RSATF
    from storagekit.plan import schemes as rank_schemes
    from storagekit.plan.families import default_families
    from storagekit.plan.objective import OBJECTIVES

    others = _others(given.code or [], given.declustered or [], given.copies, given.simulated)
    model, tenants = _drive(given.drive), _tenants(given)
    if isinstance(model, SSD):
        _require_possible(given)
    families = [*default_families(model, given.tolerate, not given.no_full_stripes), *others]
    return rank_schemes(
        model,
        given.disks,
        data=given.data_tb * _TB,
        size=None if given.size_kb is None else size_mix(given.size_kb),
        read_share=given.read_share,
        # a trace has a rate too
        rate=None if given.trace else given.rate,
        outstanding=given.outstanding,
        tenants=tenants,
        streams=[stream_of(words) for words in given.stream or []],
        chunk=given.chunk_mb * 2**20,
        network=network_of(given.nodes, given.racks),
        tolerate_nodes=given.tolerate_nodes,
        tolerate_racks=given.tolerate_racks,
        cache=None if given.ssd_cache is None else ssd_cache_of(given.ssd_cache),
        objective=_named("objective", given.objective, OBJECTIVES),
        tolerate=given.tolerate,
        mean=None if given.mean_ms is None else given.mean_ms * _MS,
        p99=None if given.p99_ms is None else given.p99_ms * _MS,
        price=given.price,
        budget=given.budget,
        families=families,
        scheduler=_named("scheduler", given.scheduler, {"RLOOK": RLOOK(), "RSATF": RSATF()}),
        queue_depth=given.queue_depth,
    )


def _require_possible(given: SimpleNamespace) -> None:
    """Raise InputError for an option that needs disks."""
    remedies = {
        "check": "only disks can be simulated",
        "copies": "there is no formula",
        "simulated": "only disks can be simulated",
        "after_failure": "there is no formula; the column `one lost` has the load",
        "rebuild_mb_s": "there is no formula; a rebuild uses the idle time",
        "outstanding": "there is no formula; give --rate",
    }
    for name, reason in remedies.items():
        if getattr(given, name):
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} with an SSD: {reason}. Leave {option} out")


def _drive(name: str):
    """Return the disk, or the SSD, of a name, a file or a line."""
    from storagekit.drive import load_drive, load_ssd
    from storagekit.drive.ssd_sheet import is_ssd

    return load_ssd(name) if is_ssd(name) else load_drive(name)


def _tenants(given: SimpleNamespace) -> list:
    """Return the tenants that --tenant or --trace describes."""
    from storagekit.plan import tenants_of

    if given.trace is None:
        return [tenant_of(words) for words in given.tenant or []]
    for name in ("tenant", "size_kb", "read_share", "outstanding"):
        if getattr(given, name):
            raise InputError(
                f"--{name.replace('_', '-')} with --trace: the trace determines the requests; leave one of the options out"
            )
    from storagekit.workload.trace import read

    return list(tenants_of(read(given.trace), given.rate))


def tenant_of(words: str):
    """Return a tenant, such as web:300:8:80%:p99<50 or web:300:4=0.8,1024=0.2."""
    from storagekit.plan import Tenant

    name, *parts = words.split(":")
    others: dict[str, float] = {}
    try:
        rate, size = float(parts[0]), size_mix(parts[1], "--tenant", "=")
        for part in parts[2:]:
            what, _, limit = part.partition("<")
            key, value = ("read_share", float(part[:-1]) / 100) if part.endswith("%") else (what, float(limit) * _MS)
            if key not in ("read_share", "mean", "p99") or key in others:
                raise ValueError(part)
            others[key] = value
    except InputError:
        raise
    except (IndexError, ValueError):
        raise InputError(
            f"--tenant {words[:60]!r}: give name, requests/s and KB, then reads and limits in ms if there are any: "
            "web:300:8:80%:mean<20:p99<50"
        ) from None
    return Tenant(name, rate, size, **others)


def network_of(nodes: str | None, racks: str | None):
    """Return the network of --nodes and --racks, such as 4:1250 and 2:5000; None without --nodes."""
    from storagekit.plan import Network

    if nodes is None:
        if racks is not None:
            raise InputError("--racks without --nodes: give the nodes too, such as --nodes 4:1250")
        return None
    given, found = {"--nodes": nodes} | ({} if racks is None else {"--racks": racks}), []
    for option, words in given.items():
        count, _, rate = words.partition(":")
        try:
            found += [int(count), float(rate) * _MB]
        except ValueError:
            raise InputError(f"{option} {words[:40]!r}: give a number and MB/s, such as 4:1250") from None
    return Network(*found)


def ssd_cache_of(words: str):
    """Return the cache of SSDs of a text such as data/samples/nvme.toml:2:80%:write-back."""
    from storagekit.drive import load_ssd
    from storagekit.plan import SSDCache

    name, *parts = words.split(":")
    others: dict[str, Any] = {}
    try:
        drives = int(parts[0])
        for part in parts[1:]:
            key, value = ("write_back", True) if part == "write-back" else ("hits", float(part.removesuffix("%")) / 100)
            if key in others or not (part.endswith("%") or key == "write_back"):
                raise ValueError(part)
            others[key] = value
    except (IndexError, ValueError):
        raise InputError(
            f"--ssd-cache {words[:60]!r}: give an SSD, a number of drives, and the hits: data/samples/nvme.toml:2:80%"
        ) from None
    return SSDCache(load_ssd(name), drives, **others)


def stream_of(words: str):
    """Return a sequential stream, such as backup:200 or ingest:50:write."""
    from storagekit.plan import SequentialStream

    name, *parts = words.split(":")
    try:
        rate, kind = float(parts[0]), parts[1:]
        if kind not in ([], ["write"], ["read"]):
            raise ValueError(kind)
    except (IndexError, ValueError):
        raise InputError(
            f"--stream {words[:60]!r}: give name and MB/s, and write if it writes: backup:200 or ingest:50:write"
        ) from None
    return SequentialStream(name, rate * _MB, writes=kind == ["write"])


def _further(answer, given: SimpleNamespace) -> dict[str, Callable]:
    """Return functions for the further answers, by their names in JSON; a function returns None if no option needs it.

    Wrong options raise InputError here, before an answer is printed.
    """
    rebuild_rate = None if given.rebuild_mb_s is None else given.rebuild_mb_s * _MB
    loss = _loss(given.afr, given.detection_hours, given.bit_error_rate)
    wanted = given.after_failure or rebuild_rate is not None
    if wanted and given.outstanding is not None:
        raise InputError(
            "--after-failure or --rebuild-mb-s with --outstanding: the formulas need the load of the disks; give --rate"
        )
    if given.spare_days and loss is None:
        raise InputError("--spare-days without --afr: give the annual failure rate of a disk too")
    more, load = given.growth_data / 100, given.growth_load / 100
    answers: dict[str, Callable] = dict.fromkeys(
        ("after_failure", "durability", "growth", "next_purchase"), lambda: None
    )
    if wanted:
        answers["after_failure"] = lambda: answer.after_failure(rebuild_rate)
    domains = _domain_failures(given)
    if loss is not None:
        answers["durability"] = lambda: _durable(answer, **loss, **domains, rebuild_rate=rebuild_rate)
    if more or load:
        answers["growth"] = lambda: answer.growth(more, load)
    if given.buy_next or given.instead or given.cache or given.spare_days:
        bought = _bought(given.instead or [], given.cache or [], given.spare_days)
        answers["next_purchase"] = lambda: _next_purchase(answer, loss, bought)
    return answers


def _loss(afr: float | None, detection_hours: float, bit_error_rate: float) -> dict[str, float] | None:
    """Return the arguments of `_durable`; None if the probability of data loss is not wanted."""
    if afr is not None:
        return {"annual": afr / 100, "detection": detection_hours * _HOUR, "bit_error_rate": bit_error_rate}
    if detection_hours or bit_error_rate:
        raise InputError(
            "--detection-hours or --bit-error-rate without --afr: give the annual failure rate of a disk too"
        )
    return None


def _domain_failures(given: SimpleNamespace) -> dict[str, Any]:
    """Return the failures of nodes and racks as arguments of `durability`."""
    from storagekit.faults import Failures

    found = {}
    for kind, domains in (("node", given.nodes), ("rack", given.racks)):
        annual = getattr(given, f"{kind}_afr")
        if annual is None:
            continue
        if given.afr is None or domains is None:
            raise InputError(f"--{kind}-afr without --afr or --{kind}s: give both of these too")
        if given.buy_next or given.instead or given.cache:
            raise InputError(
                f"--{kind}-afr with --buy-next: purchases are compared only with failures of disks; leave one option out"
            )
        found[f"{kind}_failures"] = Failures(annual / 100)
    return found


def _others(codes: list[str], declustered: list[str], copies: bool, simulated: bool) -> list:
    """Return the families that options add to the default families."""
    from storagekit.plan import Protocols, ReplicatedBricks, SplitTransfers

    found = [code_of(words) for words in codes] + [code_of(words, declustered=True) for words in declustered]
    found += [ReplicatedBricks()] if copies else []
    return found + ([Protocols(), SplitTransfers()] if simulated else [])


def _report(answer, more: Mapping[str, Callable], check: int, charts: Path | None, as_json: bool) -> None:
    """Print an answer, further answers about its schemes and the check of the first `check` schemes, and write its charts.

    more: functions that return the further answers, by their names in JSON. The exit status is 1 if no scheme is feasible.
    """
    if not answer.feasible:
        print(json.dumps(answer.to_dict(), indent=1) if as_json else answer)
        raise typer.Exit(1)
    parts = {name: further() for name, further in more.items()}
    checked, drawn = None, []
    try:
        checked = answer.check(schemes=check) if check else None
        drawn = [] if charts is None else _drawn(answer, checked, charts)
    finally:
        # the answer is printed even if the check or the chart fails
        _print_answer(answer, parts | {"check": checked}, drawn, as_json)


def _durable(answer, annual: float, **others: Any):
    from storagekit.faults import Failures

    return answer.durability(Failures(annual), **others)


def _bought(instead: list[str], caches: list[str], spare_days: float) -> dict:
    """Return the arguments of `next_purchase` from options."""
    drives = {}
    for words in instead:
        name, price = priced("--instead", words, "cheetah15k3:400")
        if name in drives:
            raise InputError(f"--instead {name[:40]!r}: the same drive twice; give each drive once")
        drives[name] = _drive(name), price
    return {"drives": drives, "caches": [cache_of(words) for words in caches], "refill": spare_days * _DAY}


def priced(option: str, words: str, example: str) -> tuple[str, float]:
    """Return the text before the last colon, and the number after it."""
    before, _, price = words.rpartition(":")
    try:
        return before, float(price)
    except ValueError:
        raise InputError(f"{option} {words[:60]!r}: give the price after a colon, such as {example}") from None


def cache_of(words: str):
    """Return a cache, such as 50%:2000 or 2TB:2000."""
    from storagekit.plan import ReadCache

    size, price = priced("--cache", words, "50%:2000")
    unit = next((unit for unit in _CACHES if size.endswith(unit)), "")
    try:
        value = float(size.removesuffix(unit)) * _CACHES[unit]
    except (KeyError, ValueError):
        raise InputError(
            f"--cache {words[:60]!r}: give the share of the reads or the size, and a price: 50%:2000, 500GB:2000 or 2TB:2000"
        ) from None
    return ReadCache(price, hits=value) if unit == "%" else ReadCache(price, size=value)


def _next_purchase(answer, loss: Mapping[str, float] | None, bought: Mapping):
    from storagekit.faults import Failures

    if loss is None:
        return answer.next_purchase(**bought)
    others = {name: value for name, value in loss.items() if name != "annual"}
    return answer.next_purchase(failures=Failures(loss["annual"]), **others, **bought)


def _named(what: str, name: str | None, known: Mapping[str, Named]) -> Named | None:
    """Return the value of a name, None if no name is given. Raises InputError for an unknown name."""
    from storagekit.core.validation import one_of

    return None if name is None else known[one_of(*known)(what, name)]


def _print_answer(answer, parts: Mapping, drawn: list[str], as_json: bool) -> None:
    if as_json:
        more = {name: part.to_dict() if part else None for name, part in parts.items()}
        print(json.dumps(answer.to_dict() | more | {"charts": drawn}, indent=1))
    else:
        shown = [answer, *(part for part in parts.values() if part)]
        print(*shown, *([f"charts: {', '.join(drawn)}"] if drawn else []), sep="\n\n")


def _drawn(answer, checked, folder: Path) -> list[str]:
    from storagekit.reproduce.files import write_chart

    try:
        return [str(path) for path in write_chart(folder, "schemes", answer.chart(checked))]
    except OSError as fault:
        raise InputError(f"charts {str(folder)!r}: {fault.strerror or fault}; give a writable folder") from fault
