"""Latents of voices: encoded once per model, kept, and believed only when they are what they say."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import numpy as np
import pytest

from gateway.database import Voice
from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles
from gateway.voices.latents import LatentCache
from gateway.voices.resolution import CustomSpeaker
from gateway.workers.client import WorkerUnreachable
from tests.gateway.audio.files import speech, wav
from tests.gateway.stages.fleet import describe_model
from worker.protocol import EncodeResponse, Latents

AUDIO = wav(speech(0.5))
SHA = hashlib.sha256(AUDIO).hexdigest()
MODEL = describe_model(features=("reference", "prompt"))


class CountingClient:
    """A worker's `/encode` that makes latents out of what it is asked for."""

    def __init__(self, revision: str = "1", fails: bool = False) -> None:
        self.asked: list[str] = []
        self.revision = revision
        self.fails = fails
        self.control = self

    async def encode(self, audio: bytes, role: str) -> EncodeResponse:
        self.asked.append(role)
        await asyncio.sleep(0)
        if self.fails:
            raise WorkerUnreachable("it died")
        values = np.full((3, 4, 64), len(audio) + len(role), "<f4")
        latents = Latents(shape=values.shape, data=values.tobytes())
        return EncodeResponse(role=role, latents=latents, audio_seconds=1.0, model_revision=self.revision)


class HangingClient(CountingClient):
    """One that does not answer until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.goes_on = asyncio.Event(), asyncio.Event()

    async def encode(self, audio: bytes, role: str) -> EncodeResponse:
        self.began.set()
        answer = await super().encode(audio, role)
        await self.goes_on.wait()
        return answer


@pytest.fixture
async def store(tmp_path: Path) -> ContentFiles:
    store = ContentFiles(tmp_path, ".wav")
    await store.save(AUDIO, SHA)
    return store


@pytest.fixture
def cache(store: ContentFiles, tmp_path: Path) -> LatentCache:
    return LatentCache(store, tmp_path / "latents")


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "latents").glob("*"))


async def test_many_at_once_have_it_encoded_once(cache: LatentCache, tmp_path: Path) -> None:
    client = CountingClient()
    got = await asyncio.gather(*(cache.get(SHA, "reference", MODEL, client) for _ in range(20)))
    assert client.asked == ["reference"]
    assert all(latents is got[0] for latents in got)
    prompt = await cache.get(SHA, "prompt", MODEL, client)
    assert client.asked == ["reference", "prompt"] and prompt != got[0]
    assert len(files(tmp_path)) == 2


async def test_a_worker_that_fails_fails_its_own_request_alone(cache: LatentCache) -> None:
    bad, good = CountingClient(fails=True), CountingClient()
    results = await asyncio.gather(
        cache.get(SHA, "reference", MODEL, bad),
        cache.get(SHA, "reference", MODEL, good),
        return_exceptions=True,
    )
    assert isinstance(results[0], WorkerUnreachable)
    assert isinstance(results[1], Latents)


async def test_who_leaves_while_it_is_encoded_takes_nothing_along(cache: LatentCache) -> None:
    client = CountingClient()
    leaving = asyncio.create_task(cache.get(SHA, "reference", MODEL, client))
    staying = asyncio.create_task(cache.get(SHA, "reference", MODEL, client))
    while not client.asked:  # noqa: ASYNC110
        await asyncio.sleep(0)
    leaving.cancel()
    assert (await staying).shape == (3, 4, 64)


async def test_another_gateway_finds_them_on_disk(store: ContentFiles, tmp_path: Path) -> None:
    first, second, client = CountingClient(), CountingClient(), CountingClient("2")
    made = await LatentCache(store, tmp_path / "latents").get(SHA, "reference", MODEL, first)
    other = LatentCache(store, tmp_path / "latents")
    assert await other.get(SHA, "reference", MODEL, second) == made
    assert second.asked == []
    newer = describe_model(revision="2", features=("reference",))
    await other.get(SHA, "reference", newer, client)
    assert client.asked == ["reference"], "another model has latents of its own"


async def test_a_worker_that_changed_its_model_is_not_believed(cache: LatentCache, tmp_path: Path) -> None:
    with pytest.raises(WorkerUnreachable, match="model"):
        await cache.get(SHA, "reference", MODEL, CountingClient("other"))
    assert files(tmp_path) == []


@pytest.mark.parametrize("damage", ["empty", "cut", "bit", "other", "shape", "nan", "head", "pickle"])
async def test_a_damaged_file_is_made_anew(damage: str, store: ContentFiles, tmp_path: Path) -> None:
    made = await LatentCache(store, tmp_path / "latents").get(SHA, "reference", MODEL, CountingClient())
    (path,) = files(tmp_path)
    raw, nan = path.read_bytes(), np.full((3, 4, 64), np.nan, "<f4").tobytes()
    old = hashlib.sha256(made.data).hexdigest().encode()
    path.write_bytes(
        {
            "empty": b"",
            "cut": raw[:-4],
            "bit": raw[:-1] + bytes([raw[-1] ^ 1]),
            "other": raw.replace(SHA.encode(), b"0" * 64),
            "shape": raw.replace(b"[3, 4, 64]", b"[6, 2, 64]"),
            "nan": raw.replace(made.data, nan).replace(old, hashlib.sha256(nan).hexdigest().encode()),
            "head": raw.replace(b'{"revision"', b'["revision"'),
            "pickle": b"\x80\x04\x95",
        }[damage]
    )
    assert path.read_bytes() != raw
    client = CountingClient()
    assert await LatentCache(store, tmp_path / "latents").get(SHA, "reference", MODEL, client) == made
    assert client.asked == ["reference"]
    assert path.read_bytes() == raw


@pytest.mark.parametrize("damage", ["truncated", "of another voice", "a folder"])
async def test_nobody_speaks_with_audio_that_is_damaged(
    damage: str, cache: LatentCache, store: ContentFiles
) -> None:
    path, client = store.path(SHA), CountingClient()
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    else:
        path.write_bytes(AUDIO[:5] if damage == "truncated" else b"RIFF of somebody else")
    with pytest.raises(ApiError) as refused:
        await cache.get(SHA, "reference", MODEL, client)
    assert (refused.value.status_code, refused.value.code) == (503, "voices_unavailable")
    assert client.asked == []


async def test_memory_is_bounded_and_the_least_recently_used_goes(
    store: ContentFiles, tmp_path: Path
) -> None:
    size = 3 * 4 * 64 * 4
    cache = LatentCache(store, tmp_path / "latents", max_bytes=2 * size)
    models = [describe_model(revision=str(number), features=("reference",)) for number in range(3)]

    async def get(number: int) -> Latents:
        return await cache.get(SHA, "reference", models[number], CountingClient(str(number)))

    first, second = await get(0), await get(1)
    assert await get(0) is first
    await get(2)
    assert await get(0) is first
    again = await get(1)
    assert again is not second and again == second, "it came from the disk"


async def test_nothing_is_left_of_a_voice_that_was_deleted(
    cache: LatentCache, store: ContentFiles, tmp_path: Path
) -> None:
    client = CountingClient()
    await cache.get(SHA, "reference", MODEL, client)
    await store.delete(await store.set_aside(SHA))
    await cache.forget(SHA)
    assert files(tmp_path) == []
    with pytest.raises(ApiError) as refusal:
        await cache.get(SHA, "reference", MODEL, client)
    assert (refusal.value.status_code, refusal.value.code) == (404, "unknown_voice")


@pytest.mark.parametrize("sha256", ["", "../../etc/passwd", "AB" * 32, "a" * 63, "a" * 64 + "\n"])
def test_only_hashes_name_files(sha256: str, store: ContentFiles) -> None:
    with pytest.raises(ValueError, match="hash"):
        store.path(sha256)


@pytest.mark.parametrize(("transcript", "said"), [("Hello!", "Hello! "), ("你好。", "你好。")])
async def test_the_words_of_a_prompt_do_not_run_into_the_text(
    transcript: str, said: str, cache: LatentCache
) -> None:
    voice = Voice(audio_sha256=SHA, audio_seconds=8.0, transcript=transcript, parameters={})
    speaker = CustomSpeaker(voice, cache)
    assert (await speaker.encode(MODEL, CountingClient())).prompt_text == said


@pytest.mark.parametrize(
    ("features", "most_seconds", "transcript", "roles"),
    [
        (("reference", "prompt"), None, None, ["reference"]),
        (("reference", "prompt"), None, "Hello.", ["reference", "prompt"]),
        (("reference", "prompt"), 8.0, "Hello.", ["reference", "prompt"]),
        (("reference", "prompt"), 7.9, "Hello.", ["reference"]),
        (("reference",), None, "Hello.", ["reference"]),
        (("prompt",), 7.9, "Hello.", ["prompt"]),
    ],
)
async def test_a_transcript_makes_the_audio_a_prompt_where_the_model_takes_one(
    features: tuple[str, ...],
    most_seconds: float | None,
    transcript: str | None,
    roles: list[str],
    cache: LatentCache,
) -> None:
    client = CountingClient()
    voice = Voice(audio_sha256=SHA, audio_seconds=8.0, transcript=transcript, parameters={})
    speaker = CustomSpeaker(voice, cache)
    made = await speaker.encode(describe_model(features=features, max_prompt_seconds=most_seconds), client)
    assert client.asked == roles
    assert (made.reference_latents is not None) == ("reference" in roles)
    assert (made.prompt_latents is not None) == ("prompt" in roles)
    assert made.prompt_text == ("Hello. " if "prompt" in roles else None)
    assert made.voice == "default"


async def test_a_worker_that_hangs_holds_up_those_on_other_workers_for_a_moment_only(
    store: ContentFiles, tmp_path: Path
) -> None:
    cache = LatentCache(store, tmp_path / "latents", patience_seconds=0.01)
    hanging, sound = HangingClient(), CountingClient()
    stuck = [asyncio.create_task(cache.get(SHA, "reference", MODEL, hanging)) for _ in range(3)]
    await hanging.began.wait()
    async with asyncio.timeout(60):
        got = await asyncio.gather(*(cache.get(SHA, "reference", MODEL, sound) for _ in range(5)))
        assert all(latents is got[0] for latents in got)
        assert sound.asked == ["reference"]
        hanging.goes_on.set()
        assert all(latents is got[0] for latents in await asyncio.gather(*stuck))
    assert hanging.asked == ["reference"], "who waits for the same worker does not ask it again"
