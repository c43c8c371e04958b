"""Reproduction runs: notebooks, exhibits as files, and the scorecard.

==========================  ==========================================================
page.Page                   show an exhibit and state measurements in a notebook
runner.reproduce            run notebooks, then write the scorecard
claims.load_exhibits        read the claims of a paper
==========================  ==========================================================
"""

from typing import TYPE_CHECKING

from storagekit.core.lazy_loading import loader

if TYPE_CHECKING:
    from storagekit.reproduce import claims as claims
    from storagekit.reproduce import page as page
    from storagekit.reproduce import runner as runner
    from storagekit.reproduce import scorecard as scorecard

__getattr__, __dir__ = loader(__name__, ("claims", "page", "runner", "scorecard"))
