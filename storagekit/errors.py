"""The error a user of storagekit sees when what they gave is wrong."""

__all__ = ["InputError"]


class InputError(ValueError):
    """Bad input: a file, value or option that cannot be used as given.

    The message is one clear line that names the value, the limit it breaks and the remedy, in
    the user's words. A command line prints it without a traceback.
    """


class SimulationError(RuntimeError):
    """A run that could not go on: it stands still, or a number in it is not finite."""
