"""Ctrl-C beside what must not be broken off."""

from __future__ import annotations

import signal
import threading

import pytest

from engine.interrupts import held_back


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_comes_after_what_it_may_not_break_off() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), held_back():
        press()
        done.append("to the end")
    assert done == ["to the end"]
    with pytest.raises(KeyboardInterrupt):
        press()


def test_a_second_one_comes_at_once() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), held_back():
        press()
        press()
        done.append("to the end")
    assert not done


def test_an_error_of_its_own_loses_no_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), held_back():
        press()
        raise ValueError("of its own")
    with pytest.raises(ValueError, match="of its own"), held_back():
        raise ValueError("of its own")


def test_other_threads_and_programs_that_ignore_it_are_left_alone() -> None:
    found = []

    def look() -> None:
        with held_back():
            found.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        look()
    finally:
        signal.signal(signal.SIGINT, before)
    assert found == [before, signal.SIG_IGN]
