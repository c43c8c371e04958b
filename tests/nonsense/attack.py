"""One impossible argument after the other, to every public face of a room.

    python tests/nonsense/attack.py analytic ...   # of each room: what was refused, what was answered, and every violation

A face may refuse, by InputError in one line, or, where the value is possible, answer; the answer holds no NaN then and keeps
the number that it was given. Anything else is a violation: another error, a warning, an answer to what is impossible, more
than a few seconds, more than a few GB. Run as a program, because memory is limited for the whole process.
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

# what one call may take, seconds of the processor and bytes
MOST_SECONDS = 5
MOST_BYTES = 6 * 2**30
# characters of a line that a screen holds twice over
MOST_CHARACTERS = 320


@dataclass(frozen=True)
class Face:
    """How a public face is called as it is meant to be: all of its arguments, each the usual one.

    given: a function that makes them, so that a room's examples cost nothing until they are used.
    through: what is called in place of the face, where somebody else looks at what it was given (a NamedTuple is checked by
    who takes it).
    signed: arguments that may be below 0. optional: those that may be None, besides those that are by default. untouched:
    arguments that are not attacked, each with the reason.
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
    """Every call of a face with one argument that it may not have, or that is likely to be beyond it."""
    given = inspect.signature(call).parameters
    optional = {*face.optional, *(argument for argument, one in given.items() if one.default is None)}
    for argument, usual in face.given().items():
        if argument in face.untouched:
            continue
        for value, certain in impossible(usual, signed=argument in face.signed):
            if value is not None or argument not in optional:
                yield Attempt(name, argument, value, certain), {**face.given(), argument: value}


def outcome(call: Callable, attempt: Attempt, given: dict[str, Any]) -> tuple[str, str]:
    """`(verdict, words)`: refused, answered or a violation, and what was said."""
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
    """Real numbers of an equinox module that it cannot be made of while JAX traces: gradients need to."""
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
    """Whether a number is still itself, as far as 32 bits of a real number tell."""
    try:
        found = np.asarray(kept)
        if found.dtype.kind not in "biuf":
            return True
        return bool(np.all(found == given) or np.allclose(found.astype(float), float(given), rtol=1e-6))
    except (OverflowError, ValueError, TypeError):
        return False


def attack(room: str) -> dict[str, Any]:
    """What became of all attempts: counts of verdicts, and the violations, each a line."""
    listed = importlib.import_module(f"nonsense.rooms.{room or 'front_door'}")
    found = faces(room)
    # makers that a class has beside its own, as `Drive.from_datasheet`
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
    # a few runs at a time: the rest of a batch would be padding
    batch.LANES = 2
    for room in rooms:
        importlib.import_module(f"nonsense.rooms.{room or 'front_door'}")
    # what may be written to; what is only mapped, as libraries and the heap of a browser's engine are, is none of its doing
    now = psutil.Process().memory_info().data
    resource.setrlimit(resource.RLIMIT_DATA, (now + MOST_BYTES, now + MOST_BYTES))
    print(json.dumps({room: attack(room) for room in rooms}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:] or [""])
