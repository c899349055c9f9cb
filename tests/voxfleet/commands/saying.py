"""`voxfleet say` within the process of a test."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from tests.voxfleet.conftest import ROOT
from voxfleet.cli import app

TINY = ROOT / "tests" / "parity" / "tiny_v2"


def command(*arguments: str, text: str = "") -> Result:
    """The command in this process; a traceback would be an error of the test."""
    result = CliRunner().invoke(app, ["say", *arguments], input=text, catch_exceptions=False)
    assert "Traceback" not in result.stderr
    return result
