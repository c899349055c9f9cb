"""Reference audio as a model takes it: encoded once by a worker, then kept in memory and on disk.

Latents belong to a model's revision, an audio file and a role. Files are named by hashes of these and say of
themselves what they hold; one that does not agree with itself is encoded anew. A worker that is asked again
answers with the same latents, and equal latents share the engine's cache blocks.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Literal
from weakref import WeakValueDictionary

import numpy as np
import structlog

from gateway.audio.wav import header_sample_rate
from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles
from gateway.files.plain_files import read_file
from gateway.workers.client import WorkerClient, WorkerUnreachable
from worker.protocol import Latents, ModelDescription

logger = structlog.get_logger(__name__)

AudioRole = Literal["reference", "prompt"]
Key = tuple[str, str, AudioRole]
"""Revision, hash of the audio, role."""
_MAGIC = b"voxfleet latents 1\n"
_HEAD = struct.Struct("<I")


class LatentCache:
    """Latents by model, audio and role; `max_bytes` of them in memory, all of them on disk."""

    def __init__(
        self,
        store: ContentFiles,
        directory: Path,
        max_bytes: int = 64 << 20,
        patience_seconds: float = 5.0,
    ) -> None:
        """`patience_seconds`: how long a request waits for another one's worker while it holds its own."""
        self._store = store
        self._directory = directory
        self._max_bytes = max_bytes
        self._patience_seconds = patience_seconds
        self._held: OrderedDict[Key, Latents] = OrderedDict()
        self._held_bytes = 0
        self._locks: WeakValueDictionary[tuple[Key, WorkerClient | None], asyncio.Lock] = (
            WeakValueDictionary()
        )
        """Held by who finds or makes latents, and by who does so with that worker."""

    async def get(
        self, audio_sha256: str, role: AudioRole, model: ModelDescription, client: WorkerClient
    ) -> Latents:
        """The latents; the worker behind `client`, which serves `model`, encodes what nobody encoded yet.

        One worker does so for all who ask meanwhile. One that takes long may hang: others are then asked too.

        Raises ApiError 404 when the audio is gone, 503 when it cannot be read or is damaged, and what
        `WorkerControl.encode` raises.
        """
        key = (model.revision, audio_sha256, role)
        if (held := self._find(key)) is not None:
            return held
        async with self._lock(key, client):
            first = self._lock(key)
            try:
                async with asyncio.timeout(self._patience_seconds):
                    await first.acquire()
            except TimeoutError:
                return await self._find_or_make(key, model, client)
            try:
                return await self._find_or_make(key, model, client)
            finally:
                first.release()

    async def forget(self, audio_sha256: str) -> None:
        """Drop everything about an audio file that is no longer used."""
        for key in [key for key in self._held if key[1] == audio_sha256]:
            self._held_bytes -= len(self._held.pop(key).data)
        await asyncio.to_thread(self._delete_files, audio_sha256)

    def _lock(self, key: Key, client: WorkerClient | None = None) -> asyncio.Lock:
        return self._locks.setdefault((key, client), asyncio.Lock())

    def _find(self, key: Key) -> Latents | None:
        """The latents that are held in memory, if any."""
        if key in self._held:
            self._held.move_to_end(key)
        return self._held.get(key)

    async def _find_or_make(self, key: Key, model: ModelDescription, client: WorkerClient) -> Latents:
        if (held := self._find(key)) is not None:
            return held
        path = self._path(key)
        latents = await asyncio.to_thread(_load, path, key, model)
        if latents is None:
            latents = await self._encode(key, path, model, client)
        return self._hold(key, latents)

    async def _encode(self, key: Key, path: Path, model: ModelDescription, client: WorkerClient) -> Latents:
        _, audio_sha256, role = key
        try:
            audio = await asyncio.to_thread(self._store.read, audio_sha256)
        except OSError as error:
            logger.error("the audio of a voice cannot be read", file=audio_sha256, error=str(error)[:200])
            raise ApiError(503, "voices_unavailable", "the audio of this voice cannot be read") from error
        if audio is None:
            raise ApiError(404, "unknown_voice", "the audio of this voice was deleted", param="voice")
        latents = await _encoded(audio, role, model, client)
        try:
            await asyncio.to_thread(self._write, path, key, latents)
        except OSError as error:
            logger.warning("latents were not kept", error=type(error).__name__)
        return latents

    def _write(self, path: Path, key: Key, latents: Latents) -> None:
        self._store.write(path, _pack(key, latents))
        if not self._store.path(key[1]).exists():  # the voice was deleted meanwhile
            path.unlink(missing_ok=True)

    def _hold(self, key: Key, latents: Latents) -> Latents:
        """Keep them, and return what is kept: the first, if another worker made them too."""
        if (held := self._find(key)) is not None:
            return held
        self._held[key] = latents
        self._held_bytes += len(latents.data)
        while self._held_bytes > self._max_bytes and len(self._held) > 1:
            _, dropped = self._held.popitem(last=False)
            self._held_bytes -= len(dropped.data)
        return latents

    def _path(self, key: Key) -> Path:
        revision, audio_sha256, role = key
        model = hashlib.sha256(revision.encode()).hexdigest()[:32]
        return self._directory / f"{audio_sha256}.{model}.{role}.latents"

    def _delete_files(self, audio_sha256: str) -> None:
        for path in self._directory.glob(f"{audio_sha256}.*.latents"):
            path.unlink(missing_ok=True)


class PassingLatents:
    """Latents of one recording that is kept nowhere, made anew by each worker that is asked."""

    def __init__(self, audio: bytes) -> None:
        """`audio`: a wav file."""
        self._audio = audio

    async def get(
        self, audio_sha256: str, role: AudioRole, model: ModelDescription, client: WorkerClient
    ) -> Latents:
        """The latents, encoded by the worker behind `client`. Raises what `WorkerControl.encode` raises."""
        return await _encoded(self._audio, role, model, client)


async def _encoded(audio: bytes, role: AudioRole, model: ModelDescription, client: WorkerClient) -> Latents:
    """What the worker makes of a wav file, as `model` takes it. Raises what `WorkerControl.encode` raises."""
    encoded = await client.control.encode(audio, role)
    if encoded.model_revision != model.revision:
        raise WorkerUnreachable("the worker changed its model")
    try:
        _check(encoded.latents, model)
        if encoded.latents.shape[0] > _most_patches(audio, model):
            raise ValueError("there are more than of that much audio")
    except ValueError as error:
        raise WorkerUnreachable(f"the worker's latents cannot be used: {error}") from error
    return encoded.latents


def _most_patches(audio: bytes, model: ModelDescription) -> int:
    """Of a wav file as this gateway writes them: mono, 16 bits."""
    seconds = len(audio) / (2 * header_sample_rate(audio))
    return math.ceil(seconds / model.patch_seconds) + 1


def _pack(key: Key, latents: Latents) -> bytes:
    """The file: magic, length and JSON of its head, float32 little-endian data."""
    head = json.dumps(_head(key, latents.shape, latents.data)).encode()
    return _MAGIC + _HEAD.pack(len(head)) + head + latents.data


def _head(key: Key, shape: tuple[int, int, int], data: bytes) -> dict[str, object]:
    revision, audio_sha256, role = key
    return {
        "revision": revision,
        "audio": audio_sha256,
        "role": role,
        "shape": list(shape),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def _load(path: Path, key: Key, model: ModelDescription) -> Latents | None:
    """What a file holds; None when there is none, or it is not what its name says."""
    try:
        raw = read_file(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        logger.warning("latents cannot be read", error=type(error).__name__)
        return None
    try:
        return _unpack(raw, key, model)
    except (ValueError, TypeError, KeyError, struct.error) as error:
        logger.warning("a file of latents is damaged and will be made anew", error=str(error)[:200])
        return None


def _unpack(raw: bytes, key: Key, model: ModelDescription) -> Latents:
    if not raw.startswith(_MAGIC):
        raise ValueError("not a file of latents")
    (length,) = _HEAD.unpack_from(raw, len(_MAGIC))
    start = len(_MAGIC) + _HEAD.size
    head, data = json.loads(raw[start : start + length]), raw[start + length :]
    latents = Latents(shape=head["shape"], data=data)
    if head != _head(key, latents.shape, data):
        raise ValueError("it holds something else")
    _check(latents, model)
    return latents


def _check(latents: Latents, model: ModelDescription) -> None:
    """Raises ValueError for what the model could not have made."""
    patches, *shape = latents.shape
    if not patches or shape != [model.patch_size, model.latent_dim]:
        raise ValueError("its shape is not the model's")
    if not np.isfinite(np.frombuffer(latents.data, "<f4")).all():
        raise ValueError("it has values that are no numbers")
