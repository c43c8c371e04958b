"""Set up .venv when it is needed, then run one command in it.

    python3 dev.py reproduce [ARGUMENTS]   the papers, into build/reproductions
    python3 dev.py test [ARGUMENTS]        the tests (arguments go to pytest)
    python3 dev.py WORD [ARGUMENTS]        any other command of `storagekit`

Uses nothing but the standard library; installs with uv where it is found, with pip otherwise.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "storagekit.stamp"


def state():
    """What the environment was made from: the interpreter and the files that name its packages."""
    inputs = [sys.version.encode(), str(ROOT).encode()]
    inputs += [(ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    return hashlib.sha256(b"\0".join(inputs)).hexdigest()


def install():
    """Make .venv and install the package into it; the stamp comes last: what broke is redone."""
    print("storagekit: setting up .venv (about a minute, once)", file=sys.stderr)
    uv = shutil.which("uv")
    venv.EnvBuilder(clear=True, symlinks=os.name != "nt", with_pip=uv is None).create(VENV)
    pip = [uv, "pip", "install", "--python", PYTHON] if uv else [PYTHON, "-m", "pip", "install"]
    wanted = ["--constraint", "constraints.txt", "--editable", ".[test]"]
    subprocess.run([*pip, "--quiet", *wanted], cwd=ROOT, check=True)
    STAMP.write_text(state())


def main():
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs this may have any Python
        found = ".".join(map(str, sys.version_info[:3]))
        sys.exit(f"storagekit: Python {found} is too old; run dev.py with Python 3.11 or newer")
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    try:
        # an interpreter that was removed, or a link to one, is none
        if not (PYTHON.exists() and STAMP.exists() and STAMP.read_text() == state()):
            install()
    except (OSError, subprocess.CalledProcessError) as fault:
        sys.exit(f"storagekit: .venv could not be set up: {fault}; mend that and run again")
    except KeyboardInterrupt:
        print("storagekit: stopped; .venv is not finished and will be made anew", file=sys.stderr)
        sys.exit(130)
    word, arguments = sys.argv[1], sys.argv[2:]
    command = ["storagekit.cli", word]
    if word == "test":
        command = ["pytest", "-n", "2", "--dist", "worksteal"]
    run(command + arguments)


def run(command):
    """Become the command, so that signals and its exit status are its own; Windows has to wait for it."""
    try:
        if os.name == "nt":
            sys.exit(subprocess.run([PYTHON, "-m", *command], cwd=ROOT).returncode)
        os.chdir(ROOT)
        os.execv(PYTHON, [str(PYTHON), "-m", *command])
    except OSError as fault:
        sys.exit(f"storagekit: {PYTHON} cannot be run: {fault.strerror}; remove {VENV} and run again")


if __name__ == "__main__":
    main()
