"""Numbers of the command line: every option that takes one refuses, in one line, what none of them can be."""

import pytest
import typer
from helpers import leaves

from storagekit.cli import main as cli
from storagekit.core.resources import data_path

TRACE = str(data_path("samples", "small.spc"))
# how each command is asked otherwise; those without a number that a user gives are left out
ASKED = {
    ("reproduce",): ["swift"],
    ("replay",): [TRACE],
    ("compare",): [TRACE, "--schemes", "hashing,dsptf"],
    ("sweep",): [TRACE],
    ("lab",): ["array", "--no-browser"],
    ("plan", "size"): [],
    ("plan", "memory"): ["--cache-mb", "100", "--disks", "2", "--disk-mb", "9000"],
    ("plan", "sessions"): ["--rate-mb", "1"],
    ("plan", "schemes"): ["--disks", "4", "--data-tb", "0.01"],
}
# options that take words
WORDS = (
    "--profile --out -p --traces --drive --layout --dispatch --schedule --write --slow --stop --format --schemes --against "
    "--scheduler-file --store --folder --goal --scheduler --charts --start"
)
# none of what any option counts or measures
NONE = ["nan", "-inf", "inf", "-7", "1e400", "-1e300", "x", ""]
# what only one option has, and what is beyond 32 or 64 bits
FAR = [
    ("replay", TRACE, "--seed", "99999999999999999999"),
    ("compare", TRACE, "--seeds", "99999999999999999999"),
    ("replay", TRACE, "--slots", "2000000000"),
    ("replay", TRACE, "--replicas", "4294967298"),
    ("replay", TRACE, "--slow", "4294967296=0.5"),
    ("replay", TRACE, "--slow", "0=nan"),
    ("replay", TRACE, "--slow", "nan=0.5"),
    ("replay", TRACE, "--stop", "4294967296"),
    ("plan", "schemes", "--disks", "2147483648", "--data-tb", "1"),
    ("plan", "size", "--most-disks", "99999999999999999999"),
    ("plan", "sessions", "--rate-mb", "1", "--agents", "4294967296"),
    ("reproduce", "swift", "--seed", "99999999999999999999"),
]


COMMANDS = dict(leaves(typer.main.get_command(cli.app)))


def numbers(command) -> list[str]:
    """The options of a command that take a number."""
    valued = [one for one in command.params if one.param_type_name == "option" and not one.is_flag and not one.is_eager]
    return [name for one in valued if (name := max(one.opts, key=len)) not in WORDS.split()]


def test_every_command_that_takes_a_number_is_asked():
    assert {words for words, command in COMMANDS.items() if numbers(command)} == set(ASKED)


@pytest.mark.parametrize("command", ASKED, ids=" ".join)
def test_what_is_no_number_of_its_kind_is_refused_in_a_line(command, storagekit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = []
    for option in numbers(COMMANDS[command]):
        for value in NONE:
            status, text, told = storagekit(*command, *ASKED[command], f"{option}={value}")
            if status != 2 or text or told.count("\n") != 1 or len(told) > 300:
                wrong.append((option, value, status, text[:80], told[:200]))
    assert wrong == []


@pytest.mark.parametrize("words", FAR, ids=lambda words: " ".join(words).replace(TRACE, "TRACE"))
def test_what_is_beyond_any_system_is_refused_in_a_line(words, storagekit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, text, told = storagekit(*words)
    assert (status, text) == (2, "") and told.count("\n") == 1 and len(told) < 300, told
