"""Several mediators over the same reservations, in any order: no overbooking, and a release leaves nothing behind."""

import sys
from copy import copy
from dataclasses import replace
from functools import partial
from threading import Thread

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MS
from storagekit.mediator import (
    Admitted,
    Cluster,
    Economical,
    FirstFit,
    Mediator,
    Proposal,
    Rejected,
    Request,
    Reservations,
    Widest,
)

CLUSTER = Cluster(
    (
        Disk(16 * MS, 8.3 * MS, 2.5e6),
        Disk(8 * MS, 4 * MS, 6e6),
        Disk(0.1 * MS, 0, 20e6),
        Disk(16 * MS, 8.3 * MS, 2.5e6),
    ),
    Host(),
    Host(20e6),
    Network(12e6, rings=2),
)

requests = st.builds(
    Request,
    st.sampled_from("ab"),
    st.sampled_from([1e5, 4e5, 1.3e6, 3e6]),
    st.integers(10**5, 10**7),
    st.booleans(),
    buffer=st.sampled_from([256 * KB, 2048 * KB]),
    group=st.sampled_from([None, 1, 3]),
)


def assert_same(one, other):
    """Check that the next request would get the same result from both, to the last bit."""
    for client in "abx":
        left, right = one.state(client), other.state(client)
        for name in vars(left):
            if name != "cluster":
                np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)
    left, right = one.utilization().to_dict(), other.utilization().to_dict()
    assert left == right


class Bookings(RuleBasedStateMachine):
    """Mediators that propose at one time and commit at another."""

    oracle = None
    proposals = Bundle("proposals")
    sessions = Bundle("sessions")

    def __init__(self):
        super().__init__()
        self.reservations = Reservations(CLUSTER)
        self.mediators = [Mediator(self.reservations, policy) for policy in (Economical(), Widest(), FirstFit())]

    @rule(target=proposals, which=st.integers(0, 2), wanted=requests)
    def propose(self, which, wanted):
        version = self.reservations.version
        answer = self.mediators[which].propose(wanted)
        assert self.reservations.version == version
        return answer if isinstance(answer, Proposal) else multiple()

    @rule(target=sessions, proposal=consumes(proposals))
    def commit(self, proposal):
        fits, version = self.reservations.violation(proposal) is None, self.reservations.version
        assert fits or version > proposal.version
        answer = self.reservations.commit(proposal)
        assert isinstance(answer, int) == fits
        if isinstance(answer, Binding):
            assert answer.value > answer.limit and self.reservations.version == version
            return multiple()
        return answer

    @rule(target=sessions, which=st.integers(0, 2), wanted=requests)
    def request(self, which, wanted):
        answer = self.mediators[which].request(wanted)
        return answer.session if isinstance(answer, Admitted) else multiple()

    @rule(session=consumes(sessions))
    def release(self, session):
        self.reservations.release(session)
        assert session not in self.reservations.sessions

    @invariant()
    def nothing_is_overbooked(self):
        assert self.oracle.highest_ratio(CLUSTER, self.oracle.sessions_of(self.reservations)) <= 1 + 1e-6
        assert self.reservations.utilization().most <= 1

    @invariant()
    def only_present_sessions_count(self):
        fresh = Reservations(CLUSTER)
        for proposal in self.reservations.sessions.values():
            assert isinstance(fresh.commit(proposal), int)
        assert_same(self.reservations, fresh)


def test_interleaved_mediators_never_overbook_and_releases_restore(oracle):
    machine = type("Interleaved", (Bookings,), {"oracle": oracle})
    run_state_machine_as_test(machine, settings=settings(max_examples=15, stateful_step_count=25, deadline=None))


def test_the_slower_of_two_mediators_tries_again():
    """Both find capacity for one session on the one disk; the second to commit receives the constraint."""
    reservations = Reservations(replace(CLUSTER, disks=CLUSTER.disks[:1]))
    first, second = Mediator(reservations), Mediator(reservations)
    wanted = Request("a", 1.5e6, 10**7)
    early, late = first.propose(wanted), second.propose(replace(wanted, client="b"))
    assert isinstance(early, Proposal) and isinstance(late, Proposal)
    session = reservations.commit(early)
    reason = reservations.commit(late)
    assert isinstance(reason, Binding) and "disk of agent 0" in reason.constraint
    assert isinstance(second.request(late.request), Rejected)
    reservations.release(session)
    assert isinstance(reservations.commit(late), int)
    with pytest.raises(InputError, match=f"session {session}: no such reservation"):
        reservations.release(session)


def test_mediators_in_threads_do_not_overbook(oracle):
    reservations = Reservations(CLUSTER)
    wanted = [Request(f"{n % 5}", 2e5, 10**6 + n) for n in range(200)]

    def work(part):
        mediator = Mediator(reservations, (Economical(), Widest())[part % 2])
        for one in wanted[part::4]:
            mediator.request(one)

    threads = [Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0.9 < oracle.highest_ratio(CLUSTER, oracle.sessions_of(reservations)) <= 1 + 1e-6
    fresh = Reservations(CLUSTER)
    for session in list(reservations.sessions):
        reservations.release(session)
    assert_same(reservations, fresh)


def test_reservations_that_released_everything_is_empty_even_if_its_sums_are_inexact():
    """Times of many days are not exact in multiples of 15 ps, but no rounding error of them remains after the releases."""
    slow = replace(CLUSTER, agent=Host(1.7), client=Host(2.3), network=Network(2.9))
    reservations = Reservations(slow)
    mediator = Mediator(reservations)
    admitted = [mediator.request(Request("ab"[n % 2], 1e-3 / (n + 3), 10**7 + n)) for n in range(9)]
    sessions = [one.session for one in admitted if isinstance(one, Admitted)]
    assert len(sessions) > 4 and reservations.state("a").reception > 2**17
    for session in sessions[1::2] + sessions[::2]:
        reservations.release(session)
        fresh = Reservations(slow)
        for proposal in reservations.sessions.values():
            assert isinstance(fresh.commit(proposal), int)
        assert_same(reservations, fresh)
    assert_same(reservations, Reservations(slow))


def interrupted(work, after: int) -> bool:
    """Return whether Ctrl-C ended `work` after this number of lines of the package; otherwise `work` has finished."""
    left = after

    def trace(frame, event, argument):
        nonlocal left
        if "storagekit" not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if not left:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


@pytest.mark.parametrize("change_kind", ["commit", "release", "commit to many"])
def test_interrupted_anywhere_the_reservations_equal_the_sessions(change_kind):
    """Interrupt at every line: the sums equal the sessions listed, and later requests get the same results."""
    mine = Request("a", 2e5, 10**6)
    others = [Request("ab"[n % 2], 1e4, 10**6 + n) for n in range(16 if change_kind == "commit to many" else 3)]
    base = Reservations(CLUSTER)
    mediator = Mediator(base, FirstFit())
    sessions = [mediator.request(one).session for one in others]
    proposal = mediator.propose(mine)

    def change(reservations):
        return reservations.release(sessions[1]) if change_kind == "release" else reservations.commit(proposal)

    def fresh_reservations(sessions) -> Reservations:
        reservations = Reservations(CLUSTER)
        for one in sessions:
            assert isinstance(reservations.commit(one), int)
        return reservations

    done = copy(base)
    change(done)
    # the sums before the change and after it: no other state is allowed
    either = {tuple(one.sessions): fresh_reservations(one.sessions.values()) for one in (base, done)}
    after, ended = 0, False
    while not ended:
        after += 1
        reservations = copy(base)
        ended = not interrupted(partial(change, reservations), after)
        assert_same(reservations, either[tuple(reservations.sessions)])
    assert after > 40 and list(reservations.sessions) == list(done.sessions)
