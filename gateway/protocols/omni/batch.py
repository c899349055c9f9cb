"""`POST /v1/audio/speech/batch`, as vLLM-Omni and SGLang-Omni have it: several texts, each a file of its own.

    {"items": [{"input": "Good morning."}, {"input": "Good night.", "voice": "ruth"}], "language": "en"}
    {"id", "results": [{"index", "status": "success", "audio_data": base64, "media_type"},
                       {"index", "status": "error", "error"}], "total", "succeeded", "failed"}

What stands beside `items` holds for those that do not say otherwise. Each is a request of its own.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field, ValidationError
from starlette.responses import JSONResponse

from gateway.api.transfer.connection import CLIENT_GONE, ClientGoneError, while_connected
from gateway.audio.formats import content_type_of
from gateway.callers.identity import Caller
from gateway.errors import ApiError, from_validation
from gateway.protocols.clip import Collector, made_clip
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.lenient import Lenient
from gateway.protocols.openai.request import OPENAI, OpenAiSpeechRequest
from gateway.protocols.openai.speech import translate
from gateway.service import Gateway, GatewayDep

MOST_ITEMS = 32

router = APIRouter()


class Batch(Lenient):
    """The body."""

    items: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_ITEMS, fail_fast=True)]

    def merged(self) -> list[dict[str, Any]]:
        """The body of a request for each."""
        shared = {"response_format": "wav"} | (self.model_extra or {})
        given = [{name: value for name, value in item.items() if value is not None} for item in self.items]
        return [shared | item for item in given]

    def check_limit(self, most_characters: int) -> None:
        """All files are kept until the last one is there. Raises ApiError."""
        texts = [item.get("input") for item in self.items]
        characters = sum(len(text) for text in texts if isinstance(text, str))
        if characters > most_characters:
            message = f"items have {characters} characters, at most {most_characters} are allowed together"
            raise ApiError(422, "text_too_long", message, param="items")


@router.post("/v1/audio/speech/batch", response_class=Response)
async def speak_batch(body: Batch, request: Request, gateway: GatewayDep) -> Response:
    """All files in one object, in the order of their texts."""
    body.check_limit(gateway.settings.max_clip_characters)
    items = _Items(request, gateway, gateway.callers.identify(request))
    try:
        results = await while_connected(request, items.speak(body.merged()))
    except ClientGoneError:
        return Response(status_code=CLIENT_GONE)
    succeeded = sum(result["status"] == "success" for result in results)
    told = {
        "id": f"speech-batch-{request.state.request_id}",
        "results": results,
        "total": len(results),
        "succeeded": succeeded,
        "failed": len(results) - succeeded,
    }
    return JSONResponse(told, headers=ignored_fields(items.ignored))


class _Items:
    """The texts of one body, as many of them at once as its sender may have."""

    def __init__(self, request: Request, gateway: Gateway, caller: Caller) -> None:
        self._request, self._gateway, self._caller = request, gateway, caller
        self._turns = asyncio.Semaphore(caller.max_streams or MOST_ITEMS)
        self._most_seconds = self._seconds_left = gateway.settings.max_clip_seconds
        self.ignored: set[str] = set()
        """Fields that nothing was done with."""

    async def speak(self, bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """A result for each."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._result(index, body)) for index, body in enumerate(bodies)]
        return [task.result() for task in tasks]

    def hold(self, seconds: float) -> None:
        """So much more audio is kept until all files are there; negative: less. Raises ApiError."""
        self._seconds_left -= seconds
        if self._seconds_left < 0 < seconds:
            message = f"the files of one batch have at most {self._most_seconds:g} s of audio together"
            raise ApiError(422, "audio_too_long", message, param="items")

    async def _result(self, index: int, body: dict[str, Any]) -> dict[str, Any]:
        try:
            file, content_type = await self._file(body)
        except ApiError as error:
            return {"index": index, "status": "error", "error": error.message}
        audio = base64.b64encode(file).decode()
        return {"index": index, "status": "success", "audio_data": audio, "media_type": content_type}

    async def _file(self, body: dict[str, Any]) -> tuple[bytes, str]:
        try:
            order = OpenAiSpeechRequest.model_validate(body)
        except ValidationError as error:
            raise from_validation(error.errors()) from error
        translated, _ = await translate(order, self._request, self._gateway)
        self.ignored |= order.model_extra.keys()
        if order.instructions and not translated.instructions:
            self.ignored.add("instructions")
        part = _Part(self)
        async with self._turns:
            try:
                outcome, file, _ = await made_clip(
                    self._request, self._gateway, translated, part, OPENAI, self._caller, "input"
                )
            except ApiError:
                self.hold(-part.seconds)
                raise
        return file, content_type_of(translated.format, outcome.sample_rate)


class _Part(Collector):
    """The listener of one of the texts."""

    def __init__(self, items: _Items) -> None:
        super().__init__()
        self._items = items
        self._sample_rate = 0
        self.seconds = 0.0

    def started(self, worker_id: str, sample_rate: int) -> None:
        """The rate of the file is known."""
        self._sample_rate = sample_rate

    def audio(self, pcm: bytes) -> None:
        """Kept until all files are there. Raises ApiError."""
        seconds = len(pcm) / (2 * self._sample_rate)
        self.seconds += seconds
        self._items.hold(seconds)
        super().audio(pcm)
