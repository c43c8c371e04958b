"""Identifiers of the claims, and names of the policies. Both the findings and the charts use them."""

from storagekit.papers.claim_table import ClaimTable

FLOORS = ClaimTable("since.floors.servers_{servers}[{load}]", servers=(4, 10), load=(0.7, 0.9))
FIELDS = ClaimTable(
    "since.mean_fields.{policy}[{load}]",
    policy={"two_choices": "two choices", "memory": "memory", "tied": "tied"},
    load=(0.5, 0.7),
)
# Policies from later papers than the five.
LATER = ("Two choices", "Memory", "Idle queues", "Hedged", "Tied", "C3 ranking")
STREAMS = {"rd": "weight 1, at least 250", "oltp": "weight 2, at least 250", "dm": "weight 3, at most 1,000"}
SHARES = ClaimTable("since.shares.{stream}[{capacity}]", stream=STREAMS, capacity=(875, 1200, 1800, 3000))
CODES = ClaimTable(
    "since.codes.{code}[{quantity}]",
    code={"azure": "12-2-2", "small": "6-2-2"},
    quantity={"tolerated": "tolerated", "mean_reads": "reads"},
)
