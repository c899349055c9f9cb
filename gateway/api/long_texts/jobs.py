"""`/api/jobs`: texts that are spoken without anybody waiting, to start, follow, end and fetch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.responses import StreamingResponse

from gateway.api.permissions import MUTATION, check_admin, owner_of, seen_by
from gateway.api.transfer.file_response import RangedFileResponse, disposition
from gateway.api.transfer.repeats import KeyDep, asked_for
from gateway.api.transfer.word_files import beside, check_form, words_response
from gateway.audio.formats import (
    CONTENT_TYPES,
    bit_rate_problem,
    content_type_of,
    output_sample_rate,
    sample_rate_problem,
)
from gateway.audio.note import note_headers
from gateway.database import Job
from gateway.database.repeats import made_once
from gateway.errors import ApiError
from gateway.jobs import Jobs, audiobook
from gateway.jobs.files import JobFiles, is_job_id
from gateway.jobs.listing import describe
from gateway.jobs.request import JobRequest, check_job
from gateway.jobs.result import ResultFormat, marks_of, result_pieces, samples_of
from gateway.jobs.words import JobWords
from gateway.requests import BitRate
from gateway.service import Gateway, GatewayDep
from gateway.sessions.file_names import stem_of
from gateway.sessions.listing import page, parse_cursor

PATH = "/api/jobs"
UPLOAD_SECONDS = 60.0
router = APIRouter(prefix=PATH)


async def _jobs(request: Request) -> Jobs:
    return request.app.state.jobs


JobsDep = Annotated[Jobs, Depends(_jobs)]


def most_bytes(max_characters: int) -> int:
    """The largest body in bytes: JSON spells few characters in more than six."""
    return 6 * max_characters + (1 << 20)


@router.post("", dependencies=[MUTATION], status_code=202)
async def create_job(
    order: JobRequest,
    request: Request,
    gateway: GatewayDep,
    jobs: JobsDep,
    response: Response,
    key: KeyDep = None,
) -> dict[str, Any]:
    """Speak `text` as soon as nobody else needs the workers."""
    owner = owner_of(request, gateway)
    asked = asked_for(key, owner, order)

    async def make() -> Job:
        gateway.check_open()
        check_job(order, gateway.settings)
        await gateway.check_speaker(order, owner)
        return await jobs.create(order, owner, asked)

    job = await made_once(gateway.database, Job, asked, make)
    response.headers["Location"] = f"{PATH}/{job.id}"
    return {"job": describe(job, owner)}


@router.get("")
async def list_jobs(
    request: Request,
    gateway: GatewayDep,
    jobs: JobsDep,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(max_length=64)] = None,
    all: bool = False,
) -> dict[str, Any]:
    """One's own jobs, the newest first; with `all`, an administrator sees everybody's."""
    if all:
        check_admin(request, gateway)
    tenant = None if all else owner_of(request, gateway)
    cursor = parse_cursor(before, is_job_id) if before is not None else None
    rows = await jobs.store.list(tenant, limit, cursor)
    described, after = page(rows, lambda row: describe(row, tenant), limit, owners=all)
    return {"jobs": described, "next_before": after}


@router.get("/{id}")
async def get_job(id: str, request: Request, gateway: GatewayDep, jobs: JobsDep) -> dict[str, Any]:
    """How far it is, and the chapters that were spoken."""
    job, tenant = await _own(id, request, gateway, jobs)
    marks = await asyncio.to_thread(marks_of, jobs.files(job.id), job.sample_rate)
    chapters = [
        {"title": mark.title, "start_seconds": round(mark.start, 3), "end_seconds": round(mark.end, 3)}
        for mark in marks
    ]
    return {"job": {**describe(job, tenant), "chapters": chapters}}


@router.post("/{id}/cancel", dependencies=[MUTATION])
async def cancel_job(id: str, request: Request, gateway: GatewayDep, jobs: JobsDep) -> dict[str, Any]:
    """End it; what was spoken is kept."""
    job, tenant = await _own(id, request, gateway, jobs)
    await jobs.cancel(job)
    return {"job": describe(await _again(job, jobs), tenant)}


@router.post("/{id}/resume", dependencies=[MUTATION])
async def resume_job(id: str, request: Request, gateway: GatewayDep, jobs: JobsDep) -> dict[str, Any]:
    """Go on with one that was cancelled or failed."""
    job, tenant = await _own(id, request, gateway, jobs)
    await jobs.resume(job)
    return {"job": describe(await _again(job, jobs), tenant)}


@router.delete("/{id}", dependencies=[MUTATION], status_code=204)
async def delete_job(id: str, request: Request, gateway: GatewayDep, jobs: JobsDep) -> None:
    """End it, and remove its text and audio."""
    job, _ = await _own(id, request, gateway, jobs)
    await jobs.remove(job)


@router.get("/{id}/result", response_class=StreamingResponse)
async def get_result(
    id: str,
    request: Request,
    gateway: GatewayDep,
    jobs: JobsDep,
    format: Annotated[str | None, Query(max_length=16)] = None,
    sample_rate: Annotated[int | None, Query(ge=8000, le=48000)] = None,
    bit_rate: BitRate | None = None,
) -> Response:
    """The audio as a file, with chapter marks where the format has a place for them."""
    job, _ = await _own(id, request, gateway, jobs)
    _check_complete(job)
    files = jobs.files(job.id)
    wanted = await _wanted(files, job, format, sample_rate, bit_rate)
    await jobs.store.change(job.id, ("complete",))
    noted = gateway.settings.provenance_note
    if not files.audio.is_file():
        raise _no_audio()
    rate = output_sample_rate(wanted.format, wanted.sample_rate, job.sample_rate)
    suffix = wanted.format.partition("-")[0]
    headers = {
        "Content-Disposition": disposition(f"{stem_of(job)}.{suffix}"),
        "Content-Type": content_type_of(wanted.format, rate),
        "X-Sample-Rate": str(rate),
        **note_headers(noted),
    }
    if wanted.format == audiobook.FORMAT:
        return RangedFileResponse(await _audiobook(job, jobs, wanted), headers=headers)
    marks = await asyncio.to_thread(marks_of, files, job.sample_rate)
    pcm = samples_of(files.audio, job.audio_bytes, job.sample_rate)
    pieces = result_pieces(pcm, job.audio_bytes // 2, job.sample_rate, wanted, marks, noted=noted)
    return StreamingResponse(beside(pieces, jobs.encoders), headers=headers)


async def _audiobook(job: Job, jobs: Jobs, wanted: ResultFormat) -> Path:
    """Raises ApiError 404 for a job that goes meanwhile, 507."""
    try:
        return await jobs.audiobook(job, wanted)
    except FileNotFoundError:
        raise _no_audio() from None


def _no_audio() -> ApiError:
    return ApiError(404, "no_audio", "there is no audio")


@router.get("/{id}/words.{form}", response_class=StreamingResponse)
async def get_words(id: str, form: str, request: Request, gateway: GatewayDep, jobs: JobsDep) -> Response:
    """When its words are said: `words.srt`, `words.vtt` or `words.json`."""
    job, _ = await _own(id, request, gateway, jobs)
    check_form(form)
    _check_complete(job)
    if job.timestamps == "none":
        raise ApiError(404, "no_timestamps", "the job was asked for without timestamps", param="id")
    await jobs.store.change(job.id, ("complete",))
    told = JobWords(jobs.files(job.id).words, job.timestamps)
    return await words_response(told, stem_of(job), form, noted=gateway.settings.provenance_note)


def _check_complete(job: Job) -> None:
    if job.state != "complete":
        raise ApiError(409, "job_not_complete", f"the job is {job.state}, not complete", param="id")


async def _wanted(
    files: JobFiles, job: Job, format: str | None, sample_rate: int | None, bit_rate: int | None
) -> ResultFormat:
    """What the query says, else what the job was asked for with. Raises ApiError 422."""
    order = await asyncio.to_thread(lambda: files.request) or {}
    if format is None or format == job.format:
        sample_rate = sample_rate or order.get("sample_rate")
        bit_rate = bit_rate or order.get("bit_rate")
    chosen = checked_format(format or job.format).format
    if problem := sample_rate_problem(chosen, sample_rate):
        raise ApiError(422, "invalid_value", problem, param="sample_rate")
    if problem := bit_rate_problem(chosen, bit_rate):
        raise ApiError(422, "invalid_value", problem, param="bit_rate")
    return ResultFormat(chosen, sample_rate, bit_rate)


def checked_format(format: str, others: Sequence[str] = ()) -> ResultFormat:
    """One in which audio is told. `others` are for the message. Raises ApiError 422."""
    if format not in CONTENT_TYPES:
        message = f"format is one of {', '.join((*CONTENT_TYPES, *others))}"
        raise ApiError(422, "invalid_value", message, param="format")
    return ResultFormat(format)


async def _own(id: str, request: Request, gateway: Gateway, jobs: Jobs) -> tuple[Job, str | None]:
    """The job and who asks. Raises ApiError 404 for who may not see it."""
    job = await jobs.store.get(id) if is_job_id(id) else None
    if job is not None and job.book_id is not None:
        job = None  # which `/api/books` tells of
    return seen_by(job, request, gateway, ApiError(404, "unknown_job", "there is no such job", param="id"))


async def _again(job: Job, jobs: Jobs) -> Job:
    return await jobs.store.get(job.id) or job
