"""What a worker does that breaks off, keeps silent, or says what it must not, in the middle of a request."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame as WireFrame
from websockets.frames import Opcode

from worker.protocol import INVALID_ADAPTER, ErrorDetail, ErrorMessage, Frame, FrameKind, Paused, encode_frame

NOT_FINITE = ErrorDetail(
    message="not finite", type="invalid_request_error", param="adapter", code=INVALID_ADAPTER
)


async def suffer(socket: ServerConnection, fault: str, frame: Frame) -> None:
    """The fault, where that frame would come. Raises ValueError for one that there is not."""
    if fault in _ENDS:
        await _ENDS[fault](socket)
    elif fault in _FRAMES:
        await socket.send(encode_frame(_FRAMES[fault](frame)))
    elif fault in _BYTES:
        await socket.send(_BYTES[fault](encode_frame(frame)))
    elif fault in _BEATS:
        await _beat_until_closed(socket, frame, _BEATS[fault]())
    elif fault in _FLOODS:
        await _FLOODS[fault](socket, frame)
    elif fault == "unasked pause":
        rests = Paused(request_id=frame.request_id, attempt=frame.attempt)
        await socket.send(rests.model_dump_json())
        await _beat_until_closed(socket, frame)
    elif fault == "text":
        await socket.send("not a message")
    elif fault == "failed":
        await socket.send(failure("latents overflow"))
        await socket.send(encode_frame(ending_of(frame, "error")))
    elif fault == "adapter":
        await socket.send(ErrorMessage(error=NOT_FINITE).model_dump_json())
        await socket.send(encode_frame(ending_of(frame, "error")))
    else:
        raise ValueError(f"no such fault: {fault}")


async def _beat_until_closed(
    socket: ServerConnection, frame: Frame, steps: Iterable[int] = itertools.repeat(5)
) -> None:
    for step in steps:
        await socket.send(encode_frame(beat_before(frame, step)))
        await asyncio.sleep(0.01)


async def _abort(socket: ServerConnection) -> None:
    socket.transport.abort()


async def _flood(socket: ServerConnection, frame: Frame) -> None:
    """Heartbeats, faster than anybody reads."""
    for step in itertools.count(5):
        beat = WireFrame(Opcode.BINARY, encode_frame(beat_before(frame, step)))
        socket.transport.write(beat.serialize(mask=False))
        if step % 100 == 0:
            await asyncio.sleep(0)
            if socket.transport.is_closing():
                return


async def _words(socket: ServerConnection, frame: Frame) -> None:
    while True:
        await socket.send(failure("it fails"))
        await asyncio.sleep(0.01)


async def _endless(socket: ServerConnection, frame: Frame) -> None:
    for number in itertools.count(frame.sequence):
        await socket.send(encode_frame(replace(frame, sequence=number, last=False, finish_reason=None)))


def failure(message: str) -> str:
    """What a worker says whose engine failed."""
    detail = ErrorDetail(message=message, type="server_error", code="engine_failed")
    return ErrorMessage(error=detail).model_dump_json()


def ending_of(frame: Frame, reason: str) -> Frame:
    """A last frame without speech, in place of that one."""
    return replace(frame, kind=FrameKind.FINAL, latents=b"", pcm=b"", last=True, finish_reason=reason)


def beat_before(frame: Frame, step: int) -> Frame:
    """A heartbeat that comes while the frame is made."""
    beat = replace(frame, kind=FrameKind.HEARTBEAT, latents=b"", pcm=b"", step=step)
    return replace(beat, last=False, finish_reason=None)


_ENDS: dict[str, Callable[[ServerConnection], Awaitable[None]]] = {
    "cut": _abort,
    "close": lambda socket: socket.close(1011),
    "leave": lambda socket: socket.close(1012),
    "silence": ServerConnection.wait_closed,
}
"""The connection ends, or nothing comes any more."""
_FRAMES: dict[str, Callable[[Frame], Frame]] = {
    "gap": lambda frame: replace(frame, sequence=frame.sequence + 1),
    "repeat": lambda frame: replace(frame, sequence=frame.sequence - 1),
    "stale": lambda frame: replace(frame, attempt=frame.attempt + 7),
    "other request": lambda frame: replace(frame, request_id="other"),
    "short latents": lambda frame: replace(frame, latents=frame.latents[:-4]),
    "long patch": lambda frame: replace(frame, pcm=2 * frame.pcm),
    "short patch": lambda frame: replace(frame, pcm=frame.pcm[:2]),
    "no numbers": lambda frame: replace(frame, latents=b"\xff" * len(frame.latents)),
    "last patch failed": lambda frame: replace(frame, last=True, finish_reason="error"),
    "cancelled": lambda frame: ending_of(frame, "cancelled"),
    "stop": lambda frame: ending_of(frame, "stop"),
}
"""Another frame comes in the place of one."""
_BYTES: dict[str, Callable[[bytes], bytes]] = {
    "corrupt": lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]),
    "truncated": lambda raw: raw[:-10],
}
_BEATS: dict[str, Callable[[], Iterable[int]]] = {
    "hang": lambda: itertools.repeat(5),
    "backwards": lambda: itertools.cycle((5, 4)),
    "lost": lambda: itertools.count(5),
}
"""Heartbeats alone, with these steps."""
_FLOODS = {"flood": _flood, "words": _words, "endless": _endless}
