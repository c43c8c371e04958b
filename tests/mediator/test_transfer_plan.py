"""Test layouts, transfer plans, and the data left of an object when agents fail."""

from functools import partial

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.mediator import Agents, StripeLayout, TransferPlan


@st.composite
def layouts(draw, parity=True):
    group = draw(st.integers(1, 5)) if parity else None
    data = draw(st.integers(1, 12))
    count = data if group is None else data + -(-data // group)
    agents = tuple(draw(st.permutations(range(count + 4)))[:count])
    return StripeLayout.over(draw(st.integers(1, 700)), draw(st.sampled_from([1, 4, 16])), agents, group)


def content(layout, seed=0):
    return np.random.default_rng(seed).integers(0, 256, layout.size, np.uint8).tobytes()


def plans(layout, rate=100.0):
    return (TransferPlan(layout, "client", rate, write, start=2.0) for write in (True, False))


@given(st.one_of(layouts(), layouts(parity=False)))
def test_every_byte_is_read_once_and_check_data_is_separate(layout):
    blocks = layout.blocks()
    data = blocks.where(~blocks.parity)
    count = np.zeros(layout.size, int)
    for begin, length in zip(data.position, data.length, strict=True):
        count[begin : begin + length] += 1
    assert np.all(count == 1)
    # an agent has at most one block of a stripe, so that parity is never with the data it protects
    held = list(zip(blocks.stripe.tolist(), blocks.agent.tolist(), strict=True))
    assert len(set(held)) == len(held)
    # parity rotates within its group
    for number, group in enumerate(layout.groups):
        mine = blocks.parity & (blocks.group == number)
        share = np.array([np.sum(mine & (blocks.agent == agent)) for agent in group])
        assert np.ptp(share) <= 1 or not layout.parity
        assert np.all(np.isin(blocks.agent[blocks.group == number], group))
    # no two blocks of an agent overlap
    for agent in layout.agents:
        mine = blocks.agent == agent
        end = blocks.offset[mine] + blocks.length[mine]
        assert np.all(end[:-1] <= blocks.offset[mine][1:])
    assert np.all(blocks.length > 0)


@given(layouts(), st.data())
@settings(max_examples=80)
def test_an_agent_of_each_group_may_fail_at_any_time_of_a_read(layout, data):
    write, read = plans(layout)
    store, object_ = Agents(), content(layout)
    store.store(write, object_)
    assert store.retrieve(read) == object_
    failed = [data.draw(st.sampled_from(group)) for group in layout.groups if data.draw(st.booleans())]
    time = st.one_of(st.just(-np.inf), st.floats(read.start - 1, read.end + 1), st.sampled_from(read.transfers.disk_by))
    at = [float(data.draw(time)) for _ in failed]
    plan = read.degraded(failed, at) if failed else read
    assert store.retrieve(plan) == object_
    # a plan never requests more from a failed agent than it had ready, and reads nothing twice
    blocks = plan.transfers.blocks
    assert len(set(zip(blocks.stripe.tolist(), blocks.agent.tolist(), strict=True))) == blocks.count
    assert blocks.count <= read.transfers.count
    assert np.all(plan.transfers.sent_by <= plan.start + (blocks.stripe + 3) * plan.period + 1e-9)
    # only the stripe at the disks at the time of a failure is later than planned
    late = plan.transfers.disk > plan.start + blocks.stripe * plan.period + 1e-9
    assert {tuple(pair) for pair in np.column_stack([blocks.group, blocks.stripe])[late].tolist()} <= {
        (layout.group_of(agent), int((time - plan.start) / plan.period))
        for agent, time in zip(failed, at, strict=True)
        if np.isfinite(time)
    }


@given(layouts(), st.data())
@settings(max_examples=80)
def test_an_agent_of_each_group_may_fail_at_any_time_of_a_write(layout, data):
    write, read = plans(layout)
    failed = [data.draw(st.sampled_from(group)) for group in layout.groups]
    at = [data.draw(st.floats(write.start - 1, write.end + 1)) for _ in failed]
    store, object_ = Agents(), content(layout)
    degraded = write.degraded(failed, at)
    store.store(degraded, object_)
    assert not set(failed) & set(store.parts)
    assert store.retrieve(read.degraded(failed)) == object_
    gone = set(zip(*(column.tolist() for column in lost_of(write, degraded)), strict=True))
    expected = {
        (stripe, agent)
        for stripe, agent, by in zip(
            write.transfers.blocks.stripe.tolist(),
            write.transfers.blocks.agent.tolist(),
            write.transfers.disk_by,
            strict=True,
        )
        if agent in failed and by > at[failed.index(agent)]
    }
    assert gone == expected


def lost_of(full, part):
    kept = set(zip(part.transfers.blocks.stripe.tolist(), part.transfers.blocks.agent.tolist(), strict=True))
    blocks = full.transfers.blocks
    gone = [pair not in kept for pair in zip(blocks.stripe.tolist(), blocks.agent.tolist(), strict=True)]
    return blocks.stripe[gone], blocks.agent[gone]


@given(layouts(), st.data())
def test_a_lost_agent_is_rebuilt_on_a_spare(oracle, layout, data):
    write, read = plans(layout)
    failed = data.draw(st.sampled_from(layout.agents))
    cluster = oracle.cluster_of(max(layout.agents) + 2)
    store, object_ = Agents(), content(layout)
    store.store(write, object_)
    before = bytes(store.parts.get(failed, b""))
    store.lose(failed)
    if not before:
        # the object is short, and the failed agent held no block of it
        assert_refused(partial(read.rebuild, failed, max(layout.agents) + 1, cluster), "this agent holds no block")
        return
    work = read.rebuild(failed, max(layout.agents) + 1, cluster, share=0.5)
    store.rebuild(work)
    assert bytes(store.parts[work.spare]) == before
    assert store.retrieve(TransferPlan(work.layout, "client", 1.0, False)) == object_
    slowest = max(
        float(cluster.disks[agent].mean(transfers.blocks.length[transfers.blocks.agent == agent]).sum())
        for transfers in (work.reads, work.writes)
        for agent in set(transfers.blocks.agent.tolist())
    )
    assert work.seconds == pytest.approx(2 * slowest)
    # a block is written after the last block of its group has arrived
    for stripe, when in zip(work.writes.blocks.stripe, work.writes.disk, strict=True):
        assert when == pytest.approx(work.reads.sent_by[work.reads.blocks.stripe == stripe].max())


@given(layouts(), st.data())
def test_two_failures_in_a_group_raise(layout, data):
    number = data.draw(st.integers(0, len(layout.groups) - 1))
    first, second = data.draw(st.permutations(layout.groups[number]))[:2]
    for plan in plans(layout):
        message = f"agents {first} and {second} fail: both are in group {number} .agents "
        assert_refused(partial(plan.degraded, [first, second], [3.0, 9.0]), message)
        assert_refused(partial(plan.degraded(first).degraded, second), "both are in group")


def test_a_plan_worked_by_hand():
    """Plan 30 bytes at 20 bytes/s in blocks of 4, with 3 data blocks and a parity block on agents 5, 6, 7 and 9.

    A stripe is 12 bytes, 0.6 s.

    stripe    5        6        7        9
       0    0 to 4   4 to 8   8 to 12  parity
       1   16 to 20 20 to 24  parity  12 to 16
       2    empty   parity  24 to 28 28 to 30
    """
    layout = StripeLayout.over(30, 4, (5, 6, 7, 9), 3)
    read = TransferPlan(layout, "client", 20.0, False, start=1.0)
    write = TransferPlan(layout, "client", 20.0, True, start=1.0)
    expected = [(0, 5, 0), (0, 6, 4), (0, 7, 8), (1, 5, 16), (1, 6, 20), (1, 9, 12), (2, 7, 24), (2, 9, 28)]
    blocks = read.transfers.blocks
    assert list(zip(blocks.stripe.tolist(), blocks.agent.tolist(), blocks.position.tolist(), strict=True)) == expected
    np.testing.assert_allclose(read.transfers.disk, [1, 1, 1, 1.6, 1.6, 1.6, 2.2, 2.2])
    np.testing.assert_allclose(read.transfers.sent_by, [2.2, 2.2, 2.2, 2.8, 2.8, 2.8, 3.4, 3.4])
    assert read.end == pytest.approx(3.4)
    of_write = write.transfers
    parity = of_write.blocks.parity
    assert of_write.blocks.agent[parity].tolist() == [9, 7, 6]
    assert of_write.blocks.length[parity].tolist() == [4, 4, 4]
    assert of_write.blocks.check[parity].tolist() == [12, 12, 6]
    np.testing.assert_allclose(of_write.sent[parity], [1, 1.6, 2.2])
    np.testing.assert_allclose(of_write.disk_by[parity], [2.2, 2.8, 3.4])
    # Agent 6 fails at 1.8 s: stripe 0 has been sent, stripe 1 is at the disks, and of stripe 2 the agent has parity
    # only.
    late = read.degraded(6, 1.8).transfers
    assert list(zip(late.blocks.stripe.tolist(), late.blocks.agent.tolist(), strict=True))[3:] == [
        (1, 5), (1, 7), (1, 9), (2, 7), (2, 9)
    ]  # fmt: skip
    np.testing.assert_allclose(late.disk[3:6], [1.6, 1.8, 1.6])
    np.testing.assert_allclose(late.sent[3:6], [2.2, 2.4, 2.2])
    assert "agent 6 fails at 1.8 s" in str(read.degraded(6, 1.8))
    assert read.transfers.to_frame().shape == (8, 11)


def test_a_failure_without_parity_raises():
    read = TransferPlan(StripeLayout.over(100, 4, (0, 1, 2)), "client", 1.0, False)
    assert_refused(lambda: read.degraded(1, 3.0), r"agent 1 fails: the object on agents .* has no parity")
    assert read.degraded(7) == read


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StripeLayout(0, 4, ((0,),)), "size 0: give a whole number"),
        (lambda: StripeLayout(9, 4, ((0, 0),)), "agents .0, 0.: give each agent once"),
        (lambda: StripeLayout(9, 4, ((0, -1),)), "agent -1: give a whole number, between 0 and"),
        (lambda: StripeLayout(9, 4, ((0, 1.5),)), "agent 1.5: give a whole number"),
        (lambda: StripeLayout(9, 4, ((0, np.nan),)), "agent nan: give a whole number"),
        (lambda: StripeLayout(9, 4, ((0,),), True), "each group needs at least 2 agents"),
        (lambda: StripeLayout(9, 4, ()), "groups ..: no agents; give at least one agent"),
        (StripeLayout(10**12, 4096, ((0, 1),)).blocks, "244140626 blocks: at most 10000000 .* give a larger unit"),
        (
            lambda: StripeLayout.over(9, 4, (0, 1, 2, 3, 4, 5), 4),
            "agents 6: stripes with one parity block for every 4 data blocks do not fit",
        ),
    ],
)
def test_impossible_layouts_raise(make, message):
    assert_refused(make, message)


@pytest.mark.parametrize("rate", [0, -1.0, np.nan, np.inf])
def test_a_plan_needs_a_rate(rate):
    layout = StripeLayout(9, 4, ((0,),))
    message = f"rate {rate:g} bytes/s: it must be above 0 and finite"
    assert_refused(lambda: TransferPlan(layout, "client", rate, False), message)


def test_times_of_failures():
    read = TransferPlan(StripeLayout.over(300, 4, (0, 1, 2, 3), 1), "client", 20.0, False)
    for at in ([1, 2, 3], []):
        message = f"{len(at)} times for 2 agents; give one time, or one for each agent"
        assert_refused(partial(read.degraded, [0, 2], at), message)
    assert_refused(lambda: read.degraded(0, np.nan), "at nan s: it must be a number of seconds; omit it")
    assert read.degraded([0, 2], 1).failures == ((0, 1.0), (2, 1.0))
    # the earlier time counts, in either order
    for plan in (
        read.degraded(0, 5.0).degraded(0, 1.0),
        read.degraded(0, 1.0).degraded(0, 5.0),
        read.degraded([0, 0], [5, 1]),
    ):
        assert plan == read.degraded(0, 1.0)


def test_stores_reject_plans_of_other_kinds(oracle):
    layout = StripeLayout.over(30, 4, (0, 1, 2), 2)
    write, read = plans(layout)
    store = Agents()
    assert_refused(lambda: store.store(read, bytes(30)), "the plan is for a read")
    assert_refused(lambda: store.store(write, bytes(3)), "data of 3 bytes")
    assert_refused(lambda: store.retrieve(write), "the plan is for a write")
    assert_refused(lambda: store.retrieve(read), "agent 0: this agent has 0 bytes")
    cluster = oracle.cluster_of(4)
    for arguments, message in [
        ((0, 3, cluster, 0.0), "share 0"),
        ((3, 3, cluster), "agent 3: this agent holds no part"),
        ((0, 1, cluster), "spare agent 1: this agent already has blocks"),
        ((0, 4, cluster), "agent 4: the cluster has agents 0 to 3"),
    ]:
        assert_refused(partial(read.rebuild, *arguments), message)
