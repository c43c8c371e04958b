"""`python -m storagekit.cli` is `storagekit`."""

from storagekit.core.garbage import collect_rarely
from storagekit.reproduce.processes import leave_at_once, stop_in_order


def main() -> None:
    """Run the command line. After an interrupt during the imports, one line is printed, without a traceback."""
    stop_in_order()
    collect_rarely()
    try:
        from storagekit.cli.main import main as run
    except KeyboardInterrupt:
        leave_at_once()
    run()


if __name__ == "__main__":
    main()
