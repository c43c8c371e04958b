"""The rooms whose annotations hold for every call: imported before storagekit is, this sees to it that they are checked.

Left out are `analytic` and `plan`, whose formulas declare arrays and return NumPy's numbers where they are given numbers;
`papers.measurement`, which is given NumPy's numbers and holds Python's; and what is called so often on the host that a
check costs more than the work: stand-ins, and what is behind the face of the mediator.
"""

import ast

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook
from jaxtyping._import_hook import JaxtypingTransformer

ROOMS = (
    "core.batching",
    "drive",
    "workload.arrivals",
    "workload.counts",
    "workload.randomness",
    "workload.recorded",
    "workload.requests",
    "workload.reuse",
    "workload.sizes",
    "workload.threads",
    "workload.trace",
    "placement",
    "component",
    "arbitration",
    "faults",
    "queue",
    "write",
    "schedule",
    "dispatch",
    "cache",
    "engine",
    "simulation.confidence",
    "simulation.experiment",
    "simulation.history",
    "calibrate.measured_drive",
    "simulation.measures",
    "simulation.shards",
    "simulation.provisioning",
    "simulation.replaying",
    "simulation.standard_measures",
    "simulation.store",
    "simulation.sweeping",
    "simulation.workers",
    "mediator.mediator",
    "mediator.policy",
    "mediator.rehearsal",
    "mediator.request",
)
# a whole number will do for a float (PEP 484); of a list the first item is looked at, because Hypothesis allows nobody
# else's random numbers
check = beartype(conf=BeartypeConf(is_pep484_tower=True, is_random=False))


visit_function = JaxtypingTransformer.visit_FunctionDef


def visit_outer(transformer: JaxtypingTransformer, node: ast.FunctionDef) -> ast.AST:
    """Decorate a function so that its annotations are checked, and leave functions within functions as they are.

    Python defines an inner function again with each call of the outer one, and decorating it takes 0.1 ms each time: half
    of the time of tests that call such functions often.
    """
    inner = any(isinstance(parent, ast.FunctionDef) for parent in transformer._parents)
    return node if inner else visit_function(transformer, node)


JaxtypingTransformer.visit_FunctionDef = visit_outer
install_import_hook([f"storagekit.{room}" for room in ROOMS], f"{__name__}.check")
