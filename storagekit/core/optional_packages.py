"""Optional dependencies: packages that an extra of storagekit installs."""

from importlib.util import find_spec

from storagekit.core.errors import InputError


def require_extra(extra: str, *modules: str) -> None:
    """Raise InputError if a module that an extra installs is missing.

    Parameters
    ----------
    extra : str
        Name of the extra.
    *modules : str
        Names of the modules that the extra installs.

    Raises
    ------
    InputError
        If a module is not installed. The message names the missing modules and the command that installs them.
    """
    lacking = [name for name in modules if find_spec(name) is None]
    if lacking:
        be = "is" if len(lacking) == 1 else "are"
        raise InputError(f'{", ".join(lacking)} {be} not installed; run `pip install "storagekit[{extra}]"`')
