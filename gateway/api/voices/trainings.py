"""`/api/trainings`: voices that are trained by recordings, to fill, start, follow, hear and end.

A training belongs to whoever made it, as jobs do. What comes of it is a voice and an adapter like any other.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from gateway.api.permissions import MUTATION, check_admin, owner_of, seen_by
from gateway.api.transfer.file_response import RangedFileResponse
from gateway.api.transfer.repeats import KeyDep, asked_for, asked_with
from gateway.api.transfer.upload import TRAINING_PATH, uploaded
from gateway.audio.note import note_headers
from gateway.database import Training, TrainingRecording
from gateway.database.repeats import made_once
from gateway.errors import ApiError
from gateway.service import Gateway, GatewayDep
from gateway.settings import GatewaySettings
from gateway.training import Trainings
from gateway.training.files import is_training_id
from gateway.training.listing import describe, describe_all, describe_recording
from gateway.training.request import (
    LONGEST_RECORDING_SECONDS,
    MOST_STEPS,
    TrainingRequest,
    read_recording_form,
)
from gateway.training.store import unknown_training

router = APIRouter(prefix=TRAINING_PATH)


async def _trainings(request: Request) -> Trainings:
    return request.app.state.trainings


TrainingsDep = Annotated[Trainings, Depends(_trainings)]


@router.post("", dependencies=[MUTATION], status_code=201)
async def create_training(
    order: TrainingRequest,
    request: Request,
    gateway: GatewayDep,
    trainings: TrainingsDep,
    response: Response,
    key: KeyDep = None,
) -> dict[str, Any]:
    """A voice to be trained, which waits for recordings."""
    owner = owner_of(request, gateway)
    asked = asked_for(key, owner, order)

    async def make() -> Training:
        gateway.check_open()
        return await trainings.create(order, owner, asked)

    training = await made_once(gateway.database, Training, asked, make)
    response.headers["Location"] = f"{TRAINING_PATH}/{training.id}"
    return {"training": await describe(training, owner, gateway.database)}


@router.get("")
async def list_trainings(
    request: Request, gateway: GatewayDep, trainings: TrainingsDep, all: bool = False
) -> dict[str, Any]:
    """One's own trainings, the newest first, and whether and how much may be trained here; with `all`, an
    administrator sees everybody's.
    """
    if all:
        check_admin(request, gateway)
    tenant = None if all else owner_of(request, gateway)
    rows = await trainings.store.list(tenant)
    return {
        "trainings": await describe_all(rows, tenant, gateway.database),
        "enabled": gateway.settings.trains,
        "limits": _limits(gateway.settings),
    }


@router.get("/{id}")
async def get_training(
    id: str, request: Request, gateway: GatewayDep, trainings: TrainingsDep
) -> dict[str, Any]:
    """How far it is, what was found about its recordings, and what can be heard."""
    training, tenant = await _own(id, request, gateway, trainings)
    described = await describe(training, tenant, gateway.database)
    recordings = await trainings.store.recordings(training.id)
    described["recordings"] = [describe_recording(recording) for recording in recordings]
    return {"training": described}


@router.post("/{id}/recordings", dependencies=[MUTATION], status_code=201)
async def add_recording(
    id: str, request: Request, gateway: GatewayDep, trainings: TrainingsDep, key: KeyDep = None
) -> dict[str, Any]:
    """One more recording from multipart/form-data: the file `audio`, and `transcript` with what is said."""
    training, _ = await _own(id, request, gateway, trainings)
    trainings.check_on()
    async with uploaded(request, gateway, "audio", gateway.settings.max_voice_bytes) as (file, fields, owner):
        form = read_recording_form(fields)
        asked = await asked_with(key, owner, {**fields, "training": training.id}, file)

        async def make() -> TrainingRecording:
            return await trainings.add_recording(training, form, await gateway.voices.examine(file), asked)

        recording = await made_once(gateway.database, TrainingRecording, asked, make)
    return {"recording": describe_recording(recording)}


@router.delete("/{id}/recordings/{recording}", dependencies=[MUTATION], status_code=204)
async def delete_recording(
    id: str, recording: str, request: Request, gateway: GatewayDep, trainings: TrainingsDep
) -> None:
    """Remove one recording."""
    training, _ = await _own(id, request, gateway, trainings)
    await trainings.remove_recording(training, recording)


@router.post("/{id}/start", dependencies=[MUTATION], status_code=202)
async def start_training(
    id: str, request: Request, gateway: GatewayDep, trainings: TrainingsDep
) -> dict[str, Any]:
    """Train with the recordings that are there, or go on with a training that failed or was cancelled."""
    training, tenant = await _own(id, request, gateway, trainings)
    gateway.check_open()
    await trainings.start(training)
    return {"training": await describe(await _again(training, trainings), tenant, gateway.database)}


@router.post("/{id}/cancel", dependencies=[MUTATION])
async def cancel_training(
    id: str, request: Request, gateway: GatewayDep, trainings: TrainingsDep
) -> dict[str, Any]:
    """End it; recordings and what was learnt are kept for a later start."""
    training, tenant = await _own(id, request, gateway, trainings)
    await trainings.cancel(training)
    return {"training": await describe(await _again(training, trainings), tenant, gateway.database)}


@router.delete("/{id}", dependencies=[MUTATION], status_code=204)
async def delete_training(id: str, request: Request, gateway: GatewayDep, trainings: TrainingsDep) -> None:
    """End it, and remove its recordings. A voice that came of it stays."""
    training, _ = await _own(id, request, gateway, trainings)
    await trainings.remove(training.id)


@router.get("/{id}/samples/{sample}", response_class=Response)
async def get_sample(
    id: str, sample: str, request: Request, gateway: GatewayDep, trainings: TrainingsDep
) -> Response:
    """A sentence that was spoken by what was learnt so far, as wav."""
    training, _ = await _own(id, request, gateway, trainings)
    path = await asyncio.to_thread(trainings.files(training.id).sample, sample)
    if path is None:
        raise ApiError(404, "unknown_sample", "there is no such sample", param="sample")
    return RangedFileResponse(
        path, media_type="audio/wav", headers=note_headers(gateway.settings.provenance_note)
    )


def _limits(settings: GatewaySettings) -> dict[str, Any]:
    return {
        "recordings": settings.max_training_recordings,
        "minutes": settings.max_training_minutes,
        "recording_seconds": LONGEST_RECORDING_SECONDS,
        "recording_bytes": settings.max_voice_bytes,
        "steps": MOST_STEPS,
    }


async def _own(
    id: str, request: Request, gateway: Gateway, trainings: Trainings
) -> tuple[Training, str | None]:
    """The training and who asks. Raises ApiError 404 for who may not see it."""
    training = await trainings.store.get(id) if is_training_id(id) else None
    return seen_by(training, request, gateway, unknown_training())


async def _again(training: Training, trainings: Trainings) -> Training:
    return await trainings.store.get(training.id) or training
