"""Log events of the gateway, where they are written."""

from __future__ import annotations

import io
import sys

import pytest
import structlog

from gateway.log import configure_logging


def test_a_log_on_a_full_disk_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    before = structlog.get_config()
    with (
        io.TextIOWrapper(io.FileIO("/dev/full", "w"), write_through=True) as full,
        monkeypatch.context() as m,
    ):
        m.setattr(sys, "stderr", full)
        try:
            configure_logging("info")
            structlog.get_logger("x").info("listening", port=1)
        finally:
            structlog.configure(**before)
        with pytest.raises(OSError, match="No space left"):
            full.write("\n")
