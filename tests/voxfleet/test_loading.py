"""Commands load gateways and workers without looking for garbage among modules."""

from __future__ import annotations

import gc
import sys
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from voxfleet.cli import app
from voxfleet.loading import loading


@pytest.mark.parametrize("command", ["gateway", "worker"])
def test_nothing_looks_for_garbage_while_a_command_loads(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for: list[bool] = []

    def attribute(name: str) -> Any:
        if name != "run":
            raise AttributeError(name)
        looked_for.append(gc.isenabled())
        return lambda **options: looked_for.append(gc.isenabled()) or 0

    module = ModuleType(f"{command}.cli")
    module.__getattr__ = attribute  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    ended = CliRunner().invoke(app, [command])
    assert ended.exit_code == 0, ended.output
    assert looked_for == [False, True]


def test_what_was_loaded_is_never_looked_through() -> None:
    frozen = gc.get_freeze_count()
    with loading():
        kept = [[] for _ in range(1000)]
    assert gc.get_freeze_count() >= frozen + len(kept)


def test_what_cannot_be_loaded_leaves_collections_on() -> None:
    with pytest.raises(ImportError), loading():
        raise ImportError("no such module")
    assert gc.isenabled()
