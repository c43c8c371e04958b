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
# Tenants of a server, by number.
TENANTS = [f"tenant {number}" for number in range(1, 6)]
BRICK_STREAMS = {"first": "weight 1, at least 500", "second": "weight 2", "third": "weight 3, at most 600"}
BRICKS = ClaimTable("since.bricks.{stream}[{access}]", stream=BRICK_STREAMS, access=("uniform", "skewed"))
# Accesses of a request after a loss, by the size of the groups.
ACCESSES = ClaimTable("since.declustering.accesses[{group}]", group=(4, 10, 20))
CODES = ClaimTable(
    "since.codes.{code}[{quantity}]",
    code={"azure": "12-2-2", "small": "6-2-2"},
    quantity={"tolerated": "tolerated", "mean_reads": "reads"},
)
