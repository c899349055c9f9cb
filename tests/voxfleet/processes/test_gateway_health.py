"""What the supervisor makes of a gateway's `/health`."""

from __future__ import annotations

import httpx
import pytest

from voxfleet.processes.service import Health
from voxfleet.serving.supervisor import gateway_health


def test_a_gateway_that_is_as_young_as_its_process_is_healthy() -> None:
    answer = httpx.Response(200, json={"status": "ok", "uptime_seconds": 2.5})
    assert gateway_health(answer, 2.5) == Health(healthy=True)


def test_a_gateway_that_was_there_before_its_process_is_another() -> None:
    answer = httpx.Response(200, json={"status": "ok", "uptime_seconds": 2.5})
    assert gateway_health(answer, 2.4).error == "finds its port held by another server"


@pytest.mark.parametrize("body", ["", "<html>", "{}", "[]", '{"uptime_seconds": null}'])
def test_an_answer_that_is_no_gateways_is_an_error(body: str) -> None:
    assert "HTTP 200" in gateway_health(httpx.Response(200, text=body), 1.0).error
