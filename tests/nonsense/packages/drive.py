"""Valid calls of drives."""

from functools import cache

from nonsense.attack import ValidCall
from nonsense.public_callables import method_of

import storagekit as sk
from storagekit.drive import SeekTable
from storagekit.drive.controller import Buffer, Bus, ExtraDisconnect, Overheads

SECTORS = "an array of the event loop"
RESULT = "a result of a drive"
BUFFER = "arrays of a buffer and a request that only the event loop creates"


@cache
def atlas():
    return sk.load_drive("atlas10k")


@cache
def flash():
    return sk.drive.Flash(rate=1e6, read_page=60e-6, program_page=600e-6, erase_block=5e-3)


NVME = {
    "name": "nvme", "size": 3.84e12, "read_rate": 1e6, "write_rate": 180e3, "read_bandwidth": 6.8e9, "write_bandwidth": 4e9,
    "read_latency": 80e-6, "write_latency": 20e-6, "units": 80, "endurance": 7e15, "buffered": True,
}  # fmt: skip


def ssd() -> sk.drive.SSD:
    return sk.drive.SSD.from_datasheet(**NVME)


@cache
def facts():
    return sk.drive.drive_facts("atlas10k")


@cache
def figures():
    """Return the controller figures of a drive, by group."""
    return sk.drive.load_controller("atlas10k")._asdict()


def controller(overheads, bus, buffer, extra, **given):
    """Create the controller of `Buffered` with some figures replaced."""
    if isinstance(bus, Bus) and isinstance(buffer, Buffer) and isinstance(overheads, Overheads):
        of_bus = {name: given[name] for name in Bus._fields}
        overheads = overheads._replace(**{name: given[name] for name in ("read_hit_after_read", "least_seek")})
        bus, buffer = bus._replace(**of_bus), Buffer(**{name: given[name] for name in Buffer._fields})
    return sk.drive.Buffered(atlas(), sk.drive.DriveController(overheads, bus, buffer, extra)).controller


def from_facts(facts, source, **fields):
    return sk.drive.drive_from_facts({**facts, **fields} if isinstance(facts, dict) else facts, source)


def from_sheet(facts, source, **fields):
    return sk.drive.drive_from_sheet({**facts, **fields} if isinstance(facts, dict) else facts, source)


SHEET = {
    "name": "a drive",
    "rpm": 7200.0,
    "track_seek_ms": 1.0,
    "average_seek_ms": 8.5,
    "full_seek_ms": 17.0,
    "capacity_tb": 20.0,
    "outer_rate_mb_s": 285.0,
    "inner_rate_mb_s": 130.0,
    "heads": 20,
    "sector_bytes": 4096,
    "head_switch_ms": 1.0,
}
DATASHEET = {
    "rpm": 7200.0,
    "track_seek": 1e-3,
    "average_seek": 8.5e-3,
    "full_seek": 17e-3,
    "capacity": 2e12,
    "outer_rate": 285e6,
    "inner_rate": 130e6,
    "head_switch": 1e-3,
    "write_settle": 1e-4,
    "overhead": 1e-4,
    "heads": 2,
    "sector_bytes": 512,
    "name": "a drive",
}
FIELDS = "name", "rpm", "cylinders", "heads", "serpentine", "write_settle_ms", "overhead_ms", "seek_ms", "zones"
VALID_CALLS = {
    "drive.Buffered": ValidCall(lambda: {"drive": atlas(), "controller": sk.drive.load_controller("atlas10k")}),
    "drive.Drive": ValidCall(
        lambda: {
            "geometry": atlas().geometry,
            "seek": atlas().seek,
            "revolution": 0.006,
            "head_switch": 0.001,
            "write_settle": 0.0001,
            "overhead": 0.0001,
            "name": "a drive",
            "grain": 1,
        }
    ),
    "drive.Drive.from_datasheet": ValidCall(lambda: DATASHEET),
    "drive.DriveController": ValidCall(
        lambda: {
            **figures(),
            "extra": ExtraDisconnect(1e-4, 1e-4, 1e-4, 1e-4, 1e-4),
            "read_hit_after_read": 1e-4,
            "least_seek": 1e-4,
            **figures()["bus"]._asdict(),
            **figures()["buffer"]._asdict(),
        },
        through=controller,
    ),
    "drive.Flash": ValidCall(
        lambda: {
            "rate": 1e6,
            "read_page": 60e-6,
            "program_page": 600e-6,
            "erase_block": 5e-3,
            "overhead": 20e-6,
            "amplification": 1.5,
            "page": 32,
            "channels": 8,
            "block": 256,
            "capacity": 2**30,
        }
    ),
    "drive.Flash.channel_group": ValidCall(lambda: {"groups": 4}, through=method_of(flash, "channel_group")),
    "drive.LinearSeek": ValidCall(lambda: {"full": 0.01, "cylinders": 1000}),
    "drive.Mixed": ValidCall(lambda: {"drives": [atlas(), atlas()], "kinds": [0, 1, 1]}),
    "drive.NoBuffer": ValidCall(),
    "drive.RateServer": ValidCall(lambda: {"rate": 1e5, "capacity": 2**24}),
    "drive.SeekFit": ValidCall(lambda: {"settle": 1e-3, "acceleration": 1e-5, "coast": 1e-6}),
    "drive.SeekTable": ValidCall(lambda: {"times": [0.0, 0.001, 0.002]}),
    "drive.buffer.BufferSegments": ValidCall(
        lambda: {
            "drive": atlas(),
            "controller": sk.drive.load_controller("atlas10k"),
            "faster": sk.drive.buffer.Faster.EITHER,
        }
    ),
    "drive.buffer.faster": ValidCall(lambda: {"drive": atlas(), "controller": sk.drive.load_controller("atlas10k")}),
    "drive.SSD": ValidCall(
        lambda: {
            "name": "nvme",
            "size": 3.84e12,
            "reads": (sk.drive.SSDFigures(4096, 80e-6, 1e6),),
            "writes": (sk.drive.SSDFigures(4096, 20e-6, 180e3),),
            "units": 80,
            "endurance": 7e15,
            "buffered": True,
        }
    ),
    "drive.SSD.bandwidth": ValidCall(lambda: {"writes": True}, through=method_of(ssd, "bandwidth")),
    "drive.SSD.busy": ValidCall(lambda: {"size": 4096.0, "writes": True}, through=method_of(ssd, "busy")),
    "drive.SSD.from_datasheet": ValidCall(lambda: NVME),
    "drive.SSD.latency": ValidCall(lambda: {"size": 4096.0, "writes": True}, through=method_of(ssd, "latency")),
    "drive.SSD.parts": ValidCall(lambda: {"size": 4096.0}, through=method_of(ssd, "parts")),
    "drive.SSD.response": ValidCall(
        lambda: {"size": 4096.0, "outstanding": 4, "writes": True}, through=method_of(ssd, "response")
    ),
    "drive.SSD.spread": ValidCall(lambda: {"size": 4096.0, "writes": True}, through=method_of(ssd, "spread")),
    "drive.SSDFigures": ValidCall(
        lambda: {"size": 4096.0, "latency": 80e-6, "rate": 1e6, "spread": ((0.5, 0.5), (0.5, 1.5))}
    ),
    "drive.drive_facts": ValidCall(lambda: {"name": "atlas10k"}),
    "drive.drive_from_facts": ValidCall(
        lambda: {"facts": facts(), "source": "a file", **{name: facts()[name] for name in FIELDS}}, through=from_facts
    ),
    "drive.drive_from_sheet": ValidCall(lambda: {"facts": SHEET, "source": "a file", **SHEET}, through=from_sheet),
    "drive.drive_names": ValidCall(),
    "drive.facts_of": ValidCall(lambda: {"drive": atlas(), "source": "a file"}),
    "drive.fit_seek": ValidCall(lambda: {"table": SeekTable([0.0, 0.001, 0.002])}),
    "drive.ideal_drive": ValidCall(
        lambda: {
            "full_seek": 0.01,
            "revolution": 0.006,
            "cylinders": 1000,
            "sectors_per_track": 512,
            "overhead": 0.0001,
        }
    ),
    "drive.known_controller": ValidCall(lambda: {"name": "atlas10k"}),
    "drive.load_buffered": ValidCall(lambda: {"name": "atlas10k"}),
    "drive.load_drive": ValidCall(lambda: {"name": "atlas10k"}),
    "drive.load_controller": ValidCall(lambda: {"name": "atlas10k"}),
    "drive.load_ssd": ValidCall(lambda: {"name": "iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB"}),
}
NOT_ATTACKED = {
    "drive.Arm": SECTORS,
    "drive.Geometry": "created from facts or a data sheet with validated figures: columns that depend on one another",
    "drive.HostAccess": RESULT,
    "drive.Positioning": RESULT,
    "drive.Slowed": "created by `at_speed` for a fault schedule",
    "drive.Target": RESULT,
    "drive.buffer.Faster": "an enumeration: Python rejects other names",
    "drive.buffer.BufferMemory": BUFFER,
    "drive.buffer.BufferRequest": BUFFER,
    "drive.buffer.ReadAheadStop": BUFFER,
    "drive.buffer.find": BUFFER,
    "drive.buffer.read": BUFFER,
    "drive.buffer.serve": BUFFER,
    "drive.buffer.served": BUFFER,
    "drive.buffer.buffer_fill": BUFFER,
    "drive.buffer.take": BUFFER,
    "drive.buffer.ways_of": BUFFER,
    "drive.buffer.where_tree": BUFFER,
    "drive.buffer.write": BUFFER,
}
