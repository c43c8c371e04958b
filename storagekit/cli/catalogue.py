"""Components, drives, traces and papers by their names on the command line.

Names and descriptions are read from source files without an import (`docstrings`). A component is imported when it is used.
"""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from storagekit.cli.docstrings import first_line, first_sentence, names_in, value_of
from storagekit.core.resources import drive_files, reproduction_path


@dataclass(frozen=True)
class CatalogueEntry:
    """A choice on the command line: its name, and its description in one line."""

    name: str
    what: str


@dataclass(frozen=True)
class Choices:
    """The components of a package. `members` maps each name on the command line to the name in the package."""

    name: str
    members: Mapping[str, str]

    def made(self) -> dict[str, Callable]:
        """Return, by name, functions that create the components from the arguments in their docstrings."""
        package = import_module(f"storagekit.{self.name}")
        return {name: getattr(package, theirs) for name, theirs in self.members.items()}

    def described(self) -> list[CatalogueEntry]:
        """Return the descriptions of all components without importing them."""
        return [CatalogueEntry(name, first_line(self.name, theirs)) for name, theirs in self.members.items()]


SCHEDULERS = Choices(
    "schedule",
    {
        "fcfs": "FCFS",
        "sstf": "SSTF",
        "look": "LOOK",
        "clook": "CLOOK",
        "satf": "SATF",
        "rlook": "RLOOK",
        "rsatf": "RSATF",
    },
)
DISPATCHERS = Choices(
    "dispatch",
    {
        "central": "central",
        "dsptf": "DSPTF",
        "hashing": "Hashing",
        "weighted-hashing": "WeightedHashing",
        "lard": "LARD",
        "nearest-idle": "NearestIdle",
        "shortest-queue": "ShortestQueue",
        "shortest-queue-memory": "ShortestQueueWithMemory",
        "join-idle-queue": "JoinIdleQueue",
        "redundant": "Redundant",
        "hedged": "Hedged",
        "ars": "ARS",
        "c3": "C3",
        "prequal": "Prequal",
        "randomized": "Randomized",
        "least-completion": "Central",
    },
)
PLACEMENTS = Choices(
    "placement",
    {
        "replicas": "Replicas",
        "declustered": "Declustered",
        "sr-mirror": "SRMirror",
        "striped": "Striped",
        "raid5": "RAID5",
        "parity-groups": "ParityGroups",
        "local-reconstruction": "LocalReconstruction",
        "coded": "Coded",
        "bricks": "Bricks",
        "volumes": "Volumes",
        "split-volumes": "SplitVolumes",
        "segments": "Segments",
    },
)
# memory in front of the drives
CACHES = Choices("cache", {"none": "NoCache", "lru": "LRU", "brick-lru": "BrickLRU"})
# when a write completes and how it reaches its copies
WRITES = Choices(
    "write",
    {
        "immediate": "Immediate",
        "first-copy": "FirstCopy",
        "receiving-brick": "ReceivingBrick",
        "all-copies": "AllCopies",
        "background": "Background",
        "committed": "Committed",
        "claimed": "Claimed",
    },
)
# the requests that a brick issues to its drives, and the delays of a fair queue
QUEUES = Choices("queue", {"unlimited": "Unlimited", "depth": "Depth", "fair": "FairQueue", "mclock": "MClock"})
DELAYS = Choices("queue", {"single": "Single", "total": "Total", "hybrid": "Hybrid", "minimum-only": "MinimumOnly"})
SYNTHETIC_TRACES = ("CELLO_BASE", "CELLO_DISK6", "TPCC", "SAP", "CELLO2002", "WEBSEARCH", "FINANCIAL")


def schedulers() -> dict[str, Callable]:
    """Return, by name, functions that create the schedulers."""
    return SCHEDULERS.made()


def dispatchers() -> dict[str, Callable]:
    """Return, by name, functions that create the dispatchers from the arguments in their docstrings."""
    return DISPATCHERS.made()


def writes() -> dict[str, Callable]:
    """Return, by name, functions that create the write policies."""
    return WRITES.made()


def catalogue() -> dict[str, list[CatalogueEntry]]:
    """Return everything that `storagekit list` shows, by section, without importing anything that needs JAX."""
    from storagekit.reproduce.claims import load_exhibits, papers

    exhibits = {paper: load_exhibits(paper) for paper in papers()}
    return {
        "papers": [_paper(paper, sum(len(one.claims) for one in shown)) for paper, shown in exhibits.items()],
        "exhibits": [CatalogueEntry(one.id, one.shows) for shown in exhibits.values() for one in shown],
        "drives": _drives(),
        "dispatchers": DISPATCHERS.described(),
        "schedulers": SCHEDULERS.described(),
        "placements": PLACEMENTS.described(),
        "writes": WRITES.described(),
        "queues": QUEUES.described(),
        "delays": DELAYS.described(),
        "caches": CACHES.described(),
        "synthetic traces": _synthetic_traces(),
        "trace formats": trace_formats(),
    }


def trace_formats() -> list[CatalogueEntry]:
    """Return the formats of traces that can be read."""
    package = "workload.trace.reading"
    return [
        CatalogueEntry(value_of(package, form, "name"), first_line(package, form))
        for form in names_in(package, "FORMATS")
    ]


def _paper(paper: str, claims: int) -> CatalogueEntry:
    notebook = "a notebook" if reproduction_path(paper).exists() else "no notebook"
    return CatalogueEntry(paper, f"{claims} claims, {notebook}")


def _drives() -> list[CatalogueEntry]:
    found = []
    for name, path in sorted(drive_files().items()):
        text = path.read_text(encoding="utf-8")
        facts = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        found.append(CatalogueEntry(name, f"{facts['name']}, {facts['rpm']} rpm"))
    return found


def _synthetic_traces() -> list[CatalogueEntry]:
    package = "workload.synthetic"
    return [
        CatalogueEntry(
            value_of(package, one, "name"),
            f"{int(value_of(package, one, 'requests')):,} requests: {first_sentence(package, one)}",
        )
        for one in SYNTHETIC_TRACES
    ]
