"""An uploaded file: who may send one, how large it may be and how long it may take.

async with uploaded(request, gateway, "audio", gateway.settings.max_voice_bytes) as (file, fields, owner):
    voice, checks = await gateway.voices.create(file, read_form(fields), owner)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData, UploadFile

from gateway.api.permissions import owner_of
from gateway.errors import ApiError
from gateway.service import Gateway

DOCUMENT_PATH = "/api/documents"
AUDIO_PATHS = (
    "/api/voices",
    "/api/voices/checks",
    "/api/voices/trial",
    "/v1/audio/voices",
    "/v1/audio/voice_consents",
)
ADAPTER_PATH = "/api/adapters"
TRAINING_PATH = "/api/trainings"
UPLOAD_PATHS = (*AUDIO_PATHS, ADAPTER_PATH, DOCUMENT_PATH, f"{TRAINING_PATH}/")
"""Where bodies may be larger and take longer; one that ends with a slash: everywhere below it."""
UPLOAD_SECONDS = 120.0
_MAX_FIELDS = 16
_MAX_FIELD_BYTES = 1 << 16
_LONGEST_KIND = 1000
"""Characters of a Content-Type, of which the one that counts is the boundary. Reading 64 KB takes 0.1 s."""


@asynccontextmanager
async def uploaded(
    request: Request, gateway: Gateway, name: str, max_bytes: int
) -> AsyncIterator[tuple[int, dict[str, str], str]]:
    """The file that is called `name` in the form as an open descriptor, the other fields, and who sends it.

    What is done with it may take longer than the upload. Raises ApiError: 401, 403 for the sender, 408, 413,
    422, 429.
    """
    owner = owner_of(request, gateway)
    with gateway.voices.uploads.place(owner):
        try:
            async with asyncio.timeout(UPLOAD_SECONDS) as deadline, _form_of(request) as parts:
                deadline.reschedule(None)
                upload, fields = _parts_of(dict(parts), name, max_bytes)
                yield await asyncio.to_thread(_descriptor, upload), fields, owner
        except TimeoutError:
            if not deadline.expired():
                raise
            message = f"the upload took more than {UPLOAD_SECONDS:g} s"
            raise ApiError(408, "body_timeout", message) from None


@asynccontextmanager
async def _form_of(request: Request) -> AsyncIterator[FormData]:
    """The parts of an upload, for as long as the block lasts; none of a form that can hold no file.

    Raises HTTPException or ApiError 400 for a broken form.
    """
    kind = request.headers.get("content-type", "")
    if not kind.lower().startswith("multipart/form-data"):
        yield FormData()
        return
    if len(kind) > _LONGEST_KIND:
        raise ApiError(400, "bad_request", f"a form's Content-Type has at most {_LONGEST_KIND} characters")
    try:
        parts = await request.form(max_files=1, max_fields=_MAX_FIELDS, max_part_size=_MAX_FIELD_BYTES)
    except UnicodeError:
        raise ApiError(400, "bad_request", "the form cannot be read in the charset that it names") from None
    try:
        yield parts
    finally:
        await parts.close()


def _parts_of(parts: dict[str, Any], name: str, max_bytes: int) -> tuple[UploadFile, dict[str, str]]:
    """File and fields of an upload. Raises ApiError."""
    upload = parts.pop(name, None)
    if not isinstance(upload, UploadFile) or not upload.size:
        message = f"{name}: a file is needed, in multipart/form-data"
        raise ApiError(422, "missing_field", message, param=name)
    if upload.size > max_bytes:
        raise ApiError(413, "too_large", f"{name}: at most {max_bytes} bytes are allowed", param=name)
    for field, value in parts.items():
        if not isinstance(value, str):
            raise ApiError(422, "invalid_value", f"{field[:64]}: is no file", param=field[:64])
    return upload, parts


def _descriptor(upload: UploadFile) -> int:
    """The descriptor of the upload as a real file: small ones are in memory until now. Blocks."""
    file = upload.file.fileno()
    upload.file.flush()
    return file
