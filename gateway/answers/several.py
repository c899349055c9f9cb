"""Several answers at once, for one request: choices of one prompt, or one each of several prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from gateway.answers.writing import AnswerOutcome, Writing


async def write_all(writings: Sequence[Writing]) -> list[AnswerOutcome]:
    """Their outcomes, in order. Raises ApiError."""
    return await together(*(writing.run() for writing in writings))


async def together(*works: Coroutine[Any, Any, Any]) -> list[Any]:
    """Their results, in order. When one fails the others are cancelled, and its error is raised."""
    if len(works) == 1:
        return [await works[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except BaseExceptionGroup as failed:
        raise _first(failed) from None
    return [task.result() for task in tasks]


def _first(failed: BaseExceptionGroup) -> BaseException:
    error = failed.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
