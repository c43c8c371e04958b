"""Call every public function and class of a package with one impossible argument after the other.

    python tests/nonsense/attack.py analytic ...   # for each package: rejected and accepted calls, and every violation
    python tests/nonsense/attack.py --whole plan   # also the calls that simulate

A call may reject a value with an InputError in one line. It may also accept a possible value. The result then contains
no NaN and keeps the given number. Everything else is a violation: another error, a warning, a result for an impossible
value, more than a few seconds, more than a few GB. The attack runs as a program, because the memory limit applies to
the whole process.
"""

import importlib
import inspect
import json
import os
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ["TQDM_DISABLE"] = "1"

import equinox as eqx
import jax
import numpy as np
import psutil
from nonsense.public_callables import methods, public_callables
from nonsense.values import impossible

from storagekit.core.errors import InputError
from storagekit.engine import batch

# Limits of one call: processor seconds and bytes. The slowest calls take 2 s on an ordinary machine and 6 s on a loaded one;
# the limit is for calls that would hardly end.
MOST_SECONDS = 20
MOST_BYTES = 6 * 2**30
# length of a line that fits on two lines of a screen
MOST_CHARACTERS = 320


@dataclass(frozen=True)
class ValidCall:
    """A valid call of a public function or class, with a usual value of every argument.

    Parameters
    ----------
    given : callable
        Returns the arguments. It is a function so that the examples of a package cost nothing before their use.
    through : callable, optional
        Called in place of the function or class if another function validates its arguments, as for a NamedTuple.
    signed : tuple of str
        Arguments that may be negative.
    optional : tuple of str
        Arguments that may be None, in addition to those with the default None.
    untouched : mapping of str to str
        Arguments that are not attacked, with the reason.
    simulates : bool
        Whether valid calls take a second or more. Valid values are then given only with `--whole`; without it the function
        receives only values that are certainly impossible.
    """

    given: Callable[[], Mapping[str, Any]] = dict
    through: Callable[..., Any] | None = None
    signed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    untouched: Mapping[str, str] = field(default_factory=dict)
    simulates: bool = False


@dataclass(frozen=True)
class Attempt:
    case: str
    argument: str
    value: Any
    certain: bool


def attempts(name: str, case: ValidCall, call: Callable) -> Iterator[tuple[Attempt, dict[str, Any]]]:
    """Yield calls with one argument that is impossible or probably out of range."""
    given = inspect.signature(call).parameters
    optional = {*case.optional, *(argument for argument, one in given.items() if one.default is None)}
    for argument, usual in case.given().items():
        if argument in case.untouched:
            continue
        for value, certain in impossible(usual, signed=argument in case.signed):
            if value is not None or argument not in optional:
                yield Attempt(name, argument, value, certain), {**case.given(), argument: value}


def outcome(call: Callable, attempt: Attempt, given: dict[str, Any]) -> tuple[str, str]:
    """Return the verdict (rejected, accepted or a violation), and the message or value."""
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
            try:
                result = call(**given)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    except InputError as rejection:
        line = str(rejection)
        fault = "several lines" if "\n" in line else "a long line" if len(line) > MOST_CHARACTERS else ""
        return (f"violation: {fault}" if fault else "rejected"), line
    except BaseException as fault:
        return f"violation: {type(fault).__name__}", str(fault)[:200]
    if time.process_time() - began > MOST_SECONDS:
        return "violation: slow", f"{time.process_time() - began:.1f} s"
    if attempt.certain:
        return "violation: accepted", repr(result)[:120]
    if _holds_nan(result):
        return "violation: NaN", repr(result)[:120]
    kept = getattr(result, attempt.argument, attempt.value) if isinstance(call, type) else attempt.value
    if isinstance(attempt.value, int | float) and not _same(kept, attempt.value):
        return "violation: changed", f"{attempt.value!r} became {kept!r}"[:160]
    return "accepted", repr(attempt.value)[:60]


def untraceable(call: Callable, built: Any, case: ValidCall) -> Iterator[tuple[str, str]]:
    """Yield the real arguments that an equinox module does not accept as traced values, which gradients require."""
    if not (isinstance(call, type) and isinstance(built, eqx.Module)):
        return
    for argument, usual in case.given().items():
        kept = getattr(built, argument, None)
        if isinstance(usual, float) and isinstance(kept, np.ndarray | jax.Array) and kept.dtype.kind == "f":
            try:
                jax.eval_shape(lambda value, name=argument: getattr(call(**{**case.given(), name: value}), name), usual)
            except Exception as fault:
                yield argument, f"{type(fault).__name__}: {str(fault)[:120]}"


def _holds_nan(result: Any) -> bool:
    leaves = jax.tree.leaves(result)
    return any(np.asarray(leaf).dtype.kind == "f" and np.isnan(leaf).any() for leaf in leaves if np.ndim(leaf) < 9)


def _same(kept: Any, given: float) -> bool:
    """Return whether a number is unchanged within the precision of float32."""
    try:
        found = np.asarray(kept)
        if found.dtype.kind not in "biuf":
            return True
        return bool(np.all(found == given) or np.allclose(found.astype(float), float(given), rtol=1e-6))
    except (OverflowError, ValueError, TypeError):
        return False


def attack(package: str, whole: bool) -> dict[str, Any]:
    """Attack a package, `whole` with the calls that simulate. Return the counts of verdicts, and the violations, one line
    each."""
    listed = importlib.import_module(f"nonsense.packages.{package or 'public_api'}")
    found = public_callables(package)
    # alternative constructors of a class, such as `Drive.from_datasheet`
    makers = {name: name.rpartition(".") for name in listed.VALID_CALLS if name.rpartition(".")[0] in found}
    found |= {name: getattr(found[owner], maker) for name, (owner, _, maker) in makers.items()}
    counts: Counter[str] = Counter()
    violations: list[str] = []
    for name in sorted((set(found) | set(methods(package))) - set(listed.VALID_CALLS) - set(listed.NOT_ATTACKED)):
        violations.append(f"{name}: neither in VALID_CALLS nor in NOT_ATTACKED of {listed.__name__}")
    for name in sorted((set(listed.VALID_CALLS) | set(listed.NOT_ATTACKED)) - set(found) - set(methods(package))):
        violations.append(f"{name}: no public function or class of this name")
    for name in sorted(set(listed.VALID_CALLS) & set(found)):
        case = listed.VALID_CALLS[name]
        call = case.through or found[name]
        valid = whole or not case.simulates
        built = call(**case.given()) if valid else None
        violations += [f"{name}({argument}) traced: {words}" for argument, words in untraceable(call, built, case)]
        verdicts: Counter[str] = Counter()
        for attempt, given in attempts(name, case, call):
            if not (valid or attempt.certain):
                continue
            verdict, words = outcome(call, attempt, given)
            verdicts[verdict.split(":")[0]] += 1
            if verdict.startswith("violation"):
                violations.append(f"{name}({attempt.argument}={_shown(attempt.value)}): {verdict[11:]}: {words}")
        if verdicts and not verdicts["rejected"]:
            violations.append(f"{name}: rejects no value")
        counts += verdicts
    return {"valid_calls": len(listed.VALID_CALLS), "counts": dict(counts), "violations": violations}


def _shown(value: Any) -> str:
    return " ".join(repr(value).split())[:60]


def _late(*_: object) -> None:
    raise TimeoutError(f"more than {MOST_SECONDS} s")


def main(arguments: Sequence[str]) -> None:
    packages = [one for one in arguments if one != "--whole"] or [""]
    signal.signal(signal.SIGPROF, _late)
    # few runs in a batch: the rest would be padding
    batch.FEW_RUNS = 2
    for package in packages:
        importlib.import_module(f"nonsense.packages.{package or 'public_api'}")
    # The limit covers writable memory. Memory that is only mapped does not count: libraries, the heap of a browser's engine
    now = psutil.Process().memory_info().data
    resource.setrlimit(resource.RLIMIT_DATA, (now + MOST_BYTES, now + MOST_BYTES))
    print(json.dumps({package: attack(package, "--whole" in arguments) for package in packages}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
