"""The header by which clients repeat a request that makes something, without making it twice.

async def create_job(order: JobRequest, key: KeyDep = None): ...

job = await made_once(gateway.database, Job, asked_for(key, owner, order), make)
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import Annotated

from fastapi import Header
from pydantic import AfterValidator, BaseModel

from gateway.database.repeats import HEADER, NOT_ASKED, Asked

_PIECE_BYTES = 1 << 20

_SENDABLE = re.compile("[!-~]+")


def _sendable(key: str | None) -> str | None:
    if key is not None and not _SENDABLE.fullmatch(key):
        raise ValueError("a key is of ASCII characters, without spaces")
    return key


KeyDep = Annotated[
    str | None,
    Header(
        alias=HEADER,
        max_length=255,
        description="Any random name, in ASCII without spaces. "
        "The same request with the same key gets what it has made already.",
    ),
    AfterValidator(_sendable),
]


def asked_for(key: str | None, owner: str, order: BaseModel) -> Asked:
    """What was asked with a JSON body, however that is spelt and whatever fields it leaves out."""
    return Asked.of(key, owner, order.model_dump_json(exclude_unset=True)) if key is not None else NOT_ASKED


async def asked_with(key: str | None, owner: str, fields: Mapping[str, str], file: int) -> Asked:
    """What was asked with a form that has an open file."""
    if key is None:
        return NOT_ASKED
    return Asked.of(key, owner, json.dumps([sorted(fields.items()), await asyncio.to_thread(_sum_of, file)]))


def _sum_of(file: int) -> str:
    """Blocks. Leaves the file where it is."""
    digest, place = hashlib.sha256(), 0
    while piece := os.pread(file, _PIECE_BYTES, place):
        digest.update(piece)
        place += len(piece)
    return digest.hexdigest()
