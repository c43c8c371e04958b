"""The site: static pages of the results in a folder, with the documents and the reference.

Sphinx builds the site (`conf.py`), with MyST for notebooks and Markdown. The sources of the site are written into a
private folder in the results, which is removed when the site is complete.

==================  ==========================================================
site                build the site and move it to its final location
chapter             a paper's page
pages               start, scorecard, gallery
reference           a page for each package
lab_pages           the lab's pages in the site
growing             the page of an unfinished run
mathml, docstrings  equations; docstrings, for Sphinx
==================  ==========================================================
"""

from storagekit.reproduce.site.site import Site as Site
from storagekit.reproduce.site.site import SiteError as SiteError
