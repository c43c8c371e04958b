"""Test the order of turns: the first results of every paper come before further results of any paper."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from storagekit.reproduce.turns import RunStopped, Turns


def papers(slots: int, names: str, cells: int = 3) -> list[str]:
    """Return the order in which the cells of papers run; the first cell of each is its headline."""
    turns, order, begin = Turns(slots), [], Event()

    def paper(number: int) -> None:
        with turns.enter((0, number)):
            begin.wait(10)
            for cell in range(cells):
                order.append(f"{names[number]}{cell}")
                turns.give_way((1, number))

    with ThreadPoolExecutor(len(names)) as pool:
        running = [pool.submit(paper, number) for number in range(len(names))]
        while len(turns._waiting) < len(names) - slots:
            pass
        begin.set()
        for one in running:
            one.result(10)
    return order


def test_every_headline_comes_before_any_further_cell():
    assert papers(1, "abc")[:3] == ["a0", "b0", "c0"]
    # with two papers at once, one may still run its headline
    assert {cell[1] for cell in papers(2, "abcd")[:3]} == {"0"}


def test_papers_then_continue_one_after_the_other():
    assert papers(1, "abc")[3:] == ["a1", "a2", "b1", "b2", "c1", "c2"]


def test_at_most_as_many_papers_run_as_there_are_places():
    turns, busy, most = Turns(2), [], []

    def work(number: int) -> None:
        with turns.enter((0, number)):
            for _ in range(20):
                busy.append(number)
                most.append(len(busy))
                busy.remove(number)
                turns.give_way((0, number))

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(work, range(5)))
    assert max(most) <= 2 and turns._free == 2 and not turns._waiting


def test_a_stop_ends_every_wait_and_frees_no_place_twice():
    turns = Turns(1)

    def waits() -> str:
        try:
            with turns.enter((0, 1)):
                return "had a turn"
        except RunStopped:
            return "stopped"

    with ThreadPoolExecutor(1) as pool, pytest.raises(RunStopped), turns.enter((0, 0)):
        waiting = pool.submit(waits)
        while not turns._waiting:
            pass
        turns.stop()
        assert waiting.result(10) == "stopped"
        turns.give_way((0, 0))
    assert turns._free == 1
