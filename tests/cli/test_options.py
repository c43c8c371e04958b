"""Numbers of the command line: every option with a number rejects invalid numbers in one line."""

import pytest
import typer
from helpers import leaves

from storagekit.cli import main as cli
from storagekit.core.resources import data_path

TRACE = str(data_path("samples", "small.spc"))
LOG = str(data_path("samples", "fio", "read_4k_1.log.gz"))
# other arguments of each command; commands without a number from the user are left out
ARGUMENTS = {
    ("reproduce",): ["swift"],
    ("replay",): [TRACE],
    ("compare",): [TRACE, "--schemes", "hashing,dsptf"],
    ("sweep",): [TRACE],
    ("lab",): ["array", "--no-browser"],
    ("plan", "size"): [],
    ("plan", "memory"): ["--cache-mb", "100", "--disks", "2", "--disk-mb", "9000"],
    ("plan", "sessions"): ["--rate-mb", "1"],
    ("plan", "schemes"): ["--disks", "4", "--data-tb", "0.01"],
    ("drive", "fit-ssd"): [LOG, "--size-gb", "256", "--out", "mine.json"],
    ("trace", "info"): [TRACE],
    ("trace", "convert"): [TRACE, "trace.parquet"],
}
# options with text values
WORDS = (
    "--profile --out -p --traces --drive --layout --dispatch --schedule --write --slow --stop --format --schemes --against "
    "--scheduler-file --store --folder --objective --scheduler --charts --start --columns --devices --with --checkpoint "
    "--name --ssd-cache"
)
# invalid for any option that counts or measures
INVALID = ["nan", "-inf", "inf", "-7", "1e400", "-1e300", "x", ""]
# invalid for one option only, and numbers beyond 32 or 64 bits
EXTREME = [
    ("replay", TRACE, "--seed", "99999999999999999999"),
    ("compare", TRACE, "--seeds", "99999999999999999999"),
    ("replay", TRACE, "--slots", "2000000000"),
    ("replay", TRACE, "--replicas", "4294967298"),
    ("replay", TRACE, "--slow", "4294967296=0.5"),
    ("replay", TRACE, "--slow", "0=nan"),
    ("replay", TRACE, "--slow", "nan=0.5"),
    ("replay", TRACE, "--stop", "4294967296"),
    ("replay", TRACE, "--detection", "-1"),
    ("plan", "schemes", "--disks", "2147483648", "--data-tb", "1"),
    ("plan", "size", "--most-disks", "99999999999999999999"),
    ("plan", "sessions", "--rate-mb", "1", "--agents", "4294967296"),
    ("reproduce", "swift", "--seed", "99999999999999999999"),
]


COMMANDS = dict(leaves(typer.main.get_command(cli.app)))


def numbers(command) -> list[str]:
    """Return the options of a command that take a number."""
    valued = [one for one in command.params if one.param_type_name == "option" and not one.is_flag and not one.is_eager]
    return [name for one in valued if (name := max(one.opts, key=len)) not in WORDS.split()]


def test_every_command_with_a_number_is_tested():
    assert {words for words, command in COMMANDS.items() if numbers(command)} == set(ARGUMENTS)


@pytest.mark.parametrize("command", ARGUMENTS, ids=" ".join)
def test_invalid_numbers_are_rejected_in_one_line(command, storagekit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = []
    for option in numbers(COMMANDS[command]):
        for value in INVALID:
            status, text, error = storagekit(*command, *ARGUMENTS[command], f"{option}={value}")
            if status != 2 or text or error.count("\n") != 1 or len(error) > 300:
                wrong.append((option, value, status, text[:80], error[:200]))
    assert wrong == []


@pytest.mark.parametrize("words", EXTREME, ids=lambda words: " ".join(words).replace(TRACE, "TRACE"))
def test_extreme_numbers_are_rejected_in_one_line(words, storagekit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, text, error = storagekit(*words)
    assert (status, text) == (2, "") and error.count("\n") == 1 and len(error) < 300, error
