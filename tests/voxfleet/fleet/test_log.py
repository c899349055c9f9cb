"""The log of the controller: a defect is told with its traceback, and no secret is in it (S1)."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
import structlog

from voxfleet.fleet.autoscaling.rules import Rules, WorkerKind
from voxfleet.fleet.controller import Controller
from voxfleet.fleet.desk import Desk, admin_headers
from voxfleet.fleet.desks import Desks
from voxfleet.fleet.place import Member

TOKEN = "correct-horse-battery-staple"
RULES = Rules((WorkerKind("gpu", "alpha", slots=8, audio_seconds_per_second=32.0, most=1),))


class Nowhere:
    """A place without workers."""

    name = "nowhere"

    def members(self) -> list[Member]:
        return []


class Defective(httpx.AsyncBaseTransport):
    """Ends the fleet with the second request."""

    def __init__(self) -> None:
        self.asked = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent = dict(request.headers)
        self.asked += 1
        if self.asked == 1:
            raise RuntimeError(f"a defect beside {len(sent)} headers")
        return httpx.Response(200, json={"boot": "1", "orders": {"down": True}, "models": {}, "workers": []})


@pytest.fixture
def unconfigured() -> Iterator[None]:
    """structlog as a process finds it that configures nothing."""
    before = structlog.get_config()
    structlog.reset_defaults()
    yield
    structlog.configure(**before)


@pytest.mark.usefixtures("unconfigured")
async def test_a_traceback_has_no_secret_in_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("voxfleet.fleet.controller.TURN_SECONDS", 0.0)
    transport = Defective()
    async with httpx.AsyncClient(
        base_url="http://gateway", headers=admin_headers(TOKEN), transport=transport
    ) as http:
        await Controller(RULES, Nowhere(), Desks([Desk(http)])).run()
    told = "".join(capsys.readouterr())
    assert "the controller failed" in told and "RuntimeError: a defect beside" in told
    assert TOKEN not in told
