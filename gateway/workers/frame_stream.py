"""What a worker sends for one request, handled in the moment in which it arrives.

A gateway relays thousands of frames a second. So no task is woken for each and no timer started: the socket's
callback hands the message to the `FrameStream` of the request, that decodes it and calls whoever takes the
frames. One timer per stream watches for silence.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from typing import Self

from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from gateway.settings import GatewaySettings
from gateway.workers.connection import WorkerConnection
from gateway.workers.metronome import Metronome
from sockets.silence import Silence
from worker.protocol import (
    INVALID_ADAPTER,
    CancelRequest,
    ErrorCode,
    ErrorDetail,
    ErrorMessage,
    Frame,
    Paused,
    PauseRequest,
    ProtocolError,
    Resumed,
    ResumeRequest,
    Start,
    cut,
    decode_frame,
    decode_server_message,
)

_SECOND_LOOK_SECONDS = 0.05
_LONGEST_REASON = 300
_MAX_WAITING_BYTES = 4 << 20
"""The most bytes of messages that wait between the answer to a request and the first look at its frames."""
_MESSAGE_BYTES = 100
"""What a message takes beside its content."""
NO_SLOT = (ErrorCode.BUSY, ErrorCode.LOADING, ErrorCode.DRAINING)


class WorkerUnreachable(Exception):
    """No answer to a request or a probe: refused, timed out, not authorised, or not of this protocol."""

    def __init__(self, reason: str) -> None:
        super().__init__(cut(reason, _LONGEST_REASON))

    @classmethod
    def by(cls, error: Exception) -> Self:
        """One for what a connection failed of, in words for operators."""
        if isinstance(error, TimeoutError):  # which says nothing
            return cls("it did not answer in time")
        return cls(f"{type(error).__name__}: {error}".removesuffix(": "))


class WorkerRefused(Exception):
    """The worker lives and has no slot just now: all are used, it loads, or it drains."""


class RequestRejected(Exception):
    """The worker says that the request itself is wrong."""

    def __init__(self, detail: ErrorDetail) -> None:
        self.detail = detail
        super().__init__(detail.message)


class StreamBroken(Exception):
    """An accepted request will not be finished by this worker. `reason` is one of the `FAILURES`."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class FrameStream:
    """The frames of one request: `start` it, then take `each_frame`."""

    def __init__(
        self,
        connection: WorkerConnection,
        request: Start,
        settings: GatewaySettings,
        metronome: Metronome,
    ) -> None:
        self.finished = False
        """The last frame was received: the connection can be used again."""
        self.failure: ErrorDetail | None = None
        """What the worker said about a failure before its last frame."""
        self.sample_rate: int | None = None
        """Samples per second of speech."""
        self.prompt_tokens: int | None = None
        """Tokens of the prompt, for text."""
        self.thinking = False
        """The prompt opens a thought, which the answer only closes."""
        self.model_revision = ""
        self._paused = False
        self._pause_wanted = False
        self._unconfirmed: Counter[bool] = Counter()
        """Pauses (True) and their ends that were asked for."""
        self.on_pause: Callable[[bool], None] = lambda paused: None
        """Called when the worker confirms a pause, or that it goes on."""
        self._connection = connection
        self._request = request
        self._expected = (request.request_id, request.attempt)
        """The request id and attempt that every frame repeats."""
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[str | bytes] = self._loop.create_future()
        self._waiting: deque[str | bytes] = deque()
        """Messages that arrived while nobody took frames."""
        self._waiting_bytes = 0
        self._lost: ConnectionClosed | None = None
        self._take: Callable[[Frame], None] | None = None
        self._end: asyncio.Future[None] | None = None
        self._silence = _WorkersSilence(settings.frame_timeout_seconds, metronome)
        connection.listener = self

    @property
    def resting(self) -> bool:
        """The worker has confirmed a pause that is still wanted: its engine may stand still."""
        return self._paused and self._pause_wanted

    async def start(self) -> None:
        """Send the request, wait until it is accepted. Raises this module's errors, ConnectionClosed."""
        try:
            await self._connection.send(self._request.model_dump_json(exclude_none=True))
        except ConnectionClosed:
            self._answer.cancel()  # `lost` has put the same error there, for which nobody waits
            raise
        message = await self._answer
        if isinstance(message, bytes):
            raise ProtocolError("a frame came instead of an answer")
        answer = decode_server_message(message)
        if isinstance(answer, ErrorMessage):
            self.finished = True
            if answer.error.code in NO_SLOT:
                raise WorkerRefused(answer.error.message)
            if answer.error.type == "invalid_request_error":
                raise RequestRejected(answer.error)
            raise WorkerUnreachable(answer.error.message)
        self.sample_rate, self.prompt_tokens = answer.sample_rate, answer.prompt_tokens
        self.thinking, self.model_revision = answer.thinking, answer.model_revision

    async def each_frame(self, take: Callable[[Frame], None]) -> None:
        """Call `take` with every frame, heartbeats included, and return after the last.

        Raises StreamBroken, and what `take` raises; the frames after that wait for the next call.
        """
        if self.finished:
            return
        self._end, self._take = self._loop.create_future(), take
        try:
            while self._waiting and not self._end.done():
                message = self._waiting.popleft()
                self._waiting_bytes -= len(message) + _MESSAGE_BYTES
                self._handle(message)
            if self._lost is not None:
                self._break_off(_as_broken(self._lost))
            self._silence.start(self._fell_silent)
            await self._end
        finally:
            self._silence.stop()
            self._take = None

    def failed(self, last: Frame) -> StreamBroken | RequestRejected:
        """What the last frame means that ends a request otherwise than well."""
        if self.failure is not None and self.failure.code == INVALID_ADAPTER:
            return RequestRejected(self.failure)
        reason = f"the worker ended the request: {last.finish_reason}"
        return StreamBroken("failed", self.failure.message if self.failure else reason)

    async def cancel(self) -> None:
        """Ask the worker to drop the request, and skip frames until it confirms.

        Raises StreamBroken, TimeoutError.
        """
        if self.finished or self._lost is not None:
            return
        async with asyncio.timeout(self._settings.cancel_timeout_seconds):
            await self.send(CancelRequest())
            await self.each_frame(lambda frame: None)

    async def pause(self, paused: bool) -> None:
        """Ask the worker to let the request rest or go on; `on_pause` hears of it. Raises StreamBroken."""
        self._pause_wanted = paused
        self._unconfirmed[paused] += 1
        await self.send(PauseRequest() if paused else ResumeRequest())

    async def send(self, message: CancelRequest | PauseRequest | ResumeRequest) -> None:
        """Send a message about the open request. Raises StreamBroken."""
        try:
            await self._connection.send(message.model_dump_json())
        except ConnectionClosed as error:
            raise _as_broken(error) from error

    # --------------------------------------------------------------------------------------- in the callback

    def received(self, message: str | bytes) -> None:
        """The connection received a message."""
        self._silence.broken()
        if not self._answer.done():
            self._answer.set_result(message)
        elif self._take is None or self._end.done():
            self._keep(message)
        else:
            self._handle(message)

    def _keep(self, message: str | bytes) -> None:
        """For whoever looks next. A worker that says more than a request can need is cut off."""
        self._waiting_bytes += len(message) + _MESSAGE_BYTES
        if self._waiting_bytes > _MAX_WAITING_BYTES:
            self._connection.transport.abort()
            return
        self._waiting.append(message)

    def lost(self, error: ConnectionClosed) -> None:
        """The connection was lost."""
        self._lost = error
        if not self._answer.done():
            self._answer.set_exception(error)
        elif self._take is not None:
            self._break_off(_as_broken(error))

    def _handle(self, message: str | bytes) -> None:
        try:
            frame = self._read(message)
            if frame is None:
                return
            self.finished = frame.last
            self._take(frame)
        except Exception as error:
            self._break_off(error)
        else:
            if frame.last and not self._end.done():
                self._end.set_result(None)

    def _read(self, message: str | bytes) -> Frame | None:
        """A frame of this attempt; None for what is said in words: a pause, or why the request will fail."""
        try:
            if isinstance(message, str):
                answer = decode_server_message(message)
                if isinstance(answer, Paused | Resumed):
                    self._confirm(isinstance(answer, Paused))
                elif isinstance(answer, ErrorMessage) and self.failure is None:
                    self.failure = answer.error
                else:
                    raise ProtocolError("a second answer to one request")
                return None
            frame = decode_frame(message)
        except ProtocolError as error:
            raise StreamBroken("corrupt", f"a frame could not be read: {error}") from error
        if (frame.request_id, frame.attempt) != self._expected:
            raise StreamBroken("stale", "a frame of another attempt arrived")
        return frame

    def _confirm(self, paused: bool) -> None:
        if not self._unconfirmed[paused]:
            raise ProtocolError("a pause, or its end, that nobody asked for")
        self._unconfirmed[paused] -= 1
        self._paused = paused
        self.on_pause(paused)

    def _fell_silent(self) -> None:
        self._break_off(StreamBroken("silence", "the worker fell silent"))

    def _break_off(self, error: Exception) -> None:
        if not self._end.done():
            self._end.set_exception(error)


def _as_broken(error: ConnectionClosed) -> StreamBroken:
    if error.rcvd is not None and error.rcvd.code == CloseCode.SERVICE_RESTART:
        return StreamBroken("leaving", "the worker ends")
    return StreamBroken("closed", "the connection to the worker broke")


class _WorkersSilence(Silence):
    """Calls back once when nothing was heard for too long; a gateway that is held up itself looks twice."""

    def __init__(self, limit_seconds: float, metronome: Metronome) -> None:
        super().__init__(limit_seconds)
        self._limit_seconds = limit_seconds
        self._metronome = metronome

    def passed(self) -> None:
        patience_seconds = _SECOND_LOOK_SECONDS + self._metronome.allowance(self._limit_seconds)
        self._look_after(patience_seconds, self._on_silence)
