"""The client for asyncio: speech, chats, live sessions, voices and recordings of one service.

    async with AsyncClient("http://127.0.0.1:8006", api_key="...") as client:
        speech = await client.speak("Hello.", format="mp3")
        Path("hello.mp3").write_bytes(speech.audio)

Every failure is a `SpeechError`; its subclasses say whether the request, the key, the moment or the server is
at fault.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, overload

from voxfleet.client.chat import (
    CHAT_PATH,
    ChatAnswer,
    ChatItem,
    ChatStream,
    Messages,
    chat_request,
    whole_answer,
)
from voxfleet.client.connection import base_urls
from voxfleet.client.forms import Audio, adapter_files, audio_file, part, put_on_disk, whole
from voxfleet.client.live import LiveSession
from voxfleet.client.streaming import stream_speech
from voxfleet.client.trainings import AsyncTrainings
from voxfleet.client.transport import Transport

DEFAULT_URL = "http://127.0.0.1:8006"
TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True)
class Speech:
    """A whole clip and how it came about."""

    audio: bytes
    """The file, in the format that was asked for."""
    sample_rate: int
    audio_seconds: float
    first_audio_seconds: float
    seed: int
    finish_reason: str
    request_id: str
    session_id: str | None
    """The id of the recording, if there is one."""
    timestamps: dict[str, Any] | None = None
    """When words or characters are said, if `timestamps` asked for that."""


class AsyncClient:
    """A client of one gateway, or of several: streams use whichever lives, everything else goes to the first.

    It belongs to the event loop that it was used on first.

    Attributes:
        trainings: voices that are trained by recordings.
    """

    def __init__(
        self,
        base_url: str | Sequence[str] = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        key_in_subprotocol: bool = False,
    ) -> None:
        """`key_in_subprotocol`: send the key of a WebSocket as browsers do. Raises ValueError."""
        self._urls = base_urls(base_url)
        self._api_key = api_key
        self._key_in_subprotocol = key_in_subprotocol
        self._transport = Transport(self._urls[0], api_key, timeout_seconds)
        self._call = self._transport.call
        self.trainings = AsyncTrainings(self._call)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    # ------------------------------------------------------------------------------------------------ speech

    async def speak(self, text: str, **options: Any) -> Speech:
        """The whole clip; `options` are the other fields of `POST /tts`."""
        answer = await self._call("POST", "/tts", json={"text": text, **options, "stream": False})
        headers = answer.headers
        audio, timestamps = answer.content, None
        if headers["Content-Type"] == "application/json":
            told = answer.json()
            audio, timestamps = base64.b64decode(told["audio"]), told["timestamps"]
        return Speech(
            audio=audio,
            timestamps=timestamps,
            sample_rate=int(headers["X-Sample-Rate"]),
            audio_seconds=float(headers["X-Audio-Seconds"]),
            first_audio_seconds=float(headers["X-First-Audio-Seconds"]),
            seed=int(headers["X-Seed"]),
            finish_reason=headers["X-Finish-Reason"],
            request_id=headers["X-Request-Id"],
            session_id=headers.get("X-Session-Id"),
        )

    def stream(self, text: str, **options: Any) -> AsyncGenerator[dict[str, Any] | bytes, None]:
        """Messages and PCM while they come, see `stream_speech`; breaks are bridged."""
        return stream_speech(
            self._urls,
            text,
            api_key=self._api_key,
            key_in_subprotocol=self._key_in_subprotocol,
            **options,
        )

    def live(self, **options: Any) -> LiveSession:
        """A live session, for `async with`; `options` are the fields of its first message."""
        return LiveSession(self._urls[0], options, self._api_key, self._key_in_subprotocol)

    # ------------------------------------------------------------------------------------------------- chats

    async def chat(self, messages: Messages, **options: Any) -> ChatAnswer:
        """The whole answer of a text model; `options` are the other fields of `POST /v1/chat/completions`."""
        return whole_answer(await self._call("POST", CHAT_PATH, json=chat_request(messages, options)))

    @overload
    def stream_chat(
        self, messages: Messages, *, audio: None = None, stream_options: None = None, **options: Any
    ) -> ChatStream[str]: ...

    @overload
    def stream_chat(self, messages: Messages, **options: Any) -> ChatStream[ChatItem]: ...

    def stream_chat(
        self, messages: Messages, *, audio: Any = None, stream_options: Any = None, **options: Any
    ) -> ChatStream[Any]:
        """The answer while it is written, for `async for`; with `audio` spoken as well, see `ChatStream`."""
        return ChatStream(self._transport, chat_request(messages, options), audio, stream_options)

    # ------------------------------------------------------------------------------------------------ voices

    async def voices(self) -> list[dict[str, Any]]:
        """The voices there are, "default" first."""
        return (await self._call("GET", "/api/voices")).json()["voices"]

    async def consent_statement(self) -> str:
        """What the person whose voice it is agrees to."""
        return (await self._call("GET", "/api/voices/consent")).json()["statement"]

    async def create_voice(
        self,
        name: str,
        audio: Audio,
        *,
        tags: Sequence[str] = (),
        parameters: Mapping[str, Any] | None = None,
        denoise: bool = False,
        **fields: str,
    ) -> dict[str, Any]:
        """A new voice, with the "checks" of its audio: a file's bytes, or where it is.

        tags: words, or a text with commas between them. denoise: take out what is heard behind the speaker.
        `fields`: language, description, transcript, consent_by, consent_statement. Without the two of consent
        it can't be used.
        """
        form = {"name": name, **fields}
        if tags:
            form["tags"] = tags if isinstance(tags, str) else ",".join(tags)
        if parameters:
            form["parameters"] = json.dumps(parameters)
        if denoise:
            form["denoise"] = "true"
        files = await audio_file(audio)
        return (await self._call("POST", "/api/voices", once=True, data=form, files=files)).json()

    async def check_recording(self, audio: Audio, *, denoise: bool = False) -> dict[str, Any]:
        """What is heard in a recording, and what is wrong where: "usable", "checks". Nothing is kept."""
        form = {"denoise": "true"} if denoise else {}
        return (
            await self._call("POST", "/api/voices/checks", data=form, files=await audio_file(audio))
        ).json()

    async def try_voice(self, audio: Audio, **fields: str) -> bytes:
        """A sentence with the voice of a recording, as a wav file; nothing is kept.

        `fields`: those of `create_voice`, `denoise="true"`, and sentence_language. The consent is needed here
        too.
        """
        files = await audio_file(audio)
        return (await self._call("POST", "/api/voices/trial", data=fields, files=files)).content

    async def change_voice(self, voice_id: str, **fields: Any) -> dict[str, Any]:
        """Change what is said of a voice; the audio stays."""
        return (await self._call("PATCH", f"/api/voices/{part(voice_id)}", json=fields)).json()

    async def delete_voice(self, voice_id: str) -> None:
        """Delete a voice of one's own."""
        await self._call("DELETE", f"/api/voices/{part(voice_id)}")

    async def preview_voice(self, voice_id: str) -> bytes:
        """How a voice sounds, as a wav file."""
        return (await self._call("GET", f"/api/voices/{part(voice_id)}/preview")).content

    # ---------------------------------------------------------------------------------------------- adapters

    async def adapters(self) -> list[dict[str, Any]]:
        """The adapters that the caller may see. `speak`, `stream` and `live` take one as `adapter`."""
        return (await self._call("GET", "/api/adapters")).json()["adapters"]

    async def create_adapter(self, name: str, folder: str | Path, **fields: str) -> dict[str, Any]:
        """A new adapter of a folder that `voxfleet finetune`, the VoxCPM package or PEFT wrote.

        `fields`: description, model, consent_by, consent_statement. Without the two of consent it can't be
        used. Raises OSError where a file is missing.
        """
        config, weights = await asyncio.to_thread(adapter_files, folder)
        form = {"name": name, "config": config, **fields}
        files = {"weights": weights}
        return (await self._call("POST", "/api/adapters", once=True, data=form, files=files)).json()

    async def delete_adapter(self, adapter_id: str) -> None:
        """Delete an adapter of one's own; clips that are being spoken with it are finished."""
        await self._call("DELETE", f"/api/adapters/{part(adapter_id)}")

    # ---------------------------------------------------------------------------------------------- sessions

    async def sessions(self, limit: int = 50, before: str | None = None, search: str = "") -> dict[str, Any]:
        """The caller's recordings, newest first: {"sessions": [...], "next_before": ...}.

        search: those alone in which all of its words are said, or stand in title, comment or voice.
        """
        query: dict[str, Any] = {"limit": limit, "before": before, "search": search}
        given = {name: value for name, value in query.items() if value}
        return (await self._call("GET", "/api/sessions", params=given)).json()

    async def session(self, session_id: str) -> dict[str, Any]:
        """What a recording is, and its timeline."""
        return (await self._call("GET", f"/api/sessions/{part(session_id)}")).json()

    async def session_audio(self, session_id: str, utterance: int | None = None) -> bytes:
        """The wav file of all of it, or of one utterance."""
        tail = "" if utterance is None else f"/{utterance:d}"
        return (await self._call("GET", f"/api/sessions/{part(session_id)}/audio{tail}")).content

    async def download_session(self, session_id: str) -> bytes:
        """Everything of a recording as a zip file."""
        return (await self._call("GET", f"/api/sessions/{part(session_id)}/download")).content

    async def session_words(self, session_id: str, format: str = "json") -> bytes:
        """When the words of a recording are said: `srt`, `vtt` or `json`."""
        return (await self._call("GET", f"/api/sessions/{part(session_id)}/words.{part(format)}")).content

    async def delete_session(self, session_id: str) -> None:
        """Delete a recording."""
        await self._call("DELETE", f"/api/sessions/{part(session_id)}")

    # -------------------------------------------------------------------------------------------------- jobs

    async def start_job(self, text: str, **options: Any) -> dict[str, Any]:
        """Have a long text spoken while nobody waits; `options` are the other fields of `POST /api/jobs`."""
        order = {"text": text, **options}
        return (await self._call("POST", "/api/jobs", once=True, json=order)).json()["job"]

    async def jobs(self, limit: int = 50, before: str | None = None) -> dict[str, Any]:
        """The caller's jobs, the newest first: {"jobs": [...], "next_before": ...}."""
        query = {"limit": limit} | ({"before": before} if before else {})
        return (await self._call("GET", "/api/jobs", params=query)).json()

    async def job(self, job_id: str) -> dict[str, Any]:
        """How far a job is, and its chapters."""
        return (await self._call("GET", f"/api/jobs/{part(job_id)}")).json()["job"]

    async def cancel_job(self, job_id: str) -> dict[str, Any]:
        """Cancel a job; what was spoken is kept."""
        return (await self._call("POST", f"/api/jobs/{part(job_id)}/cancel")).json()["job"]

    async def resume_job(self, job_id: str) -> dict[str, Any]:
        """Go on with a job that was cancelled or failed."""
        return (await self._call("POST", f"/api/jobs/{part(job_id)}/resume")).json()["job"]

    async def delete_job(self, job_id: str) -> None:
        """End a job, and remove its text and audio."""
        await self._call("DELETE", f"/api/jobs/{part(job_id)}")

    async def job_words(self, job_id: str, format: str = "json") -> bytes:
        """When the words of a job that is complete are said: `srt`, `vtt` or `json`."""
        return (await self._call("GET", f"/api/jobs/{part(job_id)}/words.{part(format)}")).content

    async def save_job(self, job_id: str, path: Path | str, **options: Any) -> None:
        """Write the audio of a job that is complete, all of it or nothing.

        `options`: format, sample_rate, bit_rate. Raises OSError for a file that cannot be written.
        """
        address = f"/api/jobs/{part(job_id)}/result"
        async with self._transport.stream("GET", address, params=options) as answer:
            with whole(Path(path)) as partial, await asyncio.to_thread(partial.open, "wb") as file:
                async for piece in answer.aiter_bytes():
                    await asyncio.to_thread(file.write, piece)
                await asyncio.to_thread(put_on_disk, file)
