"""The contexts of one socket: stretches of speech side by side, each spoken in a task of its own.

async with contexts:                              # what still speaks at the end of the block is ended
    contexts.check_room()
    contexts.open("a", Context(...), caller)
    contexts["a"].dialogue.append("Good morning.")
    contexts["a"].dialogue.finish()
    ...                                           # `ended("a", None)` is called: all of it is said
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, Self, TypeVar

import structlog

from gateway.callers.identity import Caller
from gateway.edge.outbox import Outbox
from gateway.errors import ApiError, internal_error
from gateway.protocols.dialogues.dialogue import Dialogue

logger = structlog.get_logger(__name__)

_MOST = 16
"""The most contexts of one socket at once."""


class Context(Protocol):
    """What is spoken, and how its client hears of it."""

    dialogue: Dialogue

    async def run(self) -> None:
        """Until all is said, or it is cancelled. Raises ApiError."""


class Said(str):
    """A message on its way to the client, and the context that it is about."""

    __slots__ = ("context_id",)
    context_id: str | None

    @classmethod
    def of(cls, context_id: str | None, text: str) -> Self:
        """`text` about that context; None: about none."""
        said = cls(text)
        said.context_id = context_id
        return said


Kind = TypeVar("Kind", bound=Context)


class Contexts(Generic[Kind]):
    """The contexts that are open, by id."""

    def __init__(self, request_id: str, ended: Callable[[str, ApiError | None], None]) -> None:
        """`ended` is told the id of a context that is over, and what ended it if not all was said."""
        self._request_id = request_id
        self._ended = ended
        self._open: dict[str, Kind] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def get(self, id: str) -> Kind | None:
        """The one of that name."""
        return self._open.get(id)

    def check_room(self) -> None:
        """Raises ApiError where there are as many as a socket may have."""
        if len(self._open) >= _MOST:
            message = f"a socket has at most {_MOST} contexts at once: end some"
            raise ApiError(429, "too_many_contexts", message, param="context_id")

    def open(self, id: str, context: Kind, caller: Caller) -> None:
        """It speaks from now on. Raises ApiError for what the caller may not have."""
        context.dialogue.open(caller)
        self._open[id] = context
        task = asyncio.create_task(self._run(id, context))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self, id: str, outbox: Outbox) -> bool:
        """Be silent: not even its end is told, and another one may have the name. Whether there was one.

        `outbox`: where what is said of contexts waits, as `Said`.
        """
        context = self._open.pop(id, None)
        if context is None:
            return False
        context.dialogue.cancel()
        outbox.drop_those(lambda said: getattr(said, "context_id", None) == id)
        return True

    async def finish(self, seconds: float | None) -> None:
        """Let all be said, for so long at most where that is limited."""
        for context in self._open.values():
            if not context.dialogue.finishing:
                context.dialogue.finish()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, id: str, context: Kind) -> None:
        failure: ApiError | None = None
        try:
            await context.run()
        except ApiError as error:
            failure = error
        except Exception:
            logger.exception("unhandled error", request_id=self._request_id)
            failure = internal_error()
        if self._open.get(id) is context:
            del self._open[id]
            self._ended(id, failure)
