"""One open request on one connection: the engine's outputs become frames, heartbeats in between.

An output is framed and written in the event loop's own callback, without waking a task; those of a text model
that follow each other closely leave in one frame (`gathering.py`). A heartbeat follows 250 ms of silence,
also while the request is paused. A peer that reads slowly delays nobody else, and one that leaves more than
`max_unsent_bytes` unread loses its request. The slot is given back when the engine has let go of the request
and before the last frame goes out, so that who has read that frame can use the slot.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import structlog
from starlette.websockets import WebSocket, WebSocketDisconnect

from engine.errors import EngineError, RequestError
from engine.loop import OutputStream, PauseChange
from sockets.outbox import Outbox, UnreadError
from sockets.silence import Silence
from worker.engines.held_engine import Serving
from worker.errors import WorkerError, status_and_detail
from worker.lifecycle import Worker
from worker.protocol import (
    Accepted,
    ErrorCode,
    ErrorMessage,
    Frame,
    FrameKind,
    Paused,
    ProtocolError,
    Resumed,
    Start,
    encode_frame,
)
from worker.requests.gathering import Gathering
from worker.requests.tracing import RequestTrace
from worker.slots import Slot

logger = structlog.get_logger(__name__)


class RequestStream:
    """Serves one request from admission to its last frame."""

    def __init__(
        self, websocket: WebSocket, worker: Worker, start: Start, gateway: str | None = None
    ) -> None:
        """`gateway`: who asks, if it says so."""
        self._worker = worker
        self._gateway = gateway
        self._start = start
        self._outbox = Outbox.to(websocket, worker.settings.max_unsent_bytes, on_failure=self._lose)
        self._silence = Silence(worker.settings.heartbeat_seconds)
        self._outputs: OutputStream | None = None
        self._cancelled = False
        self._early_pauses: list[bool] = []
        """What the peer asked for before the engine had the request: True to pause, False to resume."""
        self._failure: EngineError | None = None
        """Why the request ends although the engine does its part."""
        self._next_index = 0
        self._trace = RequestTrace(worker, start)
        self._log = logger.bind(request_id=start.request_id, attempt=start.attempt)
        self.ended = False
        """The last message is on its way: the connection may take the next request."""
        self.peer_lost = False
        """The peer left, or reads too slowly to be served."""

    def cancel(self) -> None:
        """Ask the engine to drop the request; it does so at its next step, and `run` returns after that."""
        self._cancelled = True
        if self._outputs is not None:
            self._outputs.cancel()

    def set_paused(self, paused: bool) -> None:
        """Ask the engine to let the request rest, or go on; `Paused` and `Resumed` say when it does."""
        if self._outputs is None:
            self._early_pauses.append(paused)
        else:
            (self._outputs.pause if paused else self._outputs.resume)()

    def abandon(self) -> None:
        """The peer is gone: cancel, and send nothing more."""
        self.peer_lost = True
        self._outbox.drop()
        self.cancel()

    async def run(self) -> None:
        """Returns when the engine has let go of the request and the peer has, or will get, nothing more."""
        try:
            await self._serve()
            await self._flush()
        finally:
            self._trace.end()
            self._silence.stop()
            self._outbox.drop()

    async def _serve(self) -> None:
        try:
            serving, slot = await self._open()
        except (RequestError, WorkerError, EngineError) as error:
            self._refuse(error)
            return
        try:
            self._silence.start(self._beat)
            await self._take_outputs(serving, slot)
        finally:
            self._outputs.cancel()
            slot.release()

    async def _open(self) -> tuple[Serving, Slot]:
        """Admission: a slot, then the engine's consent."""
        if self._start.adapter is not None:
            self._worker.adapters.use(self._worker.serving().engine, self._start.adapter)
        serving, slot = self._worker.take_slot(self._gateway, self._start.claim)
        try:
            request = await self._submit(serving)
        except BaseException:
            slot.release()
            raise
        self._next_index = serving.kind.begun(request)
        self._worker.counters.requests += 1
        self._trace.accepted(self._next_index)
        self._log.info("accepted", **serving.kind.size(request), resumed=self._next_index)
        if self._cancelled:
            self._outputs.cancel()
        for paused in self._early_pauses:
            self.set_paused(paused)
        self._put_accepted(serving, request)
        return serving, slot

    async def _submit(self, serving: Serving) -> Any:
        """The request as the engine got it. What may take long to prepare is off the event loop."""
        if not isinstance(self._start, serving.kind.start):  # it was started with another model since
            raise WorkerError(ErrorCode.WORKER_FAILED, "this worker serves another kind of model")

        def submit() -> tuple[Any, OutputStream]:
            request = serving.kind.request(self._start)
            return request, serving.loop.submit(request)

        quick = serving.kind.is_quick(self._start)
        request, self._outputs = submit() if quick else await asyncio.to_thread(submit)
        return request

    def _put_accepted(self, serving: Serving, request: Any) -> None:
        accepted = Accepted(
            request_id=self._start.request_id,
            attempt=self._start.attempt,
            worker_id=self._worker.worker_id,
            boot_id=self._worker.boot_id,
            model_revision=serving.model.revision,
            **serving.kind.accepted(request),
        )
        self._put(accepted.model_dump_json())

    def _refuse(self, error: Exception) -> None:
        _, detail = status_and_detail(error)
        self._trace.end(detail.code)
        self._log.info("refused", code=detail.code, param=detail.param)
        self.ended = True
        self._put(self._error_message(error))

    async def _take_outputs(self, serving: Serving, slot: Slot) -> None:
        """Outputs to the outbox until the engine is done with the request, then how it ended."""
        error: Exception | None = None
        kind, request_id = serving.kind, self._start.request_id
        seconds = self._worker.settings.text_gather_seconds if kind.gathers else 0.0
        gathering = Gathering(seconds, lambda outputs: self._put_outputs(outputs, serving))
        try:
            ending = await self._take_until_end(gathering, slot)
        except (RequestError, EngineError) as failure:
            self._failure = failure
        rest = gathering.take()
        if self._failure is not None:
            error, rest = self._failure, []
            ending = kind.ending(request_id, self._next_index, "error")
        elif ending is None:
            ending = kind.ending(request_id, self._next_index, "cancelled")
        if ending.finish_reason == "error" and error is None:
            fault = kind.fault(ending, self._start)
            error = fault or EngineError(ending.error or "the engine gave no reason")
        slot.release()
        if error is not None:
            self._worker.counters.errors += 1
            self._put(self._error_message(error))
        elif ending.finish_reason == "cancelled":
            self._worker.counters.cancelled += 1
        self._silence.stop()
        self._put_frame([*rest, ending], serving)
        self._trace.finished(ending.finish_reason, self._next_index)
        self.ended = True
        self._log.info("finished", reason=ending.finish_reason, made=self._next_index, lost=self.peer_lost)

    async def _take_until_end(self, gathering: Gathering, slot: Slot) -> Any | None:
        """Outputs to the outbox but for the last, which is returned; None where it was cancelled."""
        endings: list[Any] = []

        def take(output: Any) -> None:
            if isinstance(output, PauseChange):
                gathering.flush()
                slot.set_paused(output.paused)
                self._put_pause(output.paused)
            elif output.finish_reason is not None:
                endings.append(output)
            else:
                gathering.put(output)

        try:
            await self._outputs.each(take)
        except (RequestError, EngineError):
            await self._wait_until_dropped()
            raise
        return endings[0] if endings else None

    def _put_pause(self, paused: bool) -> None:
        message = Paused if paused else Resumed
        self._put(message(request_id=self._start.request_id, attempt=self._start.attempt).model_dump_json())

    async def _wait_until_dropped(self) -> None:
        self._outputs.cancel()
        with contextlib.suppress(RequestError, EngineError):
            await self._outputs.each(lambda output: None)

    def _put_outputs(self, outputs: list[Any], serving: Serving) -> None:
        if self._failure is not None:
            return
        try:
            self._put_frame(outputs, serving)
        except EngineError as error:
            self._failure = error
            self._outputs.cancel()

    def _put_frame(self, outputs: list[Any], serving: Serving) -> None:
        try:
            frame = serving.kind.frame(outputs, self._start, self._next_index, serving.loop.step_count)
            data = encode_frame(frame)
        except ProtocolError as error:
            raise EngineError(f"the engine's output does not fit a frame: {error}") from error
        if frame.units:
            self._trace.first(getattr(outputs[0], "computing_seconds", None))
            self._next_index = frame.sequence + frame.units
            serving.kind.count(frame, self._worker.counters)
        self._put(data)

    def _put(self, data: str | bytes) -> None:
        if self.peer_lost:
            return
        self._silence.broken()
        try:
            self._outbox.put(data)
        except UnreadError:
            self._lose_slow_reader()

    def _beat(self) -> None:
        """Who received it is at patch `next_index`; for a peer that has not read what is there, none."""
        if not self._outbox.waits:
            request_id, attempt = self._start.request_id, self._start.attempt
            beat = Frame(FrameKind.HEARTBEAT, request_id, attempt, self._next_index, self._worker.engine.step)
            self._put(encode_frame(beat))

    async def _flush(self) -> None:
        if not self.peer_lost:
            await self._outbox.flush()

    def _lose(self, error: Exception) -> None:
        """The peer cannot be written to."""
        if not isinstance(error, WebSocketDisconnect):
            self._log.error("sending failed", error=f"{type(error).__name__}: {error}")
        self.abandon()

    def _lose_slow_reader(self) -> None:
        self._log.warning("reader too slow", unsent_bytes=self._outbox.unsent_bytes)
        self.abandon()

    def _error_message(self, error: Exception) -> str:
        _, detail = status_and_detail(error)
        request_id, attempt = self._start.request_id, self._start.attempt
        return ErrorMessage(request_id=request_id, attempt=attempt, error=detail).model_dump_json()
