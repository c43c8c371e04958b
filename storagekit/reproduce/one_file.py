"""An executed notebook as one file, to be sent on."""

from pathlib import Path

import nbformat
from jinja2 import DictLoader, pass_context
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from storagekit.reproduce.equations import mathml

# what the template would fetch (RequireJS, MathJax, Mermaid, widgets) is left out
_FOLDED = """
{%- extends 'lab/index.html.j2' -%}
{%- block input -%}
<details class="storagekit-code"><summary>Code</summary>
{{ super() }}
</details>
{%- endblock input -%}
{%- block html_head_js -%}{%- endblock html_head_js -%}
{%- block html_head_js_mathjax -%}{%- endblock html_head_js_mathjax -%}
{%- block html_head_js_mermaidjs -%}{%- endblock html_head_js_mermaidjs -%}
{%- block jupyter_widgets -%}{%- endblock jupyter_widgets -%}
{%- block data_svg scoped -%}
{%- set about = output.metadata.get('image/svg+xml', {}) -%}
<div class="jp-RenderedSVG jp-OutputArea-output {{ extra_class }}">
<img alt="{{ about.get('alt', '') | escape_html }}"
 src="data:image/svg+xml;base64,{{ output.data['image/svg+xml'] | text_base64 }}">
</div>
{%- endblock data_svg -%}
{%- block html_head_css -%}
{{ super() }}
<style>
.storagekit-code > summary { color: #777; cursor: pointer; font: 12px system-ui, sans-serif }
.jp-RenderedSVG img { max-width: 100%; height: auto }
body.jp-Notebook { max-width: 70rem; margin: 0 auto }
math { font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math", "DejaVu Math TeX Gyre", math }
</style>
{%- endblock html_head_css -%}
"""


class _Renderer(IPythonRenderer):
    def block_math(self, body: str) -> str:
        return mathml(body, "block")

    def inline_math(self, body: str) -> str:
        return mathml(body)


class _Exporter(HTMLExporter):
    @pass_context
    def markdown2html(self, context, source: str) -> str:
        return MarkdownWithMath(renderer=_Renderer(escape=False)).render(source)


def html(notebook: Path) -> str:
    """An executed notebook as one page that asks nothing of any network; its code is folded.

    What cells wrote to stderr, progress bars above all, stays in the notebook.
    """
    exporter = _Exporter(
        extra_loaders=[DictLoader({"storagekit.html.j2": _FOLDED})],
        template_file="storagekit.html.j2",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    page = nbformat.read(notebook, as_version=4)
    for cell in page.cells:
        if cell.cell_type == "code":
            cell["outputs"] = [out for out in cell["outputs"] if out.get("name") != "stderr"]
    name = notebook.stem.strip(".").removesuffix(".running")
    body, _ = exporter.from_notebook_node(page, resources={"metadata": {"name": name}})
    return body
