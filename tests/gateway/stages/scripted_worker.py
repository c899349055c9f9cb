"""A worker that keeps the protocol until its script says otherwise: faults that no healthy process shows on
demand.

Audio and latents are the synthetic engine's, so that a clip put together from several workers can be compared
with the real one. A script is a list of `Act`, one per request; the last is repeated.
"""

from __future__ import annotations

import asyncio
import http
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from models.speech import SpeechRequest
from tests.gateway.stages.faults import suffer
from tests.gateway.stages.fleet import describe_model
from tests.gateway.stages.fleet import status as worker_status
from worker.engines.synthetic import SyntheticEngine
from worker.kinds.speech import to_pcm
from worker.protocol import (
    SLOTS_PATH,
    Accepted,
    ErrorDetail,
    ErrorMessage,
    Frame,
    FrameKind,
    ModelDescription,
    StartRequest,
    WorkerState,
    encode_frame,
)

PATCH_BYTES = 3840 * 2
LATENT_BYTES = 4 * 64 * 4


@dataclass(frozen=True)
class Act:
    """What happens to one request: it is refused, or goes well for `patches` patches and then suffers
    `fault`. Who asks hears of a `flaw` with the last patch.
    """

    patches: int = 1000
    fault: str = ""
    refusal: ErrorDetail | None = None
    flaw: str = ""


@dataclass
class ScriptedWorker:
    """`requests` are the start messages that came; `cancelled` counts the requests that were given up.

    Requests are answered when `together` of them have come, and then so many again. `flaws`: of which text
    and seed, told with which patch. So many `silent` patches are the first of each request's speech.
    """

    script: list[Act]
    revision: str = "1"
    url: str = ""
    requests: list[StartRequest] = field(default_factory=list)
    cancelled: int = 0
    healthy: bool = True
    part_characters: int | None = None
    features: tuple[str, ...] = ()
    slots: int = 4
    connections: int = 0
    together: int = 1
    flaws: Mapping[tuple[str, int], tuple[int, str]] = field(default_factory=dict)
    silent: int = 0
    _groups: defaultdict[int, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    _boots: int = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ScriptedWorker]:
        """Listens for as long as the block lasts."""
        async with serve(
            self._connection, "127.0.0.1", 0, process_request=self._health, compression=None
        ) as server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield self

    def described(self) -> ModelDescription:
        """Its model."""
        return describe_model("alpha", self.revision, (), self.part_characters, self.features)

    def _health(self, connection: ServerConnection, request: Request) -> Response | None:
        if request.path == SLOTS_PATH:
            return connection.respond(http.HTTPStatus.NOT_FOUND, "a worker of an older version")
        if request.path != "/health":
            return None
        if not self.healthy:
            return connection.respond(http.HTTPStatus.INTERNAL_SERVER_ERROR, "ill")
        boot_id, model = f"boot-{id(self)}", self.described()
        said = worker_status(WorkerState.IDLE, slots=self.slots, boot_id=boot_id, model=model)
        return connection.respond(http.HTTPStatus.OK, said.model_dump_json())

    async def _connection(self, socket: ServerConnection) -> None:
        self.connections += 1
        try:
            async for message in socket:
                fields = json.loads(message)
                if fields["type"] == "cancel":
                    continue
                await self._serve(socket, StartRequest.model_validate_json(message))
        except ConnectionClosed:
            self.cancelled += 1

    async def _serve(self, socket: ServerConnection, start: StartRequest) -> None:
        act = self.script[min(len(self.requests), len(self.script) - 1)]
        group = self._groups[len(self.requests) // self.together]
        self.requests.append(start)
        if len(self.requests) % self.together == 0:
            group.set()
        await group.wait()
        if act.refusal is not None:
            await socket.send(ErrorMessage(error=act.refusal).model_dump_json())
            return
        if act.fault == "mute":
            await socket.wait_closed()
        accepted = Accepted(
            request_id=start.request_id,
            attempt=start.attempt,
            worker_id="scripted",
            boot_id="boot",
            model_revision=self.revision,
            sample_rate=24000,
        )
        await socket.send(accepted.model_dump_json())
        first = start.resume_latents.shape[0] if start.resume_latents else 0
        for number, frame in enumerate(frames_of(start)[first:]):
            if number == act.patches:
                await suffer(socket, act.fault, frame)
                return
            await socket.send(encode_frame(self._judged(frame, start, act)))

    def _judged(self, frame: Frame, start: StartRequest, act: Act) -> Frame:
        if not start.watch:
            return frame
        patch, flaw = self.flaws.get((start.text, start.seed), (-1, ""))
        flaw = flaw if frame.sequence == patch else act.flaw if frame.last else ""
        return replace(frame, flaw=flaw, silent=frame.sequence < self.silent)


def frames_of(start: StartRequest) -> list[Frame]:
    """Every AUDIO frame of a request, from patch 0 on."""
    audio, latents = SyntheticEngine.render(SpeechRequest("scripted", start.text, start.seed))
    pcm, raw = to_pcm(audio), latents.astype("<f4").tobytes()
    count = len(pcm) // PATCH_BYTES
    return [
        Frame(
            kind=FrameKind.AUDIO,
            request_id=start.request_id,
            attempt=start.attempt,
            sequence=index,
            step=index + 1,
            latents=raw[index * LATENT_BYTES : (index + 1) * LATENT_BYTES],
            pcm=pcm[index * PATCH_BYTES : (index + 1) * PATCH_BYTES],
            last=index == count - 1,
            finish_reason="stop" if index == count - 1 else None,
        )
        for index in range(count)
    ]
