"""The same client for code without asyncio.

    with Client("http://127.0.0.1:8006") as client:
        for item in client.stream("Hello."):
            ...
        with client.live() as session:
            session.append("It is late. ")
            session.stop()
            for item in session:
                ...

A session may be iterated in one thread and spoken to from another.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Self, overload

from voxfleet.client.asynchronous import DEFAULT_URL, TIMEOUT_SECONDS, AsyncClient, Speech
from voxfleet.client.background import BackgroundLoop
from voxfleet.client.chat import ChatAnswer, ChatItem, ChatStream, Item, Messages
from voxfleet.client.forms import Audio
from voxfleet.client.live import LiveSession
from voxfleet.client.trainings import SyncTrainings


class Client:
    """As `AsyncClient`; each method waits for its result."""

    def __init__(
        self,
        base_url: str | Sequence[str] = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        key_in_subprotocol: bool = False,
    ) -> None:
        """As that of `AsyncClient`."""
        self._client = AsyncClient(
            base_url,
            api_key=api_key,
            timeout_seconds=timeout_seconds,
            key_in_subprotocol=key_in_subprotocol,
        )
        self._background = BackgroundLoop()
        self.trainings = SyncTrainings(self._client.trainings, self._background)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; streams that were not read to their end are cancelled."""
        self._background.close(self._client.close)

    def speak(self, text: str, **options: Any) -> Speech:
        """The whole clip; `options` are the other fields of `POST /tts`."""
        return self._background.run(self._client.speak(text, **options))

    def stream(self, text: str, **options: Any) -> Generator[dict[str, Any] | bytes, None, None]:
        """Messages and PCM while they come; breaks are bridged."""
        return self._background.iterate(self._client.stream(text, **options))

    def live(self, **options: Any) -> SyncLiveSession:
        """A live session, for `with`; `options` are the fields of its first message."""
        return SyncLiveSession(self._client.live(**options), self._background)

    def chat(self, messages: Messages, **options: Any) -> ChatAnswer:
        """The whole answer of a text model; `options` are the other fields of `POST /v1/chat/completions`."""
        return self._background.run(self._client.chat(messages, **options))

    @overload
    def stream_chat(
        self, messages: Messages, *, audio: None = None, stream_options: None = None, **options: Any
    ) -> SyncChatStream[str]: ...

    @overload
    def stream_chat(self, messages: Messages, **options: Any) -> SyncChatStream[ChatItem]: ...

    def stream_chat(self, messages: Messages, **options: Any) -> SyncChatStream[Any]:
        """The answer while it is written, for `for`; with `audio` spoken as well, see `AsyncClient`."""
        return SyncChatStream(self._client.stream_chat(messages, **options), self._background)

    def voices(self) -> list[dict[str, Any]]:
        """The voices there are, "default" first."""
        return self._background.run(self._client.voices())

    def consent_statement(self) -> str:
        """What the person whose voice it is agrees to."""
        return self._background.run(self._client.consent_statement())

    def create_voice(
        self,
        name: str,
        audio: Audio,
        *,
        tags: Sequence[str] = (),
        parameters: Mapping[str, Any] | None = None,
        denoise: bool = False,
        **fields: str,
    ) -> dict[str, Any]:
        """A new voice, with the "checks" of its audio; see `AsyncClient.create_voice`."""
        making = self._client.create_voice(
            name, audio, tags=tags, parameters=parameters, denoise=denoise, **fields
        )
        return self._background.run(making)

    def check_recording(self, audio: Audio, *, denoise: bool = False) -> dict[str, Any]:
        """What is heard in a recording, and what is wrong where; see `AsyncClient.check_recording`."""
        return self._background.run(self._client.check_recording(audio, denoise=denoise))

    def try_voice(self, audio: Audio, **fields: str) -> bytes:
        """A sentence with the voice of a recording, as a wav file; see `AsyncClient.try_voice`."""
        return self._background.run(self._client.try_voice(audio, **fields))

    def change_voice(self, voice_id: str, **fields: Any) -> dict[str, Any]:
        """Change what is said of a voice; the audio stays."""
        return self._background.run(self._client.change_voice(voice_id, **fields))

    def delete_voice(self, voice_id: str) -> None:
        """Delete a voice of one's own."""
        self._background.run(self._client.delete_voice(voice_id))

    def preview_voice(self, voice_id: str) -> bytes:
        """How a voice sounds, as a wav file."""
        return self._background.run(self._client.preview_voice(voice_id))

    def adapters(self) -> list[dict[str, Any]]:
        """The adapters that the caller may see. `speak`, `stream` and `live` take one as `adapter`."""
        return self._background.run(self._client.adapters())

    def create_adapter(self, name: str, folder: str | Path, **fields: str) -> dict[str, Any]:
        """A new adapter of the files in a folder; see `AsyncClient.create_adapter`."""
        return self._background.run(self._client.create_adapter(name, folder, **fields))

    def delete_adapter(self, adapter_id: str) -> None:
        """Delete an adapter of one's own."""
        self._background.run(self._client.delete_adapter(adapter_id))

    def sessions(self, limit: int = 50, before: str | None = None, search: str = "") -> dict[str, Any]:
        """The caller's recordings, newest first: {"sessions": [...], "next_before": ...}.

        search: those alone in which all of its words are said, or stand in title, comment or voice.
        """
        return self._background.run(self._client.sessions(limit, before, search))

    def session(self, session_id: str) -> dict[str, Any]:
        """What a recording is, and its timeline."""
        return self._background.run(self._client.session(session_id))

    def session_audio(self, session_id: str, utterance: int | None = None) -> bytes:
        """The wav file of all of it, or of one utterance."""
        return self._background.run(self._client.session_audio(session_id, utterance))

    def download_session(self, session_id: str) -> bytes:
        """Everything of a recording as a zip file."""
        return self._background.run(self._client.download_session(session_id))

    def session_words(self, session_id: str, format: str = "json") -> bytes:
        """When the words of a recording are said: `srt`, `vtt` or `json`."""
        return self._background.run(self._client.session_words(session_id, format))

    def delete_session(self, session_id: str) -> None:
        """Delete a recording."""
        self._background.run(self._client.delete_session(session_id))

    def start_job(self, text: str, **options: Any) -> dict[str, Any]:
        """Have a long text spoken while nobody waits; `options` are the other fields of `POST /api/jobs`."""
        return self._background.run(self._client.start_job(text, **options))

    def jobs(self, limit: int = 50, before: str | None = None) -> dict[str, Any]:
        """The caller's jobs, the newest first: {"jobs": [...], "next_before": ...}."""
        return self._background.run(self._client.jobs(limit, before))

    def job(self, job_id: str) -> dict[str, Any]:
        """How far a job is, and its chapters."""
        return self._background.run(self._client.job(job_id))

    def cancel_job(self, job_id: str) -> dict[str, Any]:
        """Cancel a job; what was spoken is kept."""
        return self._background.run(self._client.cancel_job(job_id))

    def resume_job(self, job_id: str) -> dict[str, Any]:
        """Go on with a job that was cancelled or failed."""
        return self._background.run(self._client.resume_job(job_id))

    def delete_job(self, job_id: str) -> None:
        """End a job, and remove its text and audio."""
        self._background.run(self._client.delete_job(job_id))

    def job_words(self, job_id: str, format: str = "json") -> bytes:
        """When the words of a job that is complete are said: `srt`, `vtt` or `json`."""
        return self._background.run(self._client.job_words(job_id, format))

    def save_job(self, job_id: str, path: Path | str, **options: Any) -> None:
        """Write the audio of a job that is complete; `options`: format, sample_rate, bit_rate."""
        self._background.run(self._client.save_job(job_id, path, **options))


class SyncChatStream(Generic[Item]):
    """As `ChatStream`, for `for`."""

    def __init__(self, stream: ChatStream[Item], background: BackgroundLoop) -> None:
        self._stream = stream
        self._background = background

    def __iter__(self) -> Generator[Item, None, None]:
        return self._background.iterate(aiter(self._stream))

    def close(self) -> None:
        """Give up what is not read yet."""
        self._background.run(self._stream.aclose())

    @property
    def answer(self) -> ChatAnswer | None:
        """The whole of it, once it is complete."""
        return self._stream.answer


class SyncLiveSession:
    """As `LiveSession`, for `with` and `for`."""

    def __init__(self, session: LiveSession, background: BackgroundLoop) -> None:
        self._session = session
        self._background = background

    def __enter__(self) -> Self:
        self._background.run(self._session.__aenter__())
        return self

    def __exit__(self, *failure: object) -> None:
        self._background.run(self._session.__aexit__(*failure))

    def __iter__(self) -> Generator[dict[str, Any] | bytes, None, None]:
        return self._background.iterate(aiter(self._session))

    @property
    def sample_rate(self) -> int | None:
        """Samples per second of the audio; known from "started" on."""
        return self._session.sample_rate

    @property
    def session_id(self) -> str | None:
        """The id of the recording, if there is one."""
        return self._session.session_id

    @property
    def received_samples(self) -> int:
        """Position in all audio of the session, that of cancelled text included."""
        return self._session.received_samples

    def append(self, text: str) -> None:
        """Add to the text. Sentences start as soon as they are complete."""
        self._background.run(self._session.append(text))

    def flush(self) -> None:
        """Speak what is incomplete too."""
        self._background.run(self._session.flush())

    def cancel(self, played_samples: int) -> None:
        """Barge-in, when so many samples of the session were heard."""
        self._background.run(self._session.cancel(played_samples))

    def pause(self) -> None:
        """Pause, up to the limit that "paused" names."""
        self._background.run(self._session.pause())

    def resume(self) -> None:
        """Go on after a pause."""
        self._background.run(self._session.resume())

    def stop(self) -> None:
        """Speak what is appended, then end with "done"."""
        self._background.run(self._session.stop())

    def report(self, *, underruns: int, played_samples: int, buffered_ms: float) -> None:
        """Tell how playback goes."""
        telling = self._session.report(
            underruns=underruns, played_samples=played_samples, buffered_ms=buffered_ms
        )
        self._background.run(telling)
