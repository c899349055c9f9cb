"""Real worker processes for tests, and a client that speaks the protocol over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import websockets

from models.speech import SpeechRequest
from tests import forks
from tests.forks import PATIENCE_SECONDS, search_path
from tests.worker.process import ListeningProcess, wait_until
from worker.engines.synthetic import SyntheticEngine
from worker.kinds.speech import to_pcm
from worker.protocol import (
    GENERATE_PATH,
    MAX_FRAME_BYTES,
    Accepted,
    ErrorMessage,
    Frame,
    FrameKind,
    Latents,
    StartRequest,
    StartTextRequest,
    WorkerStatus,
    decode_frame,
    decode_server_message,
)

TEXT = "The quick brown fox jumps over the lazy dog."
LONG = TEXT * 50
"""900 patches: still running when a test is done with it."""


class WorkerProcess(ListeningProcess):
    """A worker in a process of its own; `log` holds its lines so far. `anew`: which is no fork."""

    def __init__(
        self,
        engine: str = "synthetic",
        environment: dict[str, str] | None = None,
        *,
        anew: bool = False,
        **options: Any,
    ) -> None:
        options = {"model": "synthetic", "port": 0, "slots": 2, "step_ms": 10, **options}
        variables = {key: value for key, value in os.environ.items() if not key.startswith("VOXFLEET_")}
        variables |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": search_path(), **(environment or {})}
        self.secret = variables.get("VOXFLEET_WORKER_SECRET")
        start = forks.start_anew if anew else forks.start
        process = start("tests.worker.run_worker", [engine, json.dumps(options)], variables)
        super().__init__("worker", process)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return httpx.request(method, self.url + path, timeout=PATIENCE_SECONDS, **options)

    def health(self) -> WorkerStatus:
        headers = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        response = self.request("GET", "/health", headers=headers)
        response.raise_for_status()
        return WorkerStatus.model_validate_json(response.content)

    def drain(self) -> WorkerStatus:
        return WorkerStatus.model_validate_json(self.request("POST", "/drain").content)

    def resume(self) -> WorkerStatus:
        return WorkerStatus.model_validate_json(self.request("POST", "/resume").content)

    def wait_for(self, condition: Callable[[WorkerStatus], bool]) -> WorkerStatus:
        """Polls `/health` until `condition` holds."""
        seen: list[WorkerStatus] = []

        def poll() -> WorkerStatus | None:
            seen[:] = [self.health()]
            return seen[0] if condition(seen[0]) else None

        return wait_until(poll, lambda: f"still {seen}\n" + "".join(self.log))

    def wait_until_ready(self) -> WorkerProcess:
        self.wait_for(lambda status: status.state == "IDLE")
        return self

    async def wait_for_free_slots(self) -> WorkerStatus:
        """Like `wait_for`, for tests that hold connections open on this event loop."""
        return await asyncio.to_thread(self.wait_for, lambda status: status.slots_used == 0)

    def connect(self, secret: str | None = None, **options: Any) -> websockets.connect:
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        return websockets.connect(
            f"ws://127.0.0.1:{self.port}{GENERATE_PATH}",
            additional_headers={**headers, **options.pop("headers", {})},
            max_size=MAX_FRAME_BYTES,
            compression=None,
            close_timeout=options.pop("close_timeout", 0.5),
            **options,
        )


StartWorker = Callable[..., WorkerProcess]


@contextlib.contextmanager
def ready_worker(**options: Any) -> Iterator[WorkerProcess]:
    """One until the end of the block, whose log has no defects then."""
    process = WorkerProcess(**options)
    try:
        yield process.wait_until_ready()
    finally:
        process.kill()
    assert not process.defects()


class Client:
    """One connection of a gateway to a worker."""

    def __init__(self, websocket: websockets.ClientConnection) -> None:
        self.websocket = websocket

    async def start(self, text: str = "Hello there.", seed: int = 7, **fields: Any) -> None:
        request = StartRequest(**{"request_id": "r1", "text": text, "seed": seed, **fields})
        await self.websocket.send(request.model_dump_json())

    async def start_text(self, seed: int = 7, **fields: Any) -> None:
        """`sampling` and one of `prompt`, `prompt_ids`, `messages`."""
        request = StartTextRequest(**{"request_id": "r1", "seed": seed, **fields})
        await self.websocket.send(request.model_dump_json(exclude_none=True))

    async def receive_text(self) -> list[Frame]:
        """The TEXT frames of a request that is accepted and comes to its end with one."""
        messages = await self.receive_all()
        assert isinstance(messages[0], Accepted), messages[0]
        assert messages[-1].kind is FrameKind.TEXT
        return [message for message in messages if getattr(message, "kind", None) is FrameKind.TEXT]

    async def cancel(self) -> None:
        await self.websocket.send('{"type":"cancel"}')

    async def receive(self) -> Frame | Accepted | ErrorMessage:
        async with asyncio.timeout(PATIENCE_SECONDS):
            message = await self.websocket.recv()
        return decode_server_message(message) if isinstance(message, str) else decode_frame(message)

    async def receive_audio(self) -> Frame:
        """The next AUDIO frame, whatever comes before it."""
        while True:
            message = await self.receive()
            if isinstance(message, Frame) and message.kind is FrameKind.AUDIO:
                return message

    async def receive_all(self) -> list[Frame | Accepted | ErrorMessage]:
        """Everything up to the frame marked last, or the refusal."""
        first = await self.receive()
        return [first] if isinstance(first, ErrorMessage) else [first, *await self.receive_all_until_last()]

    async def receive_all_until_last(self) -> list[Frame | Accepted | ErrorMessage]:
        """Everything up to the frame marked last."""
        messages = [await self.receive()]
        while not getattr(messages[-1], "last", False):
            messages.append(await self.receive())
        return messages

    async def receive_clip(self) -> list[Frame]:
        """The AUDIO frames of a request that is accepted and not refused."""
        messages = await self.receive_all()
        assert isinstance(messages[0], Accepted), messages[0]
        return [message for message in messages if getattr(message, "kind", None) is FrameKind.AUDIO]

    async def closed(self) -> int:
        """Reads until the worker closes the connection; the close code."""
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                await self.receive()
        return self.websocket.close_code


def joined_latents(frames: list[Frame]) -> Latents:
    """What a gateway sends to resume after `frames`, of the synthetic engine's shape."""
    return Latents(shape=(len(frames), 4, 64), data=b"".join(frame.latents for frame in frames))


def expected_clip(text: str, seed: int, **fields: Any) -> tuple[bytes, bytes]:
    """PCM and latents that the synthetic engine owes for a request."""
    audio, latents = SyntheticEngine.render(SpeechRequest("expected", text, seed, **fields))
    return to_pcm(audio), latents.astype("<f4").tobytes()


def check_clip(frames: list[Frame], text: str, seed: int, first: int = 0, **fields) -> None:
    """The frames are exactly the clip from patch `first` on, in order."""
    pcm, latents = expected_clip(text, seed, **fields)
    total = len(latents) // 1024
    assert [frame.sequence for frame in frames] == list(range(first, total))
    assert b"".join(frame.pcm for frame in frames) == pcm[first * 7680 :]
    assert b"".join(frame.latents for frame in frames) == latents[first * 1024 :]
    assert [frame.last for frame in frames] == [False] * (total - first - 1) + [True]


def tone(seconds: float, rate: int = 16_000) -> np.ndarray:
    """Audio to send as a reference."""
    return (0.3 * np.sin(2 * np.pi * 220 * np.arange(int(seconds * rate)) / rate)).astype(np.float32)
