"""Call every public function and class of a package with one impossible argument after the other.

    python tests/nonsense/attack.py analytic ...   # for each package: refused and accepted calls, and every violation

A call may refuse a value with an InputError in one line. It may also accept a possible value. The result then contains
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
from nonsense.faces import faces, methods
from nonsense.values import impossible

from storagekit.core.errors import InputError
from storagekit.engine import batch

# limits of one call: processor seconds and bytes
MOST_SECONDS = 5
MOST_BYTES = 6 * 2**30
# length of a line that fits on two lines of a screen
MOST_CHARACTERS = 320


@dataclass(frozen=True)
class Face:
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
    """

    given: Callable[[], Mapping[str, Any]] = dict
    through: Callable[..., Any] | None = None
    signed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    untouched: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Attempt:
    face: str
    argument: str
    value: Any
    certain: bool


def attempts(name: str, face: Face, call: Callable) -> Iterator[tuple[Attempt, dict[str, Any]]]:
    """Yield calls with one argument that is impossible or probably out of range."""
    given = inspect.signature(call).parameters
    optional = {*face.optional, *(argument for argument, one in given.items() if one.default is None)}
    for argument, usual in face.given().items():
        if argument in face.untouched:
            continue
        for value, certain in impossible(usual, signed=argument in face.signed):
            if value is not None or argument not in optional:
                yield Attempt(name, argument, value, certain), {**face.given(), argument: value}


def outcome(call: Callable, attempt: Attempt, given: dict[str, Any]) -> tuple[str, str]:
    """Return the verdict (refused, answered or a violation), and the message or value."""
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
            try:
                answer = call(**given)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    except InputError as refused:
        line = str(refused)
        fault = "several lines" if "\n" in line else "a long line" if len(line) > MOST_CHARACTERS else ""
        return (f"violation: {fault}" if fault else "refused"), line
    except BaseException as fault:
        return f"violation: {type(fault).__name__}", str(fault)[:200]
    if time.process_time() - began > MOST_SECONDS:
        return "violation: slow", f"{time.process_time() - began:.1f} s"
    if attempt.certain:
        return "violation: answered", repr(answer)[:120]
    if _holds_nan(answer):
        return "violation: NaN", repr(answer)[:120]
    kept = getattr(answer, attempt.argument, attempt.value) if isinstance(call, type) else attempt.value
    if isinstance(attempt.value, int | float) and not _same(kept, attempt.value):
        return "violation: changed", f"{attempt.value!r} became {kept!r}"[:160]
    return "answered", repr(attempt.value)[:60]


def untraceable(call: Callable, built: Any, face: Face) -> Iterator[tuple[str, str]]:
    """Yield the real arguments that an equinox module does not accept as traced values, which gradients require."""
    if not (isinstance(call, type) and isinstance(built, eqx.Module)):
        return
    for argument, usual in face.given().items():
        kept = getattr(built, argument, None)
        if isinstance(usual, float) and isinstance(kept, np.ndarray | jax.Array) and kept.dtype.kind == "f":
            try:
                jax.eval_shape(lambda value, name=argument: getattr(call(**{**face.given(), name: value}), name), usual)
            except Exception as fault:
                yield argument, f"{type(fault).__name__}: {str(fault)[:120]}"


def _holds_nan(answer: Any) -> bool:
    leaves = jax.tree.leaves(answer)
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


def attack(room: str) -> dict[str, Any]:
    """Attack a package. Return the counts of verdicts, and the violations, one line each."""
    listed = importlib.import_module(f"nonsense.rooms.{room or 'front_door'}")
    found = faces(room)
    # alternative constructors of a class, such as `Drive.from_datasheet`
    makers = {name: name.rpartition(".") for name in listed.FACES if name.rpartition(".")[0] in found}
    found |= {name: getattr(found[owner], maker) for name, (owner, _, maker) in makers.items()}
    counts: Counter[str] = Counter()
    violations: list[str] = []
    for name in sorted((set(found) | set(methods(room))) - set(listed.FACES) - set(listed.NOT_ASKED)):
        violations.append(f"{name}: neither in FACES nor in NOT_ASKED of {listed.__name__}")
    for name in sorted((set(listed.FACES) | set(listed.NOT_ASKED)) - set(found) - set(methods(room))):
        violations.append(f"{name}: no public face of this name")
    for name in sorted(set(listed.FACES) & set(found)):
        face = listed.FACES[name]
        call = face.through or found[name]
        built = call(**face.given())
        violations += [f"{name}({argument}) traced: {words}" for argument, words in untraceable(call, built, face)]
        told: Counter[str] = Counter()
        for attempt, given in attempts(name, face, call):
            verdict, words = outcome(call, attempt, given)
            told[verdict.split(":")[0]] += 1
            if verdict.startswith("violation"):
                violations.append(f"{name}({attempt.argument}={_shown(attempt.value)}): {verdict[11:]}: {words}")
        if told and not told["refused"]:
            violations.append(f"{name}: refuses nothing of what it is given")
        counts += told
    return {"faces": len(listed.FACES), "counts": dict(counts), "violations": violations}


def _shown(value: Any) -> str:
    return " ".join(repr(value).split())[:60]


def _late(*_: object) -> None:
    raise TimeoutError(f"more than {MOST_SECONDS} s")


def main(rooms: Sequence[str]) -> None:
    signal.signal(signal.SIGPROF, _late)
    # few runs in a batch: the rest would be padding
    batch.LANES = 2
    for room in rooms:
        importlib.import_module(f"nonsense.rooms.{room or 'front_door'}")
    # The limit covers writable memory. Memory that is only mapped does not count: libraries, the heap of a browser's engine
    now = psutil.Process().memory_info().data
    resource.setrlimit(resource.RLIMIT_DATA, (now + MOST_BYTES, now + MOST_BYTES))
    print(json.dumps({room: attack(room) for room in rooms}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:] or [""])
