"""Equal sessions, spread evenly, are as numerous as sessions reserved one by one."""

import numpy as np
import pytest

from storagekit.analytic.forkjoin import Disk, Host, Network
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MB, MS
from storagekit.mediator import Admitted, Cluster, Mediator, Request, Reservations, StripeLayout, balanced, fill

DISK = Disk(8 * MS, 4 * MS, 20e6)
NETWORKS = [Network(1e15, switched=True), Network(6e6, switched=True), Network(125e6), Network(5e6, rings=2)]


def count_reserved(cluster: Cluster, request: Request, agents: int, unit: int, group: int | None) -> int:
    """Return the number of sessions that fit when agents are used in rotation.

    The first session is on agents 0 to k-1, and each next one on the agents that follow.
    """
    reservations, taken = Reservations(cluster), 0
    mediator = Mediator(reservations)
    while True:
        chosen = sorted((taken * agents + number) % cluster.agents for number in range(agents))
        layout = StripeLayout.over(request.size, unit, tuple(chosen), group)
        wanted = Request(f"client {taken}", request.rate, request.size, request.write, request.buffer, layout=layout)
        if not isinstance(mediator.request(wanted), Admitted):
            return taken
        taken += 1


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("group", [None, 2])
def test_sessions_equal_those_reserved_one_by_one_in_rotation(network, group):
    cluster = Cluster((DISK,) * 6, Host(), Host(), network)
    request = Request("client", 0.4e6, 24_000_000, group=group)
    found = balanced(cluster, request, [64 * KB, 256 * KB])
    assert 0 < found.sessions.max() < 200
    for shape in range(0, found.shapes.count, 2):
        agents, unit = int(found.shapes.agents[shape]), int(found.shapes.unit[shape])
        assert count_reserved(cluster, request, agents, unit, group) == found.sessions[shape]


def test_the_binding_resource_exceeds_its_limit_and_disks_have_time_left():
    cluster = Cluster((DISK,) * 8, Host(1e12), Host(1e12), Network(1e12, switched=True))
    found = balanced(cluster, Request("client", 0.5e6, 30_000_000))
    assert (np.maximum(found.disk, found.network) > 1).all() and (found.network < 1).all()
    assert ((found.busy >= 0) & (found.busy < 1)).all() and found.busy.max() > 0.5
    narrow = balanced(
        Cluster((DISK,) * 8, Host(1e12), Host(1e12), Network(0.6e6, switched=True)),
        Request("client", 0.5e6, 30_000_000),
    )
    best = narrow.best()
    assert narrow.network[best] > 1 > narrow.disk[best] and narrow.sessions[best] < found.sessions[found.best()]


def test_wider_stripes_serve_more_sessions_until_positioning_costs_more():
    """A longer period evens out random times. When the buffer is full, blocks grow no more and this gain ends."""
    cluster = Cluster((DISK,) * 8, Host(10e9), Host(10e9), Network(3.125e9, switched=True))
    request = Request("client", 1e6, 60_000_000)
    found = balanced(cluster, request)
    of_a_megabyte = found.sessions[found.shapes.unit == MB]
    assert np.all(np.diff(of_a_megabyte) >= 0) and of_a_megabyte[0] < of_a_megabyte[-1] == found.sessions[found.best()]
    # the buffer holds four megabytes of a stripe: eight agents get 512 KB each
    widest = found.best((found.shapes.agents == 8) & (found.shapes.unit > 256 * KB))
    assert found.shapes.unit[widest] == 512 * KB and found.sessions[widest] < of_a_megabyte[-1]
    # the number under a mediator that takes the fewest agents lies between the two
    assert of_a_megabyte[0] <= fill(cluster, request).sessions <= of_a_megabyte[-1]


def test_without_a_shape_the_error_names_the_remedy():
    with pytest.raises(InputError, match="buffer 1024 bytes"):
        balanced(Cluster((DISK,), Host(), Host(), NETWORKS[0]), Request("client", 1e6, MB, buffer=KB))
    found = balanced(Cluster((DISK,), Host(), Host(), NETWORKS[0]), Request("client", 1e6, MB))
    with pytest.raises(InputError, match="no stripe shapes to select from"):
        found.best(found.sessions < 0)
