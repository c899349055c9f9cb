"""Ctrl-C ends a command also while it loads, whatever swallows it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

import voxfleet
from voxfleet.__main__ import main
from voxfleet.commands.interrupts import interruptible
from voxfleet.commands.say import say


def swallow_an_interrupt() -> None:
    """As torch does where its import is interrupted in C++."""
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_was_swallowed_is_raised_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        swallow_an_interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_an_interrupt_broke_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        swallow_an_interrupt()
        raise ImportError("half of it is there")


def test_who_ignores_interrupts_goes_on() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


class Models(ModuleType):
    """Has its class once an interrupt was swallowed."""

    def __getattr__(self, name: str) -> object:
        if name == "VoxCPM":
            swallow_an_interrupt()
        raise AttributeError(name)


def test_say_ends_where_the_import_of_the_model_swallowed_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "models.voxcpm", Models("models.voxcpm"))
    with pytest.raises(KeyboardInterrupt):
        say("Hello.", tmp_path / "out.wav", device="cpu")


class Interrupted:
    """A finder of modules during whose search somebody presses Ctrl-C."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        if name == "voxfleet.cli":
            signal.raise_signal(signal.SIGINT)


def test_the_command_ends_quietly_before_it_has_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "voxfleet.cli", raising=False)
    monkeypatch.delattr(voxfleet, "cli", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")
