"""Compare equation 5 with broadcast, and test theorem 4 with unit costs: timelines worked by hand."""

import pytest
from helpers import assert_refused, assert_states_result

from storagekit.papers import dsfq
from storagekit.papers.dsfq import draw
from storagekit.papers.dsfq.virtual import Arrival, F, G, equation5, many_coordinators, served


def test_requests_are_served_in_the_order_of_their_start_tags():
    """Stream f sends at 0 with tags 0 and 1, g at 0 with tags 0 and 1, and f at 1.5 with a delay of 3.

    Its tag is 5, after two requests of g that arrive at 2 with tags 2 and 3.
    """
    arrivals = [
        Arrival(0, F), Arrival(0, F), Arrival(0, G), Arrival(0, G), Arrival(1.5, F, delay=3), Arrival(2, G), Arrival(2, G),
    ]  # fmt: skip
    assert served(arrivals) == [0, 2, 1, 3, 6, 4, 5]


def test_virtual_requests_take_no_time_and_move_the_tag():
    arrivals = [Arrival(0, F, virtual=True), Arrival(0, F, virtual=True), Arrival(0, F), Arrival(0, G), Arrival(0, G)]
    assert served(arrivals) == [0, 1, 2, 0, 1]


def test_equation_5_equals_broadcast_only_for_a_stream_that_was_not_idle():
    """For a stream that was idle for 200 s, equation 5 and broadcast differ.

    Its finish tag is 1 and the virtual time 198: equation 5 gives 201, broadcast 198 + 200. For a stream that was idle
    for 1 s both agree.
    """
    away = equation5()
    assert away.wait.values.tolist() == [2, 199] and away.wait.attrs["units"] == "s"
    short = equation5(batch=5, away=1)
    assert float(short.wait[0]) == float(short.wait[1])
    [row] = dsfq.equation5_findings(away)
    assert row.measured is False and "2 s under equation 5" in row.note
    [row] = dsfq.equation5_findings(short)
    assert row.measured is True


def test_many_coordinators_exceed_the_bound_under_every_interpretation():
    """Equation 8 with D = 1, N = 2 and 1, batches of 2 and 1 and unit costs gives 6 D_SFQ + 8, with D_SFQ 2, 4 or 5.

    With one coordinator the bound holds. No bound contains the difference of all requests to other bricks. In addition,
    the streams alternate.
    """
    data = many_coordinators([1, 5, 60])
    assert data.bound.sel(coordinators=60).values.tolist() == [20, 32, 38]
    assert float(data.unfairness.sel(coordinators=1)) <= float(data.bound.sel(coordinators=1).min())
    difference = data.unfairness - data.coordinators
    assert ((difference >= 0) & (difference <= 4)).all()


def test_the_charts_state_their_finding():
    for chart in (draw.equation5(equation5()), draw.many_coordinators(many_coordinators())):
        assert_states_result(chart.to_dict())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: equation5(batch=0), "requests to other bricks 0"),
        (lambda: equation5(away=0), "seconds away 0"),
        (lambda: many_coordinators([0]), "coordinators 0"),
    ],
)
def test_impossible_numbers_raise(build, message):
    assert_refused(build, message)
