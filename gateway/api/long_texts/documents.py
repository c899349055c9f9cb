"""`POST /api/documents`: a file as chapters and paragraphs of a book. Nothing of it is kept."""

from __future__ import annotations

import asyncio
import json

from fastapi import APIRouter, Request, Response

from gateway.api.permissions import MUTATION
from gateway.api.transfer.upload import DOCUMENT_PATH, uploaded
from gateway.documents.reading import Documents
from gateway.errors import ApiError
from gateway.service import GatewayDep

router = APIRouter()


@router.post(DOCUMENT_PATH, dependencies=[MUTATION], response_class=Response)
async def read_document(request: Request, gateway: GatewayDep) -> Response:
    """The text of the file `file` in multipart/form-data, as blocks of a book."""
    documents: Documents = request.app.state.documents
    limit = gateway.settings.max_document_bytes
    async with uploaded(request, gateway, "file", limit) as (file, fields, _):
        if fields:
            name = next(iter(fields))[:64]
            raise ApiError(422, "unknown_field", f"{name}: is no field of a document", param=name)
        document = await documents.read(file)
    told = await asyncio.to_thread(lambda: json.dumps(document.to_dict(), ensure_ascii=False).encode())
    return Response(told, media_type="application/json")
