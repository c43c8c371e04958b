"""Errors that storagekit raises for invalid input and for runs that fail."""

import unicodedata

__all__ = ["InputError"]

# Unicode categories of invisible characters that have an effect: control codes and escapes, directions of writing,
# surrogates (bytes of a file name that are not UTF-8), and ends of lines.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def harmless(text: str, keep: str = "") -> str:
    r"""Return a text with its invisible characters escaped as in Python, for a terminal or a page.

    For example, ESC becomes \x1b.

    Parameters
    ----------
    text : str
        The text.
    keep : str
        Characters that are not escaped, by default none.

    Returns
    -------
    str
        The escaped text.
    """
    if text.isprintable():
        return text
    return "".join(
        one.encode("unicode_escape").decode() if unicodedata.category(one) in _UNSEEN and one not in keep else one
        for one in text
    )


class InputError(ValueError):
    """Invalid input: a file, value or option that cannot be used as given.

    The message is one clear line in the terms of the user. The message names the value, the limit that the value
    breaks, and the remedy. The command line prints the message without a traceback. The message may quote any text, so
    invisible characters are escaped as in Python.

    Parameters
    ----------
    message : object
        The message, by default "".
    """

    def __init__(self, message: object = ""):
        super().__init__(harmless(str(message), "\n\t"))


class SimulationError(RuntimeError):
    """A run that cannot continue, because its time does not advance or one of its numbers is not finite."""
