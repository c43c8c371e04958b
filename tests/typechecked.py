"""Check the annotations of these packages in every call. This module must be imported before storagekit.

Some packages are left out. The formulas of `analytic` and `plan` declare arrays, but return NumPy's numbers for plain
numbers. `papers.measurement` is called with NumPy's numbers and stores Python's. Synthetic traces and the internals of
the mediator are called so often on the host that a check costs more than the work.
"""

import ast

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook
from jaxtyping._import_hook import JaxtypingTransformer

PACKAGES = (
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
    "simulation.data_loss",
    "simulation.experiment",
    "simulation.history",
    "simulation.loss_trial",
    "calibrate.measured_drive",
    "simulation.measures",
    "simulation.shards",
    "simulation.provisioning",
    "simulation.replaying",
    "simulation.splitting",
    "simulation.standard_measures",
    "simulation.store",
    "simulation.sweeping",
    "simulation.workers",
    "mediator.mediator",
    "mediator.policy",
    "mediator.rehearsal",
    "mediator.request",
)
# an int is valid for a float (PEP 484); only the first item of a list is checked, because Hypothesis does not allow other
# sources of random numbers
check = beartype(conf=BeartypeConf(is_pep484_tower=True, is_random=False))


visit_function = JaxtypingTransformer.visit_FunctionDef


def visit_outer(transformer: JaxtypingTransformer, node: ast.FunctionDef) -> ast.AST:
    """Decorate a function so that its annotations are checked, and leave functions within functions as they are.

    Python defines an inner function again with each call of the outer one, and decorating it takes 0.1 ms each time.
    That is half of the time of tests that call such functions often.
    """
    inner = any(isinstance(parent, ast.FunctionDef) for parent in transformer._parents)
    return node if inner else visit_function(transformer, node)


JaxtypingTransformer.visit_FunctionDef = visit_outer
install_import_hook([f"storagekit.{package}" for package in PACKAGES], f"{__name__}.check")
