"""Valid calls of the formulas."""

from functools import cache
from typing import Any

import numpy as np
from nonsense.attack import ValidCall
from nonsense.public_callables import method_of

from storagekit.analytic.array.aspect import Layouts, layouts
from storagekit.analytic.array.costs import Costs, Load, costs, single_load
from storagekit.analytic.array.disk_load import BackgroundAccesses, Operation
from storagekit.analytic.array.elevator import RLOOK
from storagekit.analytic.array.kinds import DiskKind, Population, population
from storagekit.analytic.array.loaded import Loaded, RequestClass, TransferSizes, loaded
from storagekit.analytic.array.positioning import Curve, DriveFigures, Linear, spindle
from storagekit.analytic.array.shapes import Shape
from storagekit.analytic.durability import LOSS, BurstLayout, Chain, LocalCode
from storagekit.analytic.fairness import MaxMin, Side, max_min_rates, repaired
from storagekit.analytic.forkjoin import (
    Disk,
    Host,
    Network,
    Path,
    Paths,
    RequestStream,
    Simulation,
    StripedSystem,
    Striping,
    completion_times,
)
from storagekit.analytic.headtracking import HeadTracking, TrackedAccess, TrackedAccesses, accesses
from storagekit.drive import Drive, load_drive
from storagekit.faults import Failures, Redundancy, ReliabilityModel, Repair

MADE = "returned by functions and methods of its module, never created by a user"
ANSWER = "an answer"
ABSTRACT = "an abstract base class"
FORMULAS = "called only by other formulas in their inner loops, with arrays that they have computed"
DRAWN = "called only by a simulation, with random numbers that it has drawn"

FIGURES = DriveFigures(0.01, 0.006, 0.002)
ARM = {"full_seek": 0.01, "revolution": 0.006}
SETTINGS = {"share": 0.9, "queue": 8.0, "locality": 1.5}


@cache
def view() -> Linear | Curve:
    return spindle(FIGURES)


@cache
def four() -> Layouts:
    return layouts(4)


@cache
def load() -> Load:
    return single_load(0.7, 0.1, 4.0, 1.0, 1.0)


@cache
def sizes() -> TransferSizes:
    return TransferSizes(np.array([0.001, 0.003]), np.array([0.75, 0.25]))


@cache
def disks() -> Population:
    return population(FIGURES, 4, None)


SEEKS = np.array([[0.001, 0.002, 0.004], [0.002, 0.003, 0.005]])
LINEAR = {"full": np.array([0.01, 0.005]), "arc": np.array([0.006, 0.003])}
SAMPLED = {"seeks": SEEKS, "arc": np.array([0.006, 0.003]), "copies": np.array([2, 1])}


@cache
def cost() -> Costs:
    return costs(view(), load(), four(), 4.0, np.full(four().count, 0.25), RLOOK())


@cache
def loaded_array() -> Loaded:
    return loaded(view(), Shape(heads=2, written=2), 0.25, sizes(), disks=4, rate=100.0, reads=0.7)


ARRAY = {
    "aspect.Layout.parse": ValidCall(lambda: {"name": "2x3x1"}),
    "aspect.Layouts.mirrored": ValidCall(
        lambda: {"mirrors": 2}, through=method_of(four, "mirrored"), optional=("mirrors",)
    ),
    "costs.Costs.throughput": ValidCall(lambda: {"disks": 4.0}, through=method_of(cost, "throughput")),
    "loaded.Loaded.quantile": ValidCall(lambda: {"share": 0.95}, through=method_of(loaded_array, "quantile")),
    "aspect.Layout": ValidCall(lambda: {"striping": 2, "replicas": 3, "mirrors": 1}),
    "aspect.layouts": ValidCall(lambda: {"disks": 12, "most_replicas": 6}),
    "closed_loop.busy_share": ValidCall(lambda: {"stations": 4.0, "queue": 2.5, "variation": 0.3, "shape": 1.5}),
    "closed_loop.idle_station": ValidCall(lambda: {"stations": 4.0, "outstanding": 9.0, "shape": 1.5}),
    "closed_loop.shape_of": ValidCall(
        lambda: {"waiting": np.array([2.0]), "time": np.array([0.01]), "more": np.array([0.009]), "share": 0.1}
    ),
    "closed_loop.staffed": ValidCall(lambda: {"stations": 4.0, "outstanding": 9.0, "servers": np.array([1, 2])}),
    "closed_loop.waiting_at_choice": ValidCall(lambda: {"stations": 4.0, "outstanding": 9.0, "shape": 1.5}),
    "costs.Load": ValidCall(lambda: {"read_share": 0.7, "background": 0.1, "queue": 4.0, "locality": 2.0, "data": 0.5}),
    "costs.costs": ValidCall(
        lambda: {
            "spindle": view(),
            "load": load(),
            "layouts": four(),
            "disks": 4.0,
            "used": np.full(four().count, 0.25),
            "scheduler": RLOOK(),
        }
    ),
    "costs.occupied": ValidCall(
        lambda: {
            "load": load(),
            "layouts": four(),
            "read": np.full(four().count, 0.01),
            "write": np.full(four().count, 0.02),
            "settle": 0.001,
        }
    ),
    "costs.single_load": ValidCall(
        lambda: {"read_share": 0.7, "background": 0.1, "queue": 4.0, "locality": 2.0, "data": 0.5}
    ),
    "costs.used_share": ValidCall(lambda: {"load": load(), "layouts": four(), "disks": 4.0}),
    "costs.visible": ValidCall(
        lambda: {
            "p": 0.7,
            "heads": np.array([1, 2]),
            "group": np.array([1, 2]),
            "ways": np.array([1, 1]),
            "accesses": np.array([1, 2]),
            "present": 1.5,
            "read": 1.0,
            "last": 1.2,
        }
    ),
    "elevator.RLOOK": ValidCall(),
    "elevator.RSATF": ValidCall(),
    "elevator.crowding_of": ValidCall(lambda: {"heads": 2.0}),
    "equations.array_throughput": ValidCall(lambda: {"disks": 4.0, "outstanding": 8.0, "one_disk": 100.0}),
    "equations.best_mixed": ValidCall(lambda: {**ARM, "disks": 24.0, "share": 0.9, "locality": 1.5}),
    "equations.best_mixed_latency": ValidCall(lambda: {**ARM, "disks": 24.0, "share": 0.9, "locality": 1.5}),
    "equations.best_read": ValidCall(lambda: {**ARM, "disks": 24.0, "locality": 1.5}),
    "equations.best_read_latency": ValidCall(lambda: {**ARM, "disks": 24.0, "locality": 1.5}),
    "equations.best_rlook": ValidCall(lambda: {**ARM, "disks": 24.0, **SETTINGS}),
    "equations.best_rlook_latency": ValidCall(lambda: {**ARM, "disks": 24.0, **SETTINGS}),
    "equations.disk_throughput": ValidCall(lambda: {"overhead": 0.002, "service": 0.003}),
    "equations.idle_share": ValidCall(lambda: {"disks": 4.0, "outstanding": 8.0}),
    "equations.mixed_latency": ValidCall(
        lambda: {**ARM, "striping": 2.0, "replicas": 3.0, "share": 0.9, "locality": 1.5}
    ),
    "equations.practical_replicas": ValidCall(lambda: {"optimum": 3.5, "disks": 12, "most": 6}),
    "equations.read_latency": ValidCall(lambda: {**ARM, "striping": 2.0, "replicas": 3.0, "locality": 1.5}),
    "equations.rlook_service": ValidCall(lambda: {**ARM, "striping": 2.0, "replicas": 3.0, **SETTINGS}),
    "equations.rotation_even": ValidCall(lambda: {"revolution": 0.006, "replicas": 3.0}),
    "equations.rotation_random": ValidCall(lambda: {"revolution": 0.006, "replicas": 3.0}),
    "equations.rotation_write_all": ValidCall(lambda: {"revolution": 0.006, "replicas": 3.0}),
    "equations.seek_mirrored": ValidCall(lambda: {"full_seek": 0.01, "copies": 2.0}),
    "equations.seek_striped": ValidCall(lambda: {"full_seek": 0.01, "disks": 4.0}),
    "equations.unbounded_replicas": ValidCall(lambda: {**ARM, "disks": 24.0, **SETTINGS}),
    "equations.unpropagated_share": ValidCall(
        lambda: {"reads": 60.0, "background_writes": 10.0, "foreground_writes": 30.0}
    ),
    "equations.write_latency": ValidCall(lambda: {**ARM, "striping": 2.0, "replicas": 3.0, "locality": 1.5}),
    "kinds.DiskKind": ValidCall(lambda: {"spindle": view(), "count": 4, "capacity": 1.0}),
    "kinds.Population": ValidCall(lambda: {"kinds": (DiskKind(view(), 4, 1.0),)}),
    "kinds.population": ValidCall(
        lambda: {"drive": [FIGURES] * 4, "disks": 4, "overhead": 0.002}, optional=("overhead",)
    ),
    "kinds.shared_costs": ValidCall(
        lambda: {"disks": disks(), "load": load(), "layouts": four(), "scheduler": RLOOK()}
    ),
    "service_times.TransferSizes": ValidCall(
        lambda: {
            "seconds": np.array([0.001, 0.003]),
            "shares": np.array([0.75, 0.25]),
            "again": 0.001,
            "written_shares": np.array([0.5, 0.5]),
        },
        optional=("written_shares",),
    ),
    "disk_load.Background": ValidCall(lambda: {"kinds": (BackgroundAccesses(20.0, 0.005),)}),
    "loaded.RequestClass": ValidCall(
        lambda: {"share": 1.0, "reads": 0.7, "sizes": (0.75, 0.25), "operations": (Operation(1.0, 1),)},
        optional=("sizes", "operations"),
    ),
    "loaded.loaded_by_class": ValidCall(
        lambda: {
            "spindle": view(),
            "shape": Shape(heads=2, written=2),
            "reach": 0.25,
            "sizes": sizes(),
            "classes": (RequestClass(0.4, 0.7, (0.5, 0.5)), RequestClass(0.6, 1.0)),
            "disks": 4.0,
            "rate": 100.0,
            "depth": 4,
        }
    ),
    "disk_load.BackgroundAccesses": ValidCall(lambda: {"rate": 20.0, "seconds": 0.005, "near": 0.3, "disks": 4}),
    "disk_load.Operation": ValidCall(lambda: {"share": 0.5, "reads": 2, "writes": 2, "returns": True}),
    "loaded.loaded": ValidCall(
        lambda: {
            "spindle": view(),
            "shape": Shape(heads=2, written=2),
            "reach": 0.25,
            "sizes": sizes(),
            "disks": 4.0,
            "rate": 100.0,
            "reads": 0.7,
            "depth": 4,
        }
    ),
    "nearest_of_several.distances": ValidCall(lambda: {"power": 2.0}),
    "nearest_of_several.least_linear": ValidCall(lambda: {**LINEAR, "copies": np.array([1, 3]), "idle": 0.5}),
    "nearest_of_several.least_sampled": ValidCall(lambda: {**SAMPLED, "idle": 0.5}),
    "nearest_of_several.most_linear": ValidCall(lambda: {**LINEAR, "copies": np.array([1, 3])}),
    "nearest_of_several.most_sampled": ValidCall(lambda: SAMPLED),
    "positioning.DriveFigures": ValidCall(
        lambda: {**ARM, "overhead": 0.002, "write_settle": 0.001, "capacity": 9e9, "name": "mine"}
    ),
    "positioning.Linear": ValidCall(lambda: {**ARM, "overhead": 0.002, "write_settle": 0.001}),
    "positioning.spindle": ValidCall(lambda: {"drive": FIGURES, "overhead": 0.002}, optional=("overhead",)),
    "shapes.Shape": ValidCall(
        lambda: {"replicas": 2, "heads": 2, "written": 2, "turned": 0.5, "room": 2.0, "pool": 3, "group": 4}
    ),
}


@cache
def side() -> Side:
    return Side(2.0, 8.0, 9.0, 3, 10.0, 2)


STREAMS = {
    "capacity": [10.0, 5.0],
    "weights": [1.0, 2.0],
    "reach": np.array([[True, False], [True, True]]),
    "demand": np.array([[3.0, 0.0], [20.0, 20.0]]),
    "minimum": [0.1, 0.2],
}
GAPS = np.array([0.0, 0.0, 0.5])
LOG = {
    "served": np.array([[4.0, 0.0], [0.0, 8.0], [4.0, 4.0]]),
    "backlogged": np.array([True, True, False]),
    "gap": GAPS,
}


@cache
def rates() -> MaxMin:
    return max_min_rates(**STREAMS)


FAIRNESS = {
    "MaxMin.binding": ValidCall(lambda: {"stream": 1}, through=method_of(rates, "binding")),
    "Side": ValidCall(
        lambda: {
            "weight": 2.0,
            "largest": 8.0,
            "largest_anywhere": 9.0,
            "bricks": 3,
            "largest_batch": 10.0,
            "coordinators": 2,
        },
        optional=("largest_anywhere", "largest_batch"),
    ),
    "bound_one_server": ValidCall(lambda: {"f": side(), "g": side(), "depth": 4.0}),
    "bound_total": ValidCall(
        lambda: {"f": side(), "g": side(), "depth": 4.0, "waiting": 2.0, "interpretation": repaired}
    ),
    "delay_factor": ValidCall(lambda: {"weight": 0.5, "minimum": 0.2}),
    "floor": ValidCall(lambda: {"work": 100.0, "share": 0.2, "largest": 8.0, "others": 16.0, "depth": 4.0}),
    "hybrid_rates": ValidCall(lambda: STREAMS),
    "largest_drop": ValidCall(lambda: {**LOG, "served": LOG["served"][:, 0], "total": np.full(3, 8.0), "share": 0.5}),
    "largest_unfairness": ValidCall(lambda: {**LOG, "weights": [1.0, 2.0]}),
    "max_min_rates": ValidCall(lambda: STREAMS),
    "printed": ValidCall(lambda: {"side": side()}),
    "repaired": ValidCall(lambda: {"side": side()}),
    "shortfall": ValidCall(lambda: {"share": 0.2, "largest": 8.0, "others": 16.0, "depth": 4.0}),
    "water_level": ValidCall(lambda: {"other": [1.0, 0.0], "weights": [1.0, 2.0], "capacity": 10.0}),
    "worst_interval": ValidCall(lambda: {"normalized": LOG["served"], "backlogged": LOG["backlogged"], "gap": GAPS}),
}

DISK = Disk(0.01, 0.005, 2e7)
STRIPING = Striping(65536.0, 16384.0, 5, 1, 1)
STREAM = {
    "gap": np.array([0.1, 0.2, 0.1]),
    "read": np.array([True, False, True]),
    "work": np.full((3, 2), 0.02),
    "blocks": np.ones((3, 2)),
}
WAY = {"out": 0.001, "offset": [0.001, 0.002], "port": 0.001, "transit": 0.001, "receive": 0.001}
QUEUES = {"rate": 40.0, "service": 0.01, "queues": 4}


@cache
def system() -> StripedSystem:
    return StripedSystem(DISK, Striping(65536.0, 16384.0, 4), Network(1e8))


def along(**way: Any) -> Any:
    return completion_times(RequestStream(**STREAM), Paths(Path(**way), Path(**WAY)))


@cache
def simulation() -> Simulation:
    return Simulation([system()], [0, 1], 20)


@cache
def drive() -> Drive:
    return load_drive("cheetah9lp")


BYTES = np.array([16384.0, 32768.0])
FORKJOIN = {
    "Disk.like": ValidCall(lambda: {"drive": drive()}),
    **{
        f"Disk.{method}": ValidCall(lambda: {"unit": BYTES}, through=method_of(lambda: DISK, method))
        for method in ("mean", "slowest", "transfer")
    },
    "Host.busy": ValidCall(lambda: {"sending": 0.1, "receiving": 0.2}, through=method_of(Host, "busy")),
    "Host.check_seconds": ValidCall(lambda: {"size": BYTES}, through=method_of(Host, "check_seconds")),
    "Host.seconds": ValidCall(lambda: {"size": 16384.0}, through=method_of(Host, "seconds")),
    "Network.seconds": ValidCall(lambda: {"size": 16384.0}, through=method_of(lambda: Network(1e8), "seconds")),
    "Simulation.completion": ValidCall(
        lambda: {"rates": np.array([[5.0, 10.0]])}, through=method_of(simulation, "completion")
    ),
    "StripedSystem.utilization": ValidCall(lambda: {"rate": 5.0}, through=method_of(system, "utilization")),
    "Striping.accesses": ValidCall(lambda: {"write_share": 0.2}, through=method_of(lambda: STRIPING, "accesses")),
    "Striping.busiest": ValidCall(lambda: {"write_share": 0.2}, through=method_of(lambda: STRIPING, "busiest")),
    "Disk": ValidCall(lambda: {"seek": 0.01, "rotation": 0.005, "rate": 2e7, "name": "mine"}),
    "Host": ValidCall(
        lambda: {"speed": 1e8, "per_packet": 1500.0, "per_byte": 1.0, "per_check_byte": 1.0, "duplex": False}
    ),
    "Network": ValidCall(lambda: {"rate": 1e8, "acquisition": 0.001, "rings": 2, "switched": False}),
    "Path": ValidCall(lambda: WAY, through=along, signed=("transit",)),
    "Paths": ValidCall(
        lambda: {"read": Path(**WAY), "write": Path(**WAY)},
        through=lambda **ways: completion_times(RequestStream(**STREAM), Paths(**ways)),
    ),
    "Simulation": ValidCall(lambda: {"systems": [system()], "seeds": [0, 1], "requests": 20}),
    "RequestStream": ValidCall(lambda: STREAM, through=lambda **parts: completion_times(RequestStream(**parts))),
    "StripedSystem": ValidCall(
        lambda: {
            "disk": DISK,
            "striping": STRIPING,
            "network": Network(1e8),
            "client": Host(),
            "agent": Host(),
            "write_share": 0.2,
            "control": 64.0,
        }
    ),
    "Striping": ValidCall(lambda: {"request": 65536.0, "unit": 16384.0, "disks": 5, "groups": 1, "failed": 1}),
    "completion_quantile": ValidCall(lambda: {"times": np.array([0.01, 0.02, 0.03]), "share": 0.5}),
    "sustainable_rate": ValidCall(
        lambda: {"completion": lambda rate: 0.01 / (1 - 0.01 * rate), "limit": 100.0},
        untouched={"completion": "a function of the user"},
    ),
    "completion_bounds": ValidCall(lambda: {"disk": DISK, "unit": 16384.0, "blocks": 2, "disks": 4, "rate": 5.0}),
    "completion_times": ValidCall(
        lambda: {"stream": RequestStream(**STREAM), "paths": Paths(Path(**WAY), Path(**WAY))}, optional=("paths",)
    ),
    "harmonic": ValidCall(lambda: {"queues": 4}),
    "lateness_bound": ValidCall(lambda: {"disk": DISK, "units": np.array([16384.0, 32768.0]), "period": 0.05}),
    "latest": ValidCall(lambda: {"disk": DISK, "unit": 16384.0, "blocks": 2, "disks": 4}),
    "response_bounds": ValidCall(lambda: QUEUES),
    "response_interpolated": ValidCall(lambda: QUEUES),
    "response_scaled": ValidCall(lambda: QUEUES),
    "response_two": ValidCall(lambda: {"rate": 40.0, "service": 0.01}),
}


@cache
def seen() -> TrackedAccesses:
    return accesses(HeadTracking(0.006), TrackedAccess(300, 0.003), 10.0, 50, seed=0)


FOLLOWED = {"tracking": HeadTracking(0.006), "drives": 20, "seed": 0}
REACHED = {
    "tracking": HeadTracking(0.006),
    "access": TrackedAccess(300, 0.003),
    "slack": 10.0,
    "requests": 50,
    "seed": 0,
}
HEADTRACKING = {
    "TrackedAccess.like": ValidCall(lambda: {"drive": drive(), "striping": 2.0, "locality": 1.5}),
    "HeadTracking.like": ValidCall(lambda: {"drive": drive()}),
    "TrackedAccess": ValidCall(
        lambda: {
            "sectors_per_track": 300,
            "seek_mean": 0.003,
            "replicas": 3,
            "sectors": 16,
            "seek_deviation": 3e-5,
            "candidates": 2,
        }
    ),
    "HeadTracking": ValidCall(
        lambda: {
            "revolution": 0.006,
            "speed_tolerance": 1e-3,
            "wander": 2e-8,
            "delay_mean": 3e-5,
            "delay_shape": 2.0,
            "first_interval": 0.1,
            "interval": 120.0,
            "baseline": 240.0,
        }
    ),
    "accesses": ValidCall(lambda: REACHED),
    "accuracy": ValidCall(lambda: {"seen": seen()}),
    "adjust_slack": ValidCall(
        lambda: {
            "tracking": HeadTracking(0.006),
            "access": TrackedAccess(300, 0.003),
            "start": 10.0,
            "seed": 0,
            "goal": 0.99,
            "rounds": 3,
            "batch": 20,
            "gain": 0.2,
        }
    ),
    "calibrate": ValidCall(lambda: FOLLOWED),
    "confidence": ValidCall(lambda: {"error": np.array([0.001, -0.02]), "within": 0.01}, signed=("error",)),
    "misses": ValidCall(lambda: REACHED),
    "prediction_error": ValidCall(lambda: FOLLOWED),
}

MIRROR = [(0, 1, 2.0, "disk fails"), (1, 0, 100.0, "disk rebuilt"), (1, LOSS, 1.0, "disk fails")]


@cache
def chain() -> Chain:
    return Chain(MIRROR)


def lrc() -> LocalCode:
    return LocalCode(12, 2, 2)


def raid6() -> ReliabilityModel:
    return ReliabilityModel(Redundancy(8, 2), Failures(0.02), Repair(1e5))


DURABILITY = {
    "Burst": ValidCall(lambda: {"annual": 0.1, "loss": 1e-4, "name": "power loss"}),
    "BurstLayout": ValidCall(
        lambda: {"racks": 6, "pools": 2, "disks": 10, "parities": 1, "network_parities": 1, "together": 3}
    ),
    "Chain": ValidCall(lambda: {"transitions": MIRROR}),
    "Chain.loss_probability": ValidCall(lambda: {"duration": 1.0}, through=method_of(chain, "loss_probability")),
    "Chain.paths": ValidCall(lambda: {"covered": 0.9}, through=method_of(chain, "paths")),
    "LocalCode": ValidCall(lambda: {"data": 12, "local_groups": 2, "global_parities": 2}),
    "LocalCode.tolerated": ValidCall(lambda: {"lost": 4}, through=method_of(lrc, "tolerated")),
    "LocalCode.tolerated_share": ValidCall(lambda: {"lost": 4}, through=method_of(lrc, "tolerated_share")),
    "birth_death": ValidCall(lambda: {"up": np.array([2.0, 1.0]), "down": np.array([100.0])}),
    "burst_loss": ValidCall(lambda: {"layout": BurstLayout(6, 2, 10, 1, 1), "failed": 6, "racks": 2}),
    "chain_of": ValidCall(lambda: {"model": raid6()}),
    "durability": ValidCall(lambda: {"model": raid6(), "years": 1.0, "bursts": []}),
    "inspected": ValidCall(
        lambda: {
            "redundancy": Redundancy(3, 7),
            "failures": Failures(0.1),
            "repair_below": 7,
            "interval": 1e6,
            "duration": 1e7,
            "first": 1e6,
        }
    ),
    "local_code_chain": ValidCall(lambda: {"code": lrc(), "failure_rate": 1e-8, "repair_rates": [1e-4, 1e-3]}),
    "rare_loss": ValidCall(lambda: {"model": raid6(), "years": 1.0}),
    "scattered_loss": ValidCall(lambda: {"disks": 5000, "failed": 50, "stripe": 3, "parities": 2, "stripes": 1666}),
    "surviving": ValidCall(lambda: {"probabilities": [0.5, 0.9]}),
    "window_loss": ValidCall(
        lambda: {"disks": 20, "parities": 3, "failing": 0.01, "windows": 52.0, "failures": "binomial"}
    ),
}
VALID_CALLS = {
    "analytic.mean_rotation": ValidCall(lambda: {"revolution": 0.006}),
    "analytic.mean_seek": ValidCall(lambda: {"full_seek": 0.01}),
    "analytic.response_md1": ValidCall(lambda: {"rate": 50.0, "service": 0.01}),
    "analytic.response_mg1": ValidCall(lambda: {"rate": 50.0, "service": 0.01, "second_moment": 2e-4}),
    "analytic.response_mm1": ValidCall(lambda: {"rate": 50.0, "service": 0.01}),
    "analytic.response_mmc": ValidCall(lambda: {"rate": 50.0, "service": 0.01, "servers": 2}),
    "analytic.closed_network": ValidCall(lambda: {"demands": [0.01, 0.02], "customers": 3, "think": 0.1}),
    **{f"analytic.array.{name}": face for name, face in ARRAY.items()},
    **{f"analytic.durability.{name}": face for name, face in DURABILITY.items()},
    **{f"analytic.fairness.{name}": face for name, face in FAIRNESS.items()},
    **{f"analytic.forkjoin.{name}": face for name, face in FORKJOIN.items()},
    **{f"analytic.headtracking.{name}": face for name, face in HEADTRACKING.items()},
}
NOT_ATTACKED = {
    "analytic.array.aspect.Layouts": MADE,
    "analytic.array.costs.Costs": ANSWER,
    "analytic.array.equations.Aspect": ANSWER,
    "analytic.array.kinds.SharedCosts": ANSWER,
    "analytic.array.loaded.Loaded": ANSWER,
    "analytic.array.positioning.Curve": MADE,
    "analytic.array.shapes.Columns": MADE,
    "analytic.array.shapes.Shapes": ABSTRACT,
    "analytic.durability.Durability": ANSWER,
    "analytic.durability.LossPath": ANSWER,
    "analytic.durability.Transition": "validated by `Chain`",
    "analytic.fairness.MaxMin": ANSWER,
    "analytic.fairness.WaterLevel": ANSWER,
    "analytic.fairness.WithMinimums": ANSWER,
    "analytic.headtracking.TrackedAccesses": ANSWER,
    "analytic.headtracking.Accuracy": ANSWER,
    "analytic.headtracking.Slack": ANSWER,
    "analytic.headtracking.Tracked": ANSWER,
    **{
        f"analytic.array.{name}": FORMULAS
        for name in (
            "aspect.Layouts.at",
            "aspect.Layouts.where",
            "elevator.RLOOK.positioning",
            "elevator.RSATF.positioning",
            "command_queue.CommandQueue",
            "command_queue.command_queue",
            "full_stripes.DividedRequests",
            "full_stripes.last_of",
            "disk_load.Background.busy",
            "disk_load.Background.busy_together",
            "disk_load.Background.mixed",
            "disk_load.Background.moments",
            "disk_load.Background.saturated",
            "disk_load.Background.selections",
            "disk_load.Background.share",
            "disk_load.BackgroundAccesses.distribution",
            "disk_load.BackgroundAccesses.moments",
            "disk_load.BackgroundAccesses.selections",
            "loaded.RequestClass.kinds",
            "loaded.all_of",
            "service_times.ServiceDistributions.moments_of",
            "service_times.ServiceDistributions.read_by",
            "service_times.ServiceTimes.moments_of",
            "service_times.TransferSizes.shares_of",
            "full_stripes.DividedRequests.with_background",
            "loaded.DiskDemand",
            "loaded.DiskDemand.saturation",
            "loaded.disk_demand",
            "read_first.SeveralPhases.with_background",
            "disk_load.operations_of",
            "read_first.SeveralPhases",
            "service_times.ServiceDistributions",
            "service_times.ServiceDistributions.ending",
            "service_times.ServiceDistributions.moments",
            "service_times.ServiceDistributions.read",
            "service_times.ServiceDistributions.selected",
            "service_times.ServiceDistributions.selections",
            "service_times.ServiceTimes",
            "service_times.ServiceTimes.positioned",
            "service_times.ServiceTimes.sought",
            "service_times.mean_time",
            "service_times.moments",
            "service_times.scaled",
            "service_times.summed",
            "service_times.time_grid",
            "service_times.transformed",
            "service_times.waiting_times",
            "kinds.Population.divides",
            "shapes.Columns.of",
        )
    },
    **{
        f"analytic.array.positioning.{view}.{method}": FORMULAS
        for view in ("Curve", "Linear")
        for method in ("hop", "least", "mean_seek", "mean_square_seek", "most", "reach", "stroke")
    },
    "analytic.forkjoin.Disk.times": DRAWN,
    "analytic.forkjoin.Striping.accessed_disks": DRAWN,
}
