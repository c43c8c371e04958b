"""Swift's storage mediator: it reserves what a session needs at storage agents and network, or refuses.

A client asks for a data-rate (`Request`); a `Mediator` chooses agents and striping unit by its `Policy`, reserves them in the
`Ledger` of a `Cluster`, and hands out a `TransferPlan`, which the client's distribution agent follows on its own. Announced
in swift, sections 2 and 6.1, and not built there: how a session is tested is this package's own (see `examine`).

    ledger = Ledger(Cluster((Disk(16 * MS, 8.3 * MS, 2.5e6),) * 32, Host(), Host(), Network(125e6)))
    answer = Mediator(ledger).request(Request("camera", rate=1.2e6, size=72_000_000, group=4))
"""

from storagekit.plan.mediator.answer import Admitted as Admitted
from storagekit.plan.mediator.answer import Proposal as Proposal
from storagekit.plan.mediator.answer import Refused as Refused
from storagekit.plan.mediator.answer import Utilization as Utilization
from storagekit.plan.mediator.cluster import Cluster as Cluster
from storagekit.plan.mediator.filling import Filled as Filled
from storagekit.plan.mediator.filling import fill as fill
from storagekit.plan.mediator.layout import Blocks as Blocks
from storagekit.plan.mediator.layout import StripeLayout as StripeLayout
from storagekit.plan.mediator.ledger import Ledger as Ledger
from storagekit.plan.mediator.load import Interval as Interval
from storagekit.plan.mediator.load import LoadResult as LoadResult
from storagekit.plan.mediator.load import SessionClass as SessionClass
from storagekit.plan.mediator.load import variable_load as variable_load
from storagekit.plan.mediator.mediator import UNITS as UNITS
from storagekit.plan.mediator.mediator import Mediator as Mediator
from storagekit.plan.mediator.policy import Economical as Economical
from storagekit.plan.mediator.policy import FirstFit as FirstFit
from storagekit.plan.mediator.policy import Policy as Policy
from storagekit.plan.mediator.policy import Shapes as Shapes
from storagekit.plan.mediator.policy import SmallUnits as SmallUnits
from storagekit.plan.mediator.policy import Widest as Widest
from storagekit.plan.mediator.rebuilding import Rebuild as Rebuild
from storagekit.plan.mediator.redundancy import RedundancyCost as RedundancyCost
from storagekit.plan.mediator.redundancy import check_seconds as check_seconds
from storagekit.plan.mediator.redundancy import extra_write_bytes as extra_write_bytes
from storagekit.plan.mediator.redundancy import guaranteed_rate as guaranteed_rate
from storagekit.plan.mediator.redundancy import rate_with_agent_down as rate_with_agent_down
from storagekit.plan.mediator.redundancy import redundancy_cost as redundancy_cost
from storagekit.plan.mediator.redundancy import storage_overhead as storage_overhead
from storagekit.plan.mediator.rehearsal import Rehearsal as Rehearsal
from storagekit.plan.mediator.rehearsal import rehearse as rehearse
from storagekit.plan.mediator.request import Request as Request
from storagekit.plan.mediator.store import Agents as Agents
from storagekit.plan.mediator.transfer_plan import TransferPlan as TransferPlan
from storagekit.plan.mediator.transfers import Transfers as Transfers
