"""What is installed by need: packages that an extra of storagekit brings."""

from importlib.util import find_spec

from storagekit.core.errors import InputError


def require_extra(extra: str, *modules: str) -> None:
    """Raises InputError where a module that the extra brings is not installed: what is missing, and what to install."""
    lacking = [name for name in modules if find_spec(name) is None]
    if lacking:
        be = "is" if len(lacking) == 1 else "are"
        raise InputError(
            f'{", ".join(lacking)} {be} not installed; `pip install "storagekit[{extra}]"` brings what it needs'
        )
