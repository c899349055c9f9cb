"""Answers that are left without their end on purpose are no faults."""

from __future__ import annotations

import asyncio
import logging
from contextvars import copy_context

from gateway.edge.unfinished import UnfinishedFilter, leave_unfinished
from tests.gateway.stages.processes import started_fleets

CUT = "ASGI callable returned without completing response."


def told(message: str) -> bool:
    record = logging.LogRecord("uvicorn.error", logging.ERROR, __file__, 1, message, (), None)
    return UnfinishedFilter().filter(record)


def test_only_an_answer_that_is_left_so_on_purpose_is_not_told_of() -> None:
    request = copy_context()
    request.run(leave_unfinished)
    assert not request.run(told, CUT)
    assert request.run(told, "Exception in ASGI application") and told(CUT)


async def test_who_still_sends_a_body_when_the_gateway_ends_leaves_no_traceback() -> None:
    with started_fleets() as start:
        gateway = start.gateway([], worker_secret="worker-0123456789abcdef")
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        head = b"POST /tts HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
        writer.write(head)
        assert b"100 Continue" in await reader.readline()
        assert gateway.terminate() == 0
        writer.close()
    assert not gateway.defects()
