"""Clips that are sent while they are generated, over a connection of a real gateway."""

from __future__ import annotations

import httpx
import pytest

from tests.gateway.stages.processes import LONG_TEXT, StartFleet, queue_of


@pytest.mark.parametrize("outcome", ["cancelled", "worker_lost"])
async def test_a_file_that_breaks_off_is_cut_and_no_error_of_the_gateway(
    start: StartFleet, outcome: str
) -> None:
    gateway, (worker,) = start(1, step_ms=40, gateway={"failover_timeout_seconds": 0.1})
    body = {"text": LONG_TEXT, "stream": True}
    async with gateway.http() as http, http.stream("POST", "/tts", json=body) as response:
        pieces = response.aiter_bytes()
        await anext(pieces)
        if outcome == "cancelled":
            (ticket,) = (await queue_of(gateway))["running"]
            assert (await http.delete(f"/api/queue/{ticket['ticket_id']}")).is_success
        else:
            worker.kill()
        with pytest.raises(httpx.RemoteProtocolError):
            async for _ in pieces:
                pass
    gateway.terminate()
    assert f'"outcome": "{outcome}"' in "".join(gateway.log)
    assert not gateway.defects()
