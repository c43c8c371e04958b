"""Convert equations to MathML when a page is made, so that the browser shows them without a script."""

from html import escape

from latex2mathml.converter import convert


def mathml(latex: str, display: str = "inline") -> str:
    """Return an equation in LaTeX as a MathML element on one line.

    Text that is not LaTeX is returned unchanged, as code.

    Parameters
    ----------
    latex : str
        The equation.
    display : str
        "inline" (the default), or "block" for an equation in a separate paragraph.
    """
    try:
        return " ".join(convert(latex, display=display).split("\n"))
    except Exception:  # the converter raises many types: IndexError, KeyError, and its own errors
        return f"<code>{escape(latex)}</code>"
