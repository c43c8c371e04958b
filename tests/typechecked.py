"""The rooms whose annotations hold for every call: imported before storagekit is, this sees to it that they are checked."""

from jaxtyping import install_import_hook

ROOMS = (
    "lanes",
    "drive",
    "workload",
    "placement",
    "schedule",
    "dispatch",
    "cache",
    "engine",
    "metrics",
    "mediator",
)
# a whole number will do for a float (PEP 484); of a list the first item is looked at, because Hypothesis allows nobody
# else's random numbers
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True, is_random=False))"

install_import_hook([f"storagekit.{room}" for room in ROOMS], CHECKER)
