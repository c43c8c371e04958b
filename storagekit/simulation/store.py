"""A folder of points that have been simulated, so that none is twice: each finished piece of a sweep is a NetCDF file in it.

A file is called by the digest of its bytes, and so is whole or not believed. A point is recognized by the digest of all that
decides its numbers: the scenario, to the last entry of an array; the seeds; how long it runs; the measures; what `made_with`
tells. The number of drives that the engine provides for beside it is not among these, because it changes nothing.
"""

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
import xarray as xr

from storagekit.core.errors import InputError, harmless
from storagekit.core.provenance import storable
from storagekit.engine import Scenario
from storagekit.simulation.content_hash import ContentHash, made_with
from storagekit.simulation.shards import Done, ShardGroup, SweepSettings

# of the files' contents; another way to write them is another number
FORM = 1
_FORM = "storagekit_store"
# by point: its digest, what it is called, the slots it ran with, and how many arrivals waited for one
_KEY, _LABEL, _SLOTS, _WAITED = "store_key", "store_label", "store_slots", "store_waited"
_ENGINE = "h5netcdf"


class NoStore:
    """Has nothing and keeps nothing."""

    told: ClassVar[dict[str, Any]] = {}

    def keys(self, group: ShardGroup, scenarios: Sequence[Scenario], asked: SweepSettings) -> dict[int, str]:
        return {}

    def find(self, wanted: Mapping[int, str], most: Mapping[int, int]) -> Iterator[tuple[list[int], Done]]:
        return iter(())

    def keep(self, done: Done, keys: Sequence[str], labels: Sequence[str], attributes: Mapping) -> None:
        pass

    def tell(self, there: int, points: int) -> None:
        pass


class Store:
    """The points in a folder, which is made where there is none. Raises InputError where that cannot be."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise InputError(f"store {str(folder)!r}: {fault.strerror}; give a folder") from fault
        self._contents = ContentHash()
        # for a result's provenance
        self.told: dict[str, Any] = {}

    def keys(self, group: ShardGroup, scenarios: Sequence[Scenario], asked: SweepSettings) -> dict[int, str]:
        """Digests of a group's points, by their number in the sweep."""
        common = self._contents.of((FORM, made_with(), asked.seeds, asked.extent, asked.measures, group.lanes == 1))
        return {
            member: hashlib.sha256(f"{common} {self._contents.of(scenarios[member])}".encode()).hexdigest()
            for member in group.members
        }

    def find(self, wanted: Mapping[int, str], most: Mapping[int, int]) -> Iterator[tuple[list[int], Done]]:
        """What is there of these points, each once.

        wanted: their digests, by number. most: the slots of the last attempt for each. With fewer, one whose arrivals waited
        is none that would come of it now.
        """
        missing: dict[str, list[int]] = {}
        for member, key in wanted.items():
            missing.setdefault(key, []).append(member)
        for path in sorted(self.folder.glob("*.nc")):
            data = _read(path)
            if data is None:
                continue
            slots, waited = data[_SLOTS].values, data[_WAITED].values
            members, rows = [], []
            for row, key in enumerate(data[_KEY].values):
                if key in missing and (waited[row] == 0 or slots[row] == most[missing[key][0]]):
                    found = missing.pop(key)
                    members.extend(found)
                    rows.extend([row] * len(found))
            if rows:
                measured = data.drop_vars([_KEY, _LABEL, _SLOTS, _WAITED]).isel(point=rows)
                yield members, Done(measured, slots[rows], waited[rows])

    def keep(self, done: Done, keys: Sequence[str], labels: Sequence[str], attributes: Mapping) -> None:
        """Put a finished piece into the folder: on the disk when this returns. Raises InputError where that cannot be."""
        data = done.data.assign(
            {
                _KEY: ("point", np.array(keys, object)),
                _LABEL: ("point", np.array(labels, object)),
                _SLOTS: ("point", done.slots),
                _WAITED: ("point", done.waited),
            }
        )
        data.attrs = {name: storable(value) for name, value in attributes.items()} | {_FORM: FORM}
        try:
            _write(data, self.folder)
        except OSError as fault:
            raise InputError(
                f"store {str(self.folder)!r}: {fault.strerror or fault}; what was kept before is there: mend it and run again"
            ) from fault

    def tell(self, there: int, points: int) -> None:
        """Say how many of a sweep's points are there."""
        self.told = {"points_stored": there, "points_run": points - there}
        say(f"{there:,} of {points:,} points are in {self.folder}; {points - there:,} to run")


def _write(data: xr.Dataset, folder: Path) -> None:
    """Whole or not there, also after a crash: written under a name that nobody reads, then given its own."""
    from xarray.backends import H5NetCDFStore

    temporary = folder / f".{uuid4().hex}.part"
    try:
        # to_netcdf would ask a cluster's scheduler for leave to write, wherever there is a client
        file = H5NetCDFStore.open(str(temporary), mode="w", lock=Lock())
        with closing(file):
            data.dump_to_store(file, encoding={one: {"_FillValue": None} for one in data.variables})
        with temporary.open("r+b") as written:
            called = hashlib.file_digest(written, "sha256").hexdigest()
            os.fsync(written.fileno())
        os.replace(temporary, folder / f"{called}.nc")
        _flush(folder)
    finally:
        temporary.unlink(missing_ok=True)


def _flush(folder: Path) -> None:
    """The new name too, where a folder can be opened for that."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: Path) -> xr.Dataset | None:
    """A file of a store, or None, and a line about it, where it is not what its name says."""
    try:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != path.stem:
                say(
                    f"{path}: damaged, or no file of a store: left out, and its points are run again; delete or move it"
                )
                return None
        with xr.open_dataset(path, engine=_ENGINE, decode_times=False, decode_timedelta=False) as opened:
            data = opened.load().drop_encoding()
    except (OSError, ValueError) as fault:
        say(f"{path}: cannot be read ({' '.join(str(fault).split())}): left out, and its points are run again")
        return None
    return data if data.attrs.get(_FORM) == FORM else None


def say(line: str) -> None:
    """A line for whoever runs a sweep."""
    print(f"storagekit: {harmless(line)}", file=sys.stderr, flush=True)
