"""Voices that are trained by recordings: `client.trainings` of both clients.

    training = await client.trainings.train(
        "Anna", Path("recordings"), consent_by="Anna Example", consent_statement="I agree that ..."
    )
    async for training in client.trainings.follow(training["id"]):
        print(training["state"], training["progress"])
    await client.speak("Hello.", voice=training["voice"])

A training is a dict as `GET /api/trainings/{id}` tells it. Every failure is a `SpeechError`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import httpx

from voxfleet.client.background import BackgroundLoop
from voxfleet.client.errors import CapacityError, ServerError, SpeechError, UnreachableError
from voxfleet.client.forms import Audio, audio_file, part, well_formed

Call = Callable[..., Awaitable[httpx.Response]]
Recordings = str | Path | Iterable[tuple[Audio, str]]
"""Each with what is said in it, or a folder in which a txt file of the same name says so."""
LOOK_SECONDS = 2.0
PATIENCE_SECONDS = 60.0
"""With a service that fails or is away while a training is followed, as one that is restarted."""
_PASSING = (CapacityError, ServerError, UnreachableError)
_PATH = "/api/trainings"
_AUDIO = frozenset({".wav", ".flac", ".aif", ".aiff", ".mp3", ".aac", ".m4a", ".ogg", ".opus", ".webm"})
_WORKED_ON = ("queued", "running")


class AsyncTrainings:
    """See the module."""

    def __init__(self, call: Call) -> None:
        """`call`: of a client."""
        self._call = call

    async def consent_statement(self) -> str:
        """What the person whose voice it is agrees to."""
        return (await self._call("GET", "/api/adapters/consent")).json()["statement"]

    async def train(self, name: str, recordings: Recordings, **fields: Any) -> dict[str, Any]:
        """Train a voice called `name`: send the recordings and start.

        `fields`: those of `create`. Where a recording is refused nothing stays, and a note of the error names
        it. Raises OSError for files that cannot be read.
        """
        spoken = await asyncio.to_thread(_with_words, recordings)
        id = (await self.create(name, **fields))["id"]
        try:
            for number, (audio, transcript) in enumerate(spoken, 1):
                is_named = isinstance(audio, str | Path)
                called = well_formed(Path(audio).name) if is_named else f"recording {number}"
                try:
                    await self.add_recording(id, audio, transcript, name=called)
                except SpeechError as error:
                    error.add_note(f"of {called}")
                    raise
            return await self.start(id)
        except BaseException:
            await self.delete(id)
            raise

    async def create(self, name: str, **fields: Any) -> dict[str, Any]:
        """A training that waits for recordings. `fields`: consent_by, consent_statement, language, steps."""
        return (await self._call("POST", _PATH, once=True, json={"name": name, **fields})).json()["training"]

    async def add_recording(
        self, training_id: str, audio: Audio, transcript: str, *, name: str | None = None
    ) -> dict[str, Any]:
        """Add a recording; the answer has remarks on it ("checks"). name: what it is called in findings."""
        form = {"transcript": transcript} | ({"name": name} if name else {})
        path, files = f"{_path(training_id)}/recordings", await audio_file(audio)
        answer = await self._call("POST", path, once=True, data=form, files=files)
        return answer.json()["recording"]

    async def delete_recording(self, training_id: str, recording_id: str) -> None:
        """Delete a recording, while the training does not run."""
        await self._call("DELETE", f"{_path(training_id)}/recordings/{part(recording_id)}")

    async def list(self) -> list[dict[str, Any]]:
        """The trainings of the caller, the newest first."""
        return (await self._call("GET", _PATH)).json()["trainings"]

    async def get(self, training_id: str) -> dict[str, Any]:
        """How far a training is, what was found about its recordings, and which samples can be heard."""
        return (await self._call("GET", _path(training_id))).json()["training"]

    async def follow(
        self, training_id: str, *, every_seconds: float = LOOK_SECONDS
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The training as it is, and again whenever it has changed, until nobody works on it any more.

        The last one tells how it ended: `state` is complete, with the `voice`, failed, with the `error`, or
        cancelled. A service that does not answer for a minute ends the loop, or one that did not at first.
        """
        training = await self.get(training_id)
        yield training
        while training["state"] in _WORKED_ON:
            await asyncio.sleep(every_seconds)
            before, training = training, await self._look_again(training_id, every_seconds)
            if training != before:
                yield training

    async def _look_again(self, training_id: str, every_seconds: float) -> dict[str, Any]:
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return await self.get(training_id)
            except _PASSING as error:
                pause_seconds = max(every_seconds, error.retry_after_seconds or 0.0)
                if time.monotonic() + pause_seconds > give_up_at:
                    raise
            await asyncio.sleep(pause_seconds)

    async def wait(self, training_id: str, *, every_seconds: float = LOOK_SECONDS) -> dict[str, Any]:
        """Wait until nobody works on the training any more: the last of `follow`."""
        async for training in self.follow(training_id, every_seconds=every_seconds):
            last = training
        return last

    async def sample(self, training_id: str, sample_id: str) -> bytes:
        """A sentence that was spoken by what was learnt so far, as a wav file."""
        return (await self._call("GET", f"{_path(training_id)}/samples/{part(sample_id)}")).content

    async def start(self, training_id: str) -> dict[str, Any]:
        """Train, or go on with one that was cancelled or failed."""
        return (await self._call("POST", f"{_path(training_id)}/start")).json()["training"]

    async def cancel(self, training_id: str) -> dict[str, Any]:
        """Cancel a training; recordings and what was learnt stay, so that `start` goes on."""
        return (await self._call("POST", f"{_path(training_id)}/cancel")).json()["training"]

    async def delete(self, training_id: str) -> None:
        """Delete a training with its recordings. A voice that came of it stays."""
        await self._call("DELETE", _path(training_id))


class SyncTrainings:
    """As `AsyncTrainings`; each method waits for its result."""

    def __init__(self, trainings: AsyncTrainings, background: BackgroundLoop) -> None:
        self._trainings, self._background = trainings, background

    def consent_statement(self) -> str:
        """What the person whose voice it is agrees to."""
        return self._background.run(self._trainings.consent_statement())

    def train(self, name: str, recordings: Recordings, **fields: Any) -> dict[str, Any]:
        """Train a voice called `name`: send the recordings and start; see `AsyncTrainings.train`."""
        return self._background.run(self._trainings.train(name, recordings, **fields))

    def create(self, name: str, **fields: Any) -> dict[str, Any]:
        """A training that waits for recordings. `fields`: consent_by, consent_statement, language, steps."""
        return self._background.run(self._trainings.create(name, **fields))

    def add_recording(
        self, training_id: str, audio: Audio, transcript: str, *, name: str | None = None
    ) -> dict[str, Any]:
        """Add a recording; the answer has remarks on it ("checks"). name: what it is called in findings."""
        return self._background.run(self._trainings.add_recording(training_id, audio, transcript, name=name))

    def delete_recording(self, training_id: str, recording_id: str) -> None:
        """Delete a recording, while the training does not run."""
        self._background.run(self._trainings.delete_recording(training_id, recording_id))

    def list(self) -> list[dict[str, Any]]:
        """The trainings of the caller, the newest first."""
        return self._background.run(self._trainings.list())

    def get(self, training_id: str) -> dict[str, Any]:
        """How far a training is, what was found about its recordings, and which samples can be heard."""
        return self._background.run(self._trainings.get(training_id))

    def follow(
        self, training_id: str, *, every_seconds: float = LOOK_SECONDS
    ) -> Generator[dict[str, Any], None, None]:
        """The training whenever it has changed, until it has ended; see `AsyncTrainings.follow`."""
        return self._background.iterate(self._trainings.follow(training_id, every_seconds=every_seconds))

    def wait(self, training_id: str, *, every_seconds: float = LOOK_SECONDS) -> dict[str, Any]:
        """Wait until nobody works on the training any more: the last of `follow`."""
        return self._background.run(self._trainings.wait(training_id, every_seconds=every_seconds))

    def sample(self, training_id: str, sample_id: str) -> bytes:
        """A sentence that was spoken by what was learnt so far, as a wav file."""
        return self._background.run(self._trainings.sample(training_id, sample_id))

    def start(self, training_id: str) -> dict[str, Any]:
        """Train, or go on with one that was cancelled or failed."""
        return self._background.run(self._trainings.start(training_id))

    def cancel(self, training_id: str) -> dict[str, Any]:
        """Cancel a training; recordings and what was learnt stay, so that `start` goes on."""
        return self._background.run(self._trainings.cancel(training_id))

    def delete(self, training_id: str) -> None:
        """Delete a training with its recordings. A voice that came of it stays."""
        self._background.run(self._trainings.delete(training_id))


def _path(training_id: str) -> str:
    return f"{_PATH}/{part(training_id)}"


def _with_words(recordings: Recordings) -> list[tuple[Audio, str]]:
    """Blocks. Raises OSError."""
    if not isinstance(recordings, str | Path):
        return [*recordings]
    files = sorted(file for file in Path(recordings).iterdir() if file.suffix.lower() in _AUDIO)
    return [(file, file.with_suffix(".txt").read_text(encoding="utf-8-sig").strip()) for file in files]
