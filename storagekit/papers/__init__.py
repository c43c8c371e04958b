"""One package for each paper: data of the exhibits, findings on the paper's claims, and charts in `draw`."""

from typing import TYPE_CHECKING

from storagekit.core.lazy_loading import loader

if TYPE_CHECKING:
    from storagekit.papers import ars, dsfq, dsptf, since, srarray, swift

__all__ = ["ars", "dsfq", "dsptf", "since", "srarray", "swift"]

__getattr__, __dir__ = loader(__name__, __all__)
