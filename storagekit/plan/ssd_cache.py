"""A cache of SSDs in front of the disks."""

from dataclasses import dataclass
from typing import Annotated, Any

from storagekit.core.validation import Count, Share, Size, instance_of, require, validate, validate_fields
from storagekit.drive.ssd import SSD


@dataclass(frozen=True)
class SSDCache:
    """A cache of SSDs in front of the disks.

    The cache serves its share of the reads. The other reads go to the disks, and their data is then written to the cache.
    Writes go to the disks and to the cache.

    Parameters
    ----------
    ssd : SSD
        The SSD.
    drives : int
        Number of SSDs, by default 2.
    hits : float, optional
        Share of the reads that the cache serves, 0 to 1. By default it is the size of the cache divided by the size of the
        data, because requests have random addresses.
    write_back : bool
        Whether a write completes in the cache, on two SSDs, and reaches the disks afterwards. By default it completes on
        the disks.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> from storagekit.drive import load_ssd
    >>> ssd = load_ssd("iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB")
    >>> SSDCache(ssd, 2).hit_share(30.72e12)
    0.25
    """

    ssd: Annotated[SSD, instance_of(SSD, "one as load_ssd(file)")]
    drives: Count = 2
    hits: Share | None = None
    write_back: bool = False

    def __post_init__(self):
        validate_fields(self)
        enough = self.drives >= 2 or not self.write_back
        require(enough, "drives", self.drives, "at least 2 for write_back, which writes two copies")

    @property
    def copies(self) -> int:
        """Return the number of SSDs to which a write goes."""
        return 2 if self.write_back else 1

    def to_dict(self) -> dict[str, Any]:
        """Return the cache as a dictionary for JSON."""
        return {"ssd": self.ssd.name, "drives": self.drives, "hits": self.hits, "write_back": self.write_back}

    @validate
    def hit_share(self, data: Size) -> float:
        """Return the share of the reads that are hits.

        Parameters
        ----------
        data : float
            Size of the data in bytes.

        Returns
        -------
        float
            The share, 0 to 1.

        Raises
        ------
        InputError
            If the size is out of range.
        """
        return min(1.0, self.drives * self.ssd.size / data) if self.hits is None else self.hits
