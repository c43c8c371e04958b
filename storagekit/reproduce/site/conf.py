"""Configuration of Sphinx, which builds the site from the sources that `storagekit.reproduce.site` writes.

Neither Sphinx nor its pages use a network.
"""

from importlib.metadata import version as installed
from pathlib import Path

project = "storagekit"
author = "The storagekit authors"
release = version = installed("storagekit")
html_title = "storagekit"
copyright = author

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "storagekit.reproduce.site.mathml",
    "storagekit.reproduce.site.docstrings",
    "storagekit.reproduce.site.reference",
]

html_theme = "furo"
html_static_path = [str(Path(__file__).with_name("static"))]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = html_show_sphinx = False
html_math_renderer = "mathml"
html_domain_indices = False
# The tree of all pages would take 10 KB in each of 300 pages of source code.
html_sidebars = {"_modules/**": ["sidebar/brand.html", "sidebar/search.html"]}

# The notebooks have already been run.
nb_execution_mode = "off"
nb_code_prompt_show = nb_code_prompt_hide = "Code"
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

# `name` in a docstring is code.
default_role = "code"
add_module_names = False
# A package's page lists its names. In the sidebar of every page they would take a thousand lines.
toc_object_entries = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
# Docstrings describe the arguments with their units. The types of arrays would fill lines.
autodoc_typehints = "none"
# A type in a docstring is a description, "array of float, seconds", and no reference.
suppress_warnings = ["ref.python"]
