"""Count the numbers that the compiled loop computes per event and run, which do not depend on the machine's load.

The count is read from the program that XLA compiles, so that repeated computations count each time. A loop within the
event counts as one iteration.
"""

import re
from collections.abc import Iterator
from math import prod

# instructions that compute nothing
MOVES = set(["parameter", "constant", "get-tuple-element", "tuple", "bitcast", "broadcast", "reshape", "iota", "copy"])
# instructions whose work consists of the computations that they call
CALLS = set(["fusion", "call", "while"])
HEAD = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
LINE = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (.*?) ([a-z][\w\-]*)\((.*)$")
CALLED = re.compile(r"(?:calls|to_apply|body)=%?([\w.\-]+)")
SHAPE = re.compile(r"\w+\[([\d,]*)\]")


def computations(program: str) -> dict[str, list[str]]:
    """Return the lines of each computation of a compiled program, by name."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in program.splitlines():
        head = HEAD.match(line)
        if head:
            lines = found.setdefault(head[1], [])
        elif line.startswith(" "):
            lines.append(line)
    return found


def elements(shape: str) -> int:
    """Return the number of elements of the first array of a shape."""
    return prod(int(size) for size in SHAPE.search(shape)[1].split(",") if size)


def loops(program: str, turns: int) -> Iterator[str]:
    """Yield the bodies of the loops with a known count of `turns` iterations."""
    for line in program.splitlines():
        if " while(" in line and f'"known_trip_count":{{"n":"{turns}"}}' in line:
            yield CALLED.findall(line)[-1]


def operations(program: str, turns: int) -> int:
    """Return the numbers that one iteration of the event loop computes. `turns` is its number of iterations."""
    parts = computations(program)

    def of(name: str) -> int:
        total = 0
        for line in parts[name]:
            shape, verb, _ = LINE.match(line).groups()
            total += sum(of(called) for called in CALLED.findall(line)) if verb in CALLS else 0
            total += elements(shape) if verb not in CALLS | MOVES else 0
        return total

    return max(of(body) for body in loops(program, turns))
