"""Store the simulated points of a sweep in a folder, so that no point is simulated twice.

Each finished shard of a sweep is a NetCDF file in the folder. The name of a file is the digest of its bytes. A damaged
file is therefore recognized and ignored. A point is recognized by the digest of everything that determines its results:
the scenario with all entries of its arrays, the seeds, the length of the run, the measures, and the result of
`made_with`. The digest does not include the number of drives that the engine adds as padding, because this number does
not change any result.
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

# version of the file format; a change of the format requires another number
FORM = 1
_FORM = "storagekit_store"
# variables for each point: digest, label, number of slots, and number of arrivals that waited for a slot
_KEY, _LABEL, _SLOTS, _WAITED = "store_key", "store_label", "store_slots", "store_waited"
_ENGINE = "h5netcdf"


class NoStore:
    """A store that contains nothing and stores nothing."""

    facts: ClassVar[dict[str, Any]] = {}

    def keys(self, group: ShardGroup, scenarios: Sequence[Scenario], settings: SweepSettings) -> dict[int, str]:
        return {}

    def find(self, wanted: Mapping[int, str], most: Mapping[int, int]) -> Iterator[tuple[list[int], Done]]:
        return iter(())

    def keep(self, done: Done, keys: Sequence[str], labels: Sequence[str], attributes: Mapping) -> None:
        pass

    def notify(self, there: int, points: int) -> None:
        pass


class Store:
    """A store of points in a folder, which is created if it does not exist.

    Parameters
    ----------
    folder : str or Path
        The folder.

    Raises
    ------
    InputError
        If the folder cannot be created.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise InputError(f"store {str(folder)!r}: {fault.strerror}; give the path of a folder") from fault
        self._contents = ContentHash()
        # attributes for the provenance of a result
        self.facts: dict[str, Any] = {}

    def keys(self, group: ShardGroup, scenarios: Sequence[Scenario], settings: SweepSettings) -> dict[int, str]:
        """Return the digests of the points of a group.

        Parameters
        ----------
        group : ShardGroup
            The group.
        scenarios : sequence of Scenario
            The scenarios of all points of the sweep.
        settings : SweepSettings
            The settings of the sweep.

        Returns
        -------
        dict of int to str
            The digests, keyed by the number of the point in the sweep.

        Raises
        ------
        InputError
            If the contents of an object cannot be determined.
        """
        common = self._contents.of(
            (FORM, made_with(), settings.seeds, settings.run_length, settings.measures, group.runs == 1)
        )
        return {
            member: hashlib.sha256(f"{common} {self._contents.of(scenarios[member])}".encode()).hexdigest()
            for member in group.members
        }

    def find(self, wanted: Mapping[int, str], most: Mapping[int, int]) -> Iterator[tuple[list[int], Done]]:
        """Yield the stored results of points, each point once.

        Parameters
        ----------
        wanted : mapping of int to str
            Digests of the points, keyed by number.
        most : mapping of int to int
            Largest number of slots to try for each point. If arrivals waited for a slot in a stored result with fewer
            slots, the result is not used, because a new simulation would try more slots and return another result.

        Yields
        ------
        members : list of int
            Numbers of the points.
        done : Done
            The results of these points.
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
        """Write a finished shard to the folder. The file is flushed to the disk before the method returns.

        Parameters
        ----------
        done : Done
            Result of the shard.
        keys, labels : sequence of str
            Digests and labels of the points of the shard.
        attributes : mapping
            Attributes of the file.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
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
                f"store {str(self.folder)!r}: {fault.strerror or fault}; earlier results are kept; correct the "
                "error and run again"
            ) from fault

    def notify(self, there: int, points: int) -> None:
        """Print the number of points that are in the store, and keep this number for the provenance of the result.

        Parameters
        ----------
        there : int
            Number of points of the sweep that are stored.
        points : int
            Number of points of the sweep.
        """
        self.facts = {"points_stored": there, "points_run": points - there}
        say(f"{there:,} of {points:,} points are in {self.folder}; {points - there:,} to run")


def _write(data: xr.Dataset, folder: Path) -> None:
    """Write a file under a temporary name, and then rename it, so that even a crash leaves no partial file."""
    from xarray.backends import H5NetCDFStore

    temporary = folder / f".{uuid4().hex}.part"
    try:
        # to_netcdf would request a lock from a cluster's scheduler whenever a client exists
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
    """Flush the folder to the disk, so that the new name is stored too. Does nothing on Windows."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: Path) -> xr.Dataset | None:
    """Return a file of a store. Returns None and prints a line if the file is damaged or unreadable."""
    try:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != path.stem:
                say(
                    f"{path}: the file is damaged or not from a store; it is ignored and its points run again; delete "
                    "or move the file"
                )
                return None
        with xr.open_dataset(path, engine=_ENGINE, decode_times=False, decode_timedelta=False) as opened:
            data = opened.load().drop_encoding()
    except (OSError, ValueError) as fault:
        say(f"{path}: cannot be read ({' '.join(str(fault).split())}); it is ignored and its points run again")
        return None
    return data if data.attrs.get(_FORM) == FORM else None


def say(line: str) -> None:
    """Print a line for the user who runs a sweep, to stderr."""
    print(f"storagekit: {harmless(line)}", file=sys.stderr, flush=True)
