"""What comes of a training: an adapter that workers have read, and a voice that speaks with it.

The voice's reference is a recording of the training, since adapters drift less with one.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from gateway.adapters.fields import AdapterForm
from gateway.adapters.registry import ADAPTERS
from gateway.database import Training, TrainingRecording
from gateway.errors import ApiError
from gateway.files.plain_files import descriptor_of
from gateway.service import Gateway
from gateway.training.files import TrainingFiles
from gateway.training.learnt import voice_id_of
from gateway.voices.fields import VoiceForm, validated

_BEST_SECONDS = 8.0
"""The best length of a reference."""
_MOST_NAMES = 50
_LONGEST_NAME = 80


async def make_adapter(gateway: Gateway, training: Training, files: TrainingFiles) -> str:
    """Its id; what was made before is not made again. Raises ApiError, OSError."""
    if training.adapter_id and await gateway.adapters.has(training.adapter_id):
        return training.adapter_id
    own_id = ADAPTERS.id_of(training.id, await asyncio.to_thread(files.digest_of_weights))
    if await gateway.adapters.has(own_id):
        return own_id
    config = await asyncio.to_thread(lambda: files.config)
    base = json.loads(config).get("base_model")
    served = {worker.model.name for worker in gateway.pool.workers.values() if worker.model is not None}
    form = {"config": config, "model": base if base in served else None}

    async def make(name: str, weights: int) -> str:
        fields = validated(AdapterForm, {**form, "name": name, **_consent(training)})
        return (await gateway.adapters.create(weights, fields, training.owner, own_id)).id

    id = await _under_a_free_name(training.name, files.weights, make)
    gateway.operations.log.say("adapter", id, "adapter_added", owner=training.owner, adapter=id)
    return id


async def make_voice(
    gateway: Gateway, training: Training, files: TrainingFiles, recordings: Sequence[TrainingRecording]
) -> str:
    """Its id; what was made before is not made again. Raises ApiError, OSError."""
    own_id = voice_id_of(str(training.adapter_id))
    if await gateway.voices.has(own_id):
        return own_id
    reference = files.recording(reference_of(recordings).id)

    async def make(name: str, audio: int) -> str:
        fields = {"name": name, "parameters": {"adapter": training.adapter_id}, **_consent(training)}
        if training.language is not None:
            fields["language"] = training.language
        form = validated(VoiceForm, fields)
        return (await gateway.voices.create(audio, form, training.owner, own_id))[0].id

    id = await _under_a_free_name(training.name, reference, make)
    gateway.operations.log.say("voice", id, "voice_added", owner=training.owner, voice=id)
    return id


def reference_of(recordings: Sequence[TrainingRecording]) -> TrainingRecording:
    """The best recording by remarks and length: what the model learnt from, it takes as a reference, too."""

    def badness(one: TrainingRecording) -> tuple[int, float]:
        remarks = sum(check["severity"] != "info" for check in one.checks)
        return remarks, abs(one.audio_seconds - _BEST_SECONDS)

    return min(recordings, key=badness)


async def _under_a_free_name(name: str, path: Path, make: Callable[[str, int], Awaitable[str]]) -> str:
    """The id of what is made of an open file, called "Anna", or "Anna 2" where somebody has that name.

    Raises ApiError, OSError.
    """
    file = await asyncio.to_thread(descriptor_of, path, os.O_RDONLY)
    try:
        for number in range(1, _MOST_NAMES):
            suffix = f" {number}" if number > 1 else ""
            try:
                return await make(name[: _LONGEST_NAME - len(suffix)].rstrip() + suffix, file)
            except ApiError as error:
                if error.code != "name_taken":
                    raise
    finally:
        os.close(file)
    raise ApiError(409, "name_taken", f"there are many called {name!r} already", param="name")


def _consent(training: Training) -> dict[str, str]:
    return {"consent_by": training.consent_by, "consent_statement": training.consent_statement}
