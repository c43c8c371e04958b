"""The charts of the DSFQ paper, each in the file that bears its data's name."""

from storagekit.papers.dsfq.draw.what_if import what_if as what_if
