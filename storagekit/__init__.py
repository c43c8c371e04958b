"""Simulation and closed forms of storage systems of many drives, compared with the papers that proposed them.

    import storagekit as sk

    system = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(8), sk.dispatch.DSPTF(), sk.schedule.SATF())
    requests = sk.workload.RandomRequests(sk.workload.ExponentialSize(4096), read_share=0.9)
    sk.simulate(sk.Scenario(system, sk.workload.ClosedLoop(requests, outstanding=16)))

=========================  ========================================================================
load_drive                 a drive by name
System, Scenario           drives that share work; a system with arrivals
simulate, sweep            one run; runs at every point of a grid, as an xarray Dataset
replay, read_trace         simulate a trace on a system; read a trace from a file
open_trace                 a trace that stays in its file, of any length
compare                    simulate schemes on the same requests; differences with intervals
interval, ratio            confidence intervals of means, and of the ratio of two means
sensitivity                relative change of each measure for a change of each parameter
optimize                   the parameters that minimize or maximize a measure, within constraints
plan.array, plan.size      best layout of given disks; smallest number of disks for a goal
plan.memory                price ratio at which memory and disks cost the same
plan.shares                throughput of each stream on shared bricks
mediator                   sessions with guaranteed rates, reserved over many agents
lab.open, lab.export       an interactive page of charts; the same page as one HTML file
=========================  ========================================================================

The packages, from the bottom up: `core`; `drive`, `workload`; `placement`; `component`; `arbitration`, `faults`;
`schedule`, `dispatch`, `write`, `queue`, `cache`; `engine`, `analytic`; `simulation`, `calibrate`, `charts`;
`plan`, `mediator`, `design`; `papers`; `lab`; `reproduce`. Each is loaded when it is first used. Values are in SI units;
`units` has the factors of other units.
"""

from typing import TYPE_CHECKING

from storagekit.core import devices
from storagekit.core.lazy_loading import loader

if TYPE_CHECKING:
    from storagekit import (
        analytic,
        arbitration,
        cache,
        calibrate,
        charts,
        design,
        dispatch,
        drive,
        engine,
        faults,
        lab,
        mediator,
        papers,
        placement,
        plan,
        queue,
        reproduce,
        schedule,
        simulation,
        workload,
        write,
    )
    from storagekit.core import resources, units
    from storagekit.core.errors import InputError, SimulationError
    from storagekit.design import optimize, sensitivity
    from storagekit.drive import load_drive
    from storagekit.engine import Scenario, System
    from storagekit.simulation import interval, ratio, replay, replicate, simulate, sweep
    from storagekit.simulation.compare import compare
    from storagekit.workload.trace import TraceFile as open_trace
    from storagekit.workload.trace import read as read_trace

__all__ = [
    "InputError",
    "Scenario",
    "SimulationError",
    "System",
    "analytic",
    "arbitration",
    "cache",
    "calibrate",
    "charts",
    "compare",
    "design",
    "dispatch",
    "drive",
    "engine",
    "faults",
    "interval",
    "lab",
    "load_drive",
    "mediator",
    "open_trace",
    "optimize",
    "papers",
    "placement",
    "plan",
    "queue",
    "ratio",
    "read_trace",
    "replay",
    "replicate",
    "reproduce",
    "resources",
    "schedule",
    "sensitivity",
    "simulate",
    "simulation",
    "sweep",
    "units",
    "workload",
    "write",
]

# modules of the names that are not packages; a different name in the module follows after a colon
_HOMES = {
    "InputError": "core.errors",
    "Scenario": "engine",
    "SimulationError": "core.errors",
    "System": "engine",
    "compare": "simulation.compare",
    "interval": "simulation",
    "load_drive": "drive",
    "ratio": "simulation",
    "open_trace": "workload.trace:TraceFile",
    "optimize": "design",
    "read_trace": "workload.trace:read",
    "replay": "simulation",
    "replicate": "simulation",
    "resources": "core",
    "sensitivity": "design",
    "simulate": "simulation",
    "sweep": "simulation",
    "units": "core",
}

devices.prepare()  # before JAX starts; the programs that JAX compiles are then stored in the user's cache folder


__getattr__, _ = loader(__name__, set(__all__) - _HOMES.keys(), _HOMES)


def __dir__() -> list[str]:
    return __all__
