"""Sessions alike, spread evenly: as many as a ledger takes one by one."""

import numpy as np
import pytest

from storagekit.analytic.forkjoin import Disk, Host, Network
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MB, MS
from storagekit.mediator import Admitted, Cluster, Ledger, Mediator, Request, StripeLayout, evenly, fill

DISK = Disk(8 * MS, 4 * MS, 20e6)
NETWORKS = [Network(1e15, switched=True), Network(6e6, switched=True), Network(125e6), Network(5e6, rings=2)]


def counted(cluster: Cluster, request: Request, agents: int, unit: int, group: int | None) -> int:
    """How many a ledger takes whose agents go round: the first on agents 0 to k-1, the next on those that follow."""
    ledger, taken = Ledger(cluster), 0
    mediator = Mediator(ledger)
    while True:
        chosen = sorted((taken * agents + number) % cluster.agents for number in range(agents))
        layout = StripeLayout.over(request.size, unit, tuple(chosen), group)
        asked = Request(f"client {taken}", request.rate, request.size, request.write, request.buffer, layout=layout)
        if not isinstance(mediator.request(asked), Admitted):
            return taken
        taken += 1


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("group", [None, 2])
def test_as_many_as_a_ledger_takes_whose_agents_go_round(network, group):
    cluster = Cluster((DISK,) * 6, Host(), Host(), network)
    request = Request("client", 0.4e6, 24_000_000, group=group)
    found = evenly(cluster, request, [64 * KB, 256 * KB])
    assert 0 < found.sessions.max() < 200
    for shape in range(0, found.shapes.count, 2):
        agents, unit = int(found.shapes.agents[shape]), int(found.shapes.unit[shape])
        assert counted(cluster, request, agents, unit, group) == found.sessions[shape]


def test_what_binds_is_above_its_limit_and_disks_have_time_left():
    cluster = Cluster((DISK,) * 8, Host(1e12), Host(1e12), Network(1e12, switched=True))
    found = evenly(cluster, Request("client", 0.5e6, 30_000_000))
    assert (np.maximum(found.disk, found.network) > 1).all() and (found.network < 1).all()
    assert ((found.busy >= 0) & (found.busy < 1)).all() and found.busy.max() > 0.5
    narrow = evenly(
        Cluster((DISK,) * 8, Host(1e12), Host(1e12), Network(0.6e6, switched=True)),
        Request("client", 0.5e6, 30_000_000),
    )
    best = narrow.best()
    assert narrow.network[best] > 1 > narrow.disk[best] and narrow.sessions[best] < found.sessions[found.best()]


def test_wider_stripes_promise_more_than_the_fewest_agents_until_positioning_eats_it():
    """A longer period lets chance even out; blocks that grow no more once the buffer is full do not."""
    cluster = Cluster((DISK,) * 8, Host(10e9), Host(10e9), Network(3.125e9, switched=True))
    request = Request("client", 1e6, 60_000_000)
    found = evenly(cluster, request)
    of_a_megabyte = found.sessions[found.shapes.unit == MB]
    assert np.all(np.diff(of_a_megabyte) >= 0) and of_a_megabyte[0] < of_a_megabyte[-1] == found.sessions[found.best()]
    # the buffer holds four megabytes of a stripe: eight agents get 512 KB each
    widest = found.best((found.shapes.agents == 8) & (found.shapes.unit > 256 * KB))
    assert found.shapes.unit[widest] == 512 * KB and found.sessions[widest] < of_a_megabyte[-1]
    # a mediator that takes the fewest agents that fit is between
    assert of_a_megabyte[0] <= fill(cluster, request).sessions <= of_a_megabyte[-1]


def test_without_a_shape_it_says_what_to_give():
    with pytest.raises(InputError, match="buffer 1024 bytes"):
        evenly(Cluster((DISK,), Host(), Host(), NETWORKS[0]), Request("client", 1e6, MB, buffer=KB))
    found = evenly(Cluster((DISK,), Host(), Host(), NETWORKS[0]), Request("client", 1e6, MB))
    with pytest.raises(InputError, match="none to choose from"):
        found.best(found.sessions < 0)
