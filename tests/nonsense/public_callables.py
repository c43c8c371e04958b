"""Find the public functions and classes of the packages of storagekit, so that none is forgotten."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import storagekit

# The notebooks call exhibits and their charts, and `reproduce -p` checks the parameters of notebooks.
# tests/cli/test_options.py attacks the options of commands.
OUTSIDE = "papers", "reproduce", "cli", "core", "component"
# charts of the lab, for the same reason
DRAWN = ("lab.draw",)
# modules that are public themselves, by the package that exports them
SHOWN = {
    "analytic.headtracking": "analytic",
    "core.provenance": "",
    "core.units": "",
    "papers.measurement": "",
}

# Methods of components that only the engine calls, by package. The engine passes arrays that it made, mostly within
# compiled programs, which cannot check values.
_HOOKS = "on_admitted on_access_started on_access_ended on_completed on_brick_stopped elapse init check completed"
_ENGINE = {
    "cache": f"{_HOOKS} look_up memory same_data same_data_as sized",
    "arbitration": f"{_HOOKS} begins choosable_from claim unreached decided each issues stale_copies",
    "dispatch": f"{_HOOKS} awaited_parts decided each entry_part queued retry_targets route sending_time times_out",
    "drive": "access at at_speed capacity_of check check_buffer drift elapse init keep locate locate_on mechanics_of of "
    "per_wave positioning seconds seen step transfer turns zone_of",
    "drive.buffer": "after begins_read begins_write behind elapse free holds init now reach readable",
    "engine": f"{_HOOKS} add advance brick_of compile init keep lasts rows",
    "faults": f"{_HOOKS} after brick_of init lasts now stopped_now",
    "simulation": "value",
    "placement": "address_limit brick_of capacity check companions drive_of drives_of locate needed_of of for_drive part_on "
    "parts_of parts_read_first replica sectors_of sibling sweep tabulated target_on",
    "queue": f"{_HOOKS} caps enqueue_time choose issue issued next_issue queued serve ticks units",
    "schedule": f"{_HOOKS} cost decided each",
    "workload": f"{_HOOKS} at at_start draw drawn frees_slot next_arrival precedes request resumes sectors sent turn window",
    "write": f"{_HOOKS} buffered check_rules decided each ends_delayed has_room needs_slots next_delayed offer rule sweep "
    "targets usable",
}
# Methods of schemes, families, objectives and schedulers that only planners call, with predicted figures.
_PLANNERS = {
    "plan": "after_loss alignment degraded key lack layouts least_disks of placement positioning reached rebuild redundancy "
    "score suits usable",
}
# Methods of controls and charts that only pages call, with validated values.
_PAGES = {"charts": "beginning filled meaning shown", "lab": "live"}
INTERFACES = {package: frozenset(names.split()) for package, names in {**_ENGINE, **_PLANNERS, **_PAGES}.items()}


def public_callables(root: str) -> dict[str, Callable]:
    """Return every public function and concrete class of a package and its subpackages, by shortest name.

    The public API, "", has the functions and classes outside all packages. If a package exports nothing itself, its
    modules' functions and classes are public.
    """
    found: dict[int, tuple[str, Callable]] = {}
    for package in _packages(root):
        named = list(_public_names_of(package)) or [
            pair for module in _modules(package) for pair in _public_names_of(module, own=True)
        ]
        for name, shown in named:
            if _is_of(shown, root):
                found.setdefault(id(shown), (name, shown))
    for module, of_root in SHOWN.items():
        if of_root == root:
            found.update({id(shown): (name, shown) for name, shown in _public_names_of(module, own=True)})
    return dict(found.values())


def methods(root: str) -> dict[str, Callable]:
    """Return the public methods with arguments of a package's public classes, by name of class and method.

    Methods of `INTERFACES` are excluded.
    """
    found = {}
    for name, shown in public_callables(root).items():
        if inspect.isclass(shown):
            interface = INTERFACES.get(name.rpartition(".")[0], ())
            found |= {f"{name}.{method}": call for method, call in _methods_of(shown) if method not in interface}
    return found


def method_of(usual: Callable[[], Any], method: str) -> Callable:
    """Return a function that calls a method of `usual()`, which is called anew each time."""
    return lambda **given: getattr(usual(), method)(**given)


def packages() -> list[str]:
    """Return the names of the attacked packages. The first, "", is the public API."""
    packages = [module.name for module in pkgutil.iter_modules(storagekit.__path__) if module.ispkg]
    return ["", *(name for name in packages if name not in OUTSIDE and not name.startswith("_"))]


def _public_names_of(module: str, own: bool = False) -> Iterator[tuple[str, Callable]]:
    """Yield names and public functions and classes of a module. `own` excludes those defined in other modules."""
    found = importlib.import_module(f"storagekit.{module}".rstrip("."))
    for name in dir(found):
        shown = None if name.startswith("_") else getattr(found, name)
        if (
            shown is not None
            and _is_public_callable(shown)
            and (not own or getattr(shown, "__module__", None) == found.__name__)
        ):
            yield f"{module}.{name}".lstrip("."), shown


def _methods_of(shown: type) -> Iterator[tuple[str, Callable]]:
    """Yield the public methods of a class that take an argument and are defined in storagekit."""
    for name in dir(shown):
        call = None if name.startswith("_") else getattr(shown, name)
        if not callable(call) or inspect.isclass(call):
            continue
        if not (getattr(call, "__module__", None) or "").startswith("storagekit"):
            continue
        bound = inspect.ismethod(call) or isinstance(inspect.getattr_static(shown, name), staticmethod)
        if len(inspect.signature(call).parameters) > (0 if bound else 1):
            yield name, call


def _modules(package: str) -> Iterator[str]:
    found = () if package in DRAWN else pkgutil.iter_modules(importlib.import_module(f"storagekit.{package}").__path__)
    for module in found:
        if not module.ispkg and not module.name.startswith("_"):
            yield f"{package}.{module.name}"


def _packages(root: str) -> Iterator[str]:
    yield root
    if root:
        for module in pkgutil.walk_packages(importlib.import_module(f"storagekit.{root}").__path__, f"{root}."):
            if module.ispkg:
                yield module.name


def _is_of(shown: Callable, root: str) -> bool:
    return bool(root) or shown.__module__.split(".")[1] not in packages()


def _is_public_callable(shown: object) -> bool:
    if inspect.ismodule(shown) or not callable(shown):
        return False
    if not (getattr(shown, "__module__", None) or "").startswith("storagekit"):
        return False
    if inspect.isclass(shown):
        return not inspect.isabstract(shown) and not issubclass(shown, Exception)
    return True
