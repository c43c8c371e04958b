"""The garbage collector is switched on again after it was off for a block."""

import gc

import pytest

from storagekit.core.garbage import uncollected


def test_it_is_off_within_the_block_and_on_after_it():
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_switches_it_on_again():
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled()


def test_it_stays_off_where_the_user_has_switched_it_off():
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
