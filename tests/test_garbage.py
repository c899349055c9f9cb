"""Whole collections are quick in a test, however many modules and tests there are."""

from __future__ import annotations

import gc


def test_modules_and_tests_are_not_looked_through_for_garbage() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 20_000
    assert gc.get_threshold()[:2] == (2000, 10)  # the third is always 0 from Python 3.14 on
