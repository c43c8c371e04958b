"""Swift's storage mediator: it reserves storage agents and network for a session, or refuses the session.

A client requests a data-rate (`Request`). A `Mediator` chooses agents and striping unit according to its `Policy`, and
reserves them in the `Reservations` of a `Cluster`. It returns a `TransferPlan`, which the client's distribution agent follows
without the mediator. Sections 2 and 6.1 of swift announce a mediator, but swift does not implement it. The admission
test is not from swift; it was developed for this package (see `admission`).

    reservations = Reservations(Cluster((Disk(16 * MS, 8.3 * MS, 2.5e6),) * 32, Host(), Host(), Network(125e6)))
    answer = Mediator(reservations).request(Request("camera", rate=1.2e6, size=72_000_000, group=4))
"""

from storagekit.mediator.cluster import Cluster as Cluster
from storagekit.mediator.filling import Balanced as Balanced
from storagekit.mediator.filling import FilledCluster as FilledCluster
from storagekit.mediator.filling import balanced as balanced
from storagekit.mediator.filling import fill as fill
from storagekit.mediator.load import Interval as Interval
from storagekit.mediator.load import LoadResult as LoadResult
from storagekit.mediator.load import SessionClass as SessionClass
from storagekit.mediator.load import variable_load as variable_load
from storagekit.mediator.mediator import UNITS as UNITS
from storagekit.mediator.mediator import Mediator as Mediator
from storagekit.mediator.policy import Economical as Economical
from storagekit.mediator.policy import FirstFit as FirstFit
from storagekit.mediator.policy import Policy as Policy
from storagekit.mediator.policy import SmallUnits as SmallUnits
from storagekit.mediator.policy import Widest as Widest
from storagekit.mediator.redundancy import RedundancyCost as RedundancyCost
from storagekit.mediator.redundancy import redundancy_cost as redundancy_cost
from storagekit.mediator.request import Admitted as Admitted
from storagekit.mediator.request import Proposal as Proposal
from storagekit.mediator.request import Rejected as Rejected
from storagekit.mediator.request import Request as Request
from storagekit.mediator.request import Utilization as Utilization
from storagekit.mediator.reservations import Reservations as Reservations
from storagekit.mediator.simulation import SimulatedTransfers as SimulatedTransfers
from storagekit.mediator.simulation import simulate as simulate
from storagekit.mediator.store import Agents as Agents
from storagekit.mediator.stripe_layout import Blocks as Blocks
from storagekit.mediator.stripe_layout import StripeLayout as StripeLayout
from storagekit.mediator.stripe_shapes import StripeShapes as StripeShapes
from storagekit.mediator.transfer_plan import Rebuild as Rebuild
from storagekit.mediator.transfer_plan import TransferPlan as TransferPlan
from storagekit.mediator.transfer_plan import Transfers as Transfers
