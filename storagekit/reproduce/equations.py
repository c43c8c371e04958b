"""Equations as MathML: written when a page is made, shown by the browser alone, without a script."""

from latex2mathml.converter import convert


def mathml(latex: str, display: str = "inline") -> str:
    """An equation in LaTeX as a MathML element on one line. display: "inline", or "block" for one that stands alone."""
    return " ".join(convert(latex, display=display).split("\n"))
