"""Show equations as MathML in Sphinx."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from storagekit.reproduce.equations import mathml


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx. It makes `html_math_renderer = "mathml"` available."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(page: HTML5Translator, node: nodes.math) -> None:
    page.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _block(page: HTML5Translator, node: nodes.math_block) -> None:
    page.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode
