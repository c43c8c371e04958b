"""Equations as MathML: written when a page is made, shown by the browser alone, without a script."""

from html import escape

from latex2mathml.converter import convert


def mathml(latex: str, display: str = "inline") -> str:
    """An equation in LaTeX as a MathML element on one line. display: "inline", or "block" for one that stands alone.

    What is no LaTeX stays as it is written, as code.
    """
    try:
        return " ".join(convert(latex, display=display).split("\n"))
    except Exception:  # the converter raises what it meets: IndexError, KeyError, errors of its own
        return f"<code>{escape(latex)}</code>"
