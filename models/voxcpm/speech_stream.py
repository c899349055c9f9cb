"""The audio of one text while it is generated, for a thread or a task that hears it."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from engine import forks
from engine.errors import EngineError
from engine.loop import EngineLoop
from engine.output_stream import OutputStream
from models.speech import ModelInfo, SpeechOutput, SpeechRequest
from models.voxcpm.pool.pool import DevicePool

_READ = "another thread or task is reading this stream; a stream has one reader at a time"


class SpeechStream(forks.OfOneProcess):
    """The audio of one text while it is generated: iterate it, or call `next`; or both asynchronously.

    Yields float32 [samples] in [-1, 1], one patch each; the parts of a long text follow one another.
    `finish_reason` is set after the last patch. The request is cancelled when an iteration is abandoned, when
    a reader is interrupted, and when nobody holds the stream any more, iterated or not. Raises
    engine.errors.EngineError when generation fails; `finish_reason` is "error" then. To read while another
    thread or task waits for a patch is an EngineError, too, of which that one notices nothing.
    """

    def __init__(
        self,
        loop: EngineLoop | DevicePool,
        request: SpeechRequest,
        texts: list[str],
        info: ModelInfo,
        owner: object = None,
    ) -> None:
        """texts: the parts of `request.text`. owner: whose end is the end of `loop`. Raises RequestError."""
        self._loop, self._request, self._info, self._owner = loop, request, info, owner
        self._texts = deque(texts or [request.text])
        self._patches = 0
        self._cancelled = False
        self._reading = threading.Lock()
        self.seed = request.seed
        self.finish_reason: str | None = None
        self._stream: OutputStream | None = None
        self._stream = self._submit_next()

    def __del__(self) -> None:
        self._leave()

    def cancel(self) -> None:
        """Stop generating; the iteration ends. Safe from any thread."""
        self._cancelled = True
        if (stream := self._stream) is not None:
            stream.cancel()

    def outputs(self) -> Iterator[SpeechOutput]:
        """Patches with their latents, for callers that keep them."""
        while (output := self._next()) is not None:
            with self._left_with_iteration():
                yield output

    def __iter__(self) -> Iterator[np.ndarray]:
        return (output.audio for output in self.outputs() if len(output.audio))

    def __next__(self) -> np.ndarray:
        while (output := self._next()) is not None:
            if len(output.audio):
                return output.audio
        raise StopIteration

    async def __aiter__(self) -> AsyncIterator[np.ndarray]:
        while (output := await self._anext()) is not None:
            if len(output.audio):
                with self._left_with_iteration():
                    yield output.audio

    async def __anext__(self) -> np.ndarray:
        while (output := await self._anext()) is not None:
            if len(output.audio):
                return output.audio
        raise StopAsyncIteration

    def _next(self) -> SpeechOutput | None:
        """The next patch of whichever part; None after the last."""
        with self._read():
            while (stream := self._stream) is not None:
                if (output := next(stream, None)) is not None:
                    return self._note(output)
                self._end(stream)
        return None

    async def _anext(self) -> SpeechOutput | None:
        """See `_next`."""
        with self._read():
            while (stream := self._stream) is not None:
                if (output := await anext(stream, None)) is not None:
                    return self._note(output)
                self._end(stream)
        return None

    @contextmanager
    def _read(self) -> Iterator[None]:
        """For one reader at a time. One that fails or is interrupted is the last that hears anything new."""
        if not self._reading.acquire(blocking=False):
            raise EngineError(_READ)
        try:
            yield
        except Exception:
            self._leave("error")
            raise
        except BaseException:
            self._leave()
            raise
        finally:
            self._reading.release()

    @contextmanager
    def _left_with_iteration(self) -> Iterator[None]:
        """Around what an iteration yields: one that does not come back for more is abandoned."""
        try:
            yield
        except BaseException:
            self._leave()
            raise

    def _submit_next(self) -> OutputStream:
        """Start the next part, within what is left of the bounds of the clip's length."""
        seconds = self._patches * self._info.patch_seconds
        shortest, longest = self._request.min_seconds, self._request.max_seconds
        part = replace(
            self._request,
            request_id=uuid.uuid4().hex,
            text=self._texts.popleft(),
            min_seconds=None if shortest is None or self._texts else max(0.0, shortest - seconds),
            max_seconds=None if longest is None else longest - seconds,
        )
        self._patches_before = self._patches
        return self._loop.submit(part)

    def _note(self, output: SpeechOutput) -> SpeechOutput:
        """The output as one of the whole clip; starts the next part where one ends."""
        if output.finish_reason == "error":
            raise EngineError(output.error or "generation failed")
        output.index += self._patches_before
        self._patches += len(output.audio) > 0
        if output.finish_reason is None:
            return output
        if self._goes_on(output.finish_reason):
            output.finish_reason = None
            self._stream = self._submit_next()
            if self._cancelled:  # before `cancel` could see this stream
                self._stream.cancel()
        elif self._cancelled and self._texts:
            output.finish_reason = "cancelled"
        self.finish_reason = output.finish_reason
        return output

    def _goes_on(self, finish_reason: str) -> bool:
        longest = self._request.max_seconds
        patch_seconds = self._info.patch_seconds
        time_left = longest is None or longest - self._patches * patch_seconds >= patch_seconds
        return bool(self._texts) and time_left and not self._cancelled and finish_reason != "cancelled"

    def _end(self, stream: OutputStream) -> None:
        """After the last output of `stream`: unless the next part has begun, that was all."""
        if self._stream is stream:
            self._stream = None
            self._leave()

    def _leave(self, reason: str = "cancelled") -> None:
        if self.finish_reason is None:
            self.finish_reason = reason
            if self._stream is not None:
                self._stream.cancel()
