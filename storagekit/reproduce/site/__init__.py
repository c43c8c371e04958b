"""The book: one static site of what the runs in a folder found, with the documents and the reference.

Sphinx makes it (`conf.py`), with MyST for notebooks and Markdown, of sources that are written into a folder beside the
results and are gone when it is there.

==================  ==========================================================
site                when it is made, and how it comes into its place
chapter             a paper's page
pages               start, scorecard, gallery
reference           a page for each room
boards              what the lab exports into it
growing             the page of a run that is at work
mathml, docstrings  equations; docstrings, for Sphinx
==================  ==========================================================
"""

from storagekit.reproduce.site.site import Site as Site
from storagekit.reproduce.site.site import SiteError as SiteError
