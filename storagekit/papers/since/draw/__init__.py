"""Charts of the exhibits of later protocols."""

from storagekit.papers.since.draw.codes import codes as codes
from storagekit.papers.since.draw.declustering import declustering as declustering
from storagekit.papers.since.draw.selection import floors as floors
from storagekit.papers.since.draw.selection import mean_fields as mean_fields
from storagekit.papers.since.draw.selection import tails as tails
from storagekit.papers.since.draw.sharing import bricks as bricks
from storagekit.papers.since.draw.sharing import shares as shares
from storagekit.papers.since.draw.sharing import tenants as tenants
