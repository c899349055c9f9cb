"""Answers that are left without their end on purpose are no faults."""

from __future__ import annotations

import logging
from contextvars import copy_context

from gateway.edge.unfinished import UnfinishedFilter, leave_unfinished

CUT = "ASGI callable returned without completing response."


def told(message: str) -> bool:
    record = logging.LogRecord("uvicorn.error", logging.ERROR, __file__, 1, message, (), None)
    return UnfinishedFilter().filter(record)


def test_only_an_answer_that_is_left_so_on_purpose_is_not_told_of() -> None:
    request = copy_context()
    request.run(leave_unfinished)
    assert not request.run(told, CUT)
    assert request.run(told, "Exception in ASGI application") and told(CUT)
