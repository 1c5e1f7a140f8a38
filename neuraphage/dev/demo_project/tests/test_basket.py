"""Tests of the basket. The pauses make the run long enough to be interrupted."""

import time

from shop.basket import discount_cents, total_cents


def test_total_adds_all_prices():
    time.sleep(0.8)
    assert total_cents([100, 250, 5]) == 355


def test_total_times_quantity():
    time.sleep(0.8)
    assert total_cents([100, 50], quantity=3) == 450


def test_discount_is_percent():
    time.sleep(0.8)
    assert discount_cents(1_000, 15) == 150
