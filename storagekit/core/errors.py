"""The error a user of storagekit sees when what they gave is wrong."""

import unicodedata

__all__ = ["InputError"]

# kinds of characters that are not seen but do something: control codes and escapes, directions of writing, halves of
# characters (bytes of a file's name that are no UTF-8), ends of lines
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def harmless(text: str, keep: str = "") -> str:
    """`text` for a terminal or a page: what is not seen as Python writes it, ESC as \\x1b; not characters to `keep`."""
    if text.isprintable():
        return text
    return "".join(
        one.encode("unicode_escape").decode() if unicodedata.category(one) in _UNSEEN and one not in keep else one
        for one in text
    )


class InputError(ValueError):
    """Bad input: a file, value or option that cannot be used as given.

    The message is one clear line that names the value, the limit it breaks and the remedy, in
    the user's words. A command line prints it without a traceback. What it quotes may be anything: characters that are not
    seen are written as Python writes them.
    """

    def __init__(self, message: object = ""):
        super().__init__(harmless(str(message), "\n\t"))


class SimulationError(RuntimeError):
    """A run that could not go on: it stands still, or a number in it is not finite."""
