"""What there is to choose from, by the names that the command line takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """Something to choose: the name to give, and what it is in a line."""

    name: str
    what: str


def schedulers() -> dict[str, Callable]:
    """Schedulers by name; each value makes one."""
    from storagekit import schedule as room

    return {
        "fcfs": room.FCFS,
        "sstf": room.SSTF,
        "look": room.LOOK,
        "clook": room.CLOOK,
        "satf": room.SATF,
        "rlook": room.RLOOK,
        "rsatf": room.RSATF,
    }


def dispatchers() -> dict[str, Callable]:
    """Dispatchers by name; each value makes one from the arguments its own docstring gives."""
    from storagekit import dispatch as room

    return {
        "central": room.central,
        "dsptf": room.DSPTF,
        "hashing": room.Hashing,
        "weighted-hashing": room.WeightedHashing,
        "lard": room.LARD,
        "nearest-idle": room.NearestIdle,
        "shortest-queue": room.ShortestQueue,
        "redundant": room.Redundant,
        "hedged": room.Hedged,
        "ars": room.ARS,
        "randomized": room.Randomized,
        "least-completion": room.Central,
    }


def placements() -> dict[str, Callable]:
    """Placements by name; each value makes one from the arguments its own docstring gives."""
    from storagekit import placement as room

    return {
        "replicas": room.Replicas,
        "declustered": room.Declustered,
        "sr-mirror": room.SRMirror,
        "striped": room.Striped,
        "raid5": room.RAID5,
        "coded": room.Coded,
        "bricks": room.Bricks,
        "volumes": room.Volumes,
        "split-volumes": room.SplitVolumes,
        "segments": room.Segments,
    }


def caches() -> dict[str, Callable]:
    """Memories in front of the drives by name; each value makes one from the arguments its own docstring gives."""
    from storagekit import cache as room

    return {"none": room.NoCache, "lru": room.LRU, "brick-lru": room.BrickLRU}


def writes() -> dict[str, Callable]:
    """When a write is answered and how it reaches its copies, by name; each value makes one."""
    from storagekit import write as room

    return {
        "at-once": room.AtOnce,
        "first-copy": room.FirstCopy,
        "receiving-brick": room.ReceivingBrick,
        "all-copies": room.AllCopies,
        "background": room.Background,
        "committed": room.Committed,
        "claimed": room.Claimed,
    }


def queues() -> dict[str, Callable]:
    """What a brick hands to its drives, by name; each value makes one from the arguments its own docstring gives."""
    from storagekit import queue as room

    return {"everything": room.Everything, "depth": room.Depth, "fair": room.FairQueue}


def delays() -> dict[str, Callable]:
    """What a fair queue puts a request off for, by name; each value makes one."""
    from storagekit import queue as room

    return {"single": room.Single, "total": room.Total, "hybrid": room.Hybrid, "minimum-only": room.MinimumOnly}


def catalogue() -> dict[str, list[Entry]]:
    """Everything `storagekit list` shows, by section."""
    return {
        "papers": _papers(),
        "exhibits": _exhibits(),
        "drives": _drives(),
        "dispatchers": _described(dispatchers()),
        "schedulers": _described(schedulers()),
        "placements": _described(placements()),
        "writes": _described(writes()),
        "queues": _described(queues()),
        "delays": _described(delays()),
        "caches": _described(caches()),
        "stand-ins": _stand_ins(),
        "trace formats": _trace_formats(),
    }


def _described(members: Mapping[str, Callable]) -> list[Entry]:
    return [Entry(name, _first_line(member)) for name, member in members.items()]


def _first_line(thing: object) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]


def _papers() -> list[Entry]:
    from storagekit.reproduce.claims import load_claims, papers
    from storagekit.reproduce.runner import available

    notebooks = {paper: "a notebook" for paper in available()}
    return [
        Entry(paper, f"{len(load_claims(paper))} claims, {notebooks.get(paper, 'no notebook yet')}")
        for paper in papers()
    ]


def _exhibits() -> list[Entry]:
    from storagekit.reproduce.claims import load_exhibits, papers

    return [Entry(e.id, e.shows) for paper in papers() for e in load_exhibits(paper)]


def _drives() -> list[Entry]:
    from storagekit.drive import drive_facts, drive_names

    facts = {name: drive_facts(name) for name in drive_names()}
    return [Entry(name, f"{fact['name']}, {fact['rpm']} rpm") for name, fact in facts.items()]


def _stand_ins() -> list[Entry]:
    from storagekit.workload import standin

    models = (
        standin.CELLO_BASE,
        standin.CELLO_DISK6,
        standin.TPCC,
        standin.SAP,
        standin.CELLO2002,
        standin.WEBSEARCH,
        standin.FINANCIAL,
    )
    return [Entry(m.name, f"{m.requests:,} requests at {m.rate:.3g} a second, {m.data / 1e9:.1f} GB") for m in models]


def _trace_formats() -> list[Entry]:
    from storagekit.workload.trace import FORMATS

    return [Entry(form.name, _first_line(form)) for form in FORMATS]
