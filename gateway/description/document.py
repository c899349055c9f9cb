"""FastAPI's OpenAPI document, with what `operations/` says of each route and what was answered to it.

Sockets, which OpenAPI does not know, stand in it as GET with `x-websocket`: what a client sends, and one
message of each type that it gets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from gateway.description.fields import form_schema, query_parameters
from gateway.description.media import JSON
from gateway.description.operation import Access, Operation, Tag, filled
from gateway.description.operations import TAGS
from gateway.errors import ApiError
from gateway.protocols.registry import error_shape_of

ANSWERS = Path(__file__).with_name("answers.json")
SOCKET = "x-websocket"
_ABOUT = (
    "Speech from text: clips, streams and live sessions; voices, recordings, jobs and books; and what "
    "clients of OpenAI, ElevenLabs, Cartesia and Deepgram call. Every example was run as it stands here."
)
_SCHEMES: dict[str, dict[str, Any]] = {
    "apiKey": {"type": "http", "scheme": "bearer", "description": "An API key, or the admin token."},
    "adminToken": {"type": "apiKey", "in": "header", "name": "X-Admin-Token"},
    "metricsToken": {"type": "http", "scheme": "bearer", "description": "`metrics_token`."},
    "workerSecret": {"type": "http", "scheme": "bearer", "description": "The secret of workers."},
}
_SCHEMES_OF: dict[Access, tuple[str, ...]] = {
    "public": (),
    "user": ("apiKey",),
    "admin": ("adminToken",),
    "metrics": ("metricsToken", "adminToken"),
    "worker": ("workerSecret",),
}
_PLACE = re.compile(r"\{(\w+)\}")


@cache
def recorded() -> dict[str, Any]:
    """`answers`: by name of the operation; `values`: what stands for each `Given`."""
    found: dict[str, Any] = json.loads(ANSWERS.read_text(encoding="utf-8"))
    return found


def describe(app: FastAPI, *, anonymous: bool, record: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The OpenAPI document of `app`. `anonymous`: who has no key may use the service too.

    `record`: other answers than those that are kept, as `recorded()`.
    """
    record = recorded() if record is None else record
    found = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
    found["tags"] = [{"name": tag.name, "description": tag.description} for tag in TAGS]
    schemas = found["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Error"] = _ERROR_SCHEMA
    found["components"]["securitySchemes"] = _SCHEMES
    known = found["paths"]
    found["paths"] = paths = {}
    for tag in TAGS:
        for operation in tag.operations:
            method = "get" if operation.method == "WEBSOCKET" else operation.method.lower()
            entry = known.get(operation.path, {}).get(method, {})
            _tell(entry, operation, tag, record, anonymous=anonymous)
            paths.setdefault(operation.path, {})[method] = entry
    return found


def _tell(
    entry: dict[str, Any], operation: Operation, tag: Tag, record: Mapping[str, Any], *, anonymous: bool
) -> None:
    entry.update(operationId=_operation_id(operation), summary=operation.summary, tags=[tag.name])
    entry["security"] = _security(operation, anonymous)
    entry["parameters"] = _parameters(entry.get("parameters", []), operation, record["values"])
    answer = record["answers"].get(operation.name, {})
    if operation.method == "WEBSOCKET":
        entry[SOCKET] = {"sends": list(operation.messages), "gets": answer.get("messages", [])}
        if operation.packed:
            entry[SOCKET]["packed"] = True
        entry["responses"] = {"101": {"description": "A WebSocket is open."}}
        return
    if (body := _request_body(entry.get("requestBody"), operation, record["values"])) is not None:
        entry["requestBody"] = body
    if answer:
        entry["responses"] = {str(answer["status"]): _response(answer, operation.media)}
    entry.setdefault("responses", {})["default"] = _error_response(operation)


def _security(operation: Operation, anonymous: bool) -> list[dict[str, list[str]]]:
    """Any of these is enough; an empty one means that nothing is asked for."""
    needed = [{scheme: list[str]()} for scheme in _SCHEMES_OF[operation.access]]
    return [*needed, {}] if operation.access == "user" and anonymous else needed


def _parameters(
    known: list[dict[str, Any]], operation: Operation, values: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The parameters of the path, the query, and headers; with examples."""
    by_name = {each["name"]: each for each in known}
    for name in _PLACE.findall(operation.path):
        by_name.setdefault(name, {"name": name, "in": "path", "required": True, "schema": {"type": "string"}})
    if operation.fields is not None and operation.file is None:
        for each in query_parameters(operation.fields):
            by_name.setdefault(each["name"], each)
    for name, value in filled(operation.parameters, values).items():
        plain = {"name": name, "in": "query", "schema": {"type": "string"}}
        by_name.setdefault(name, plain)["example"] = value
    for name, value in operation.headers.items():
        by_name[name] = {"name": name, "in": "header", "required": True, "example": value}
        by_name[name]["schema"] = {"type": "string"}
    return list(by_name.values())


def _request_body(
    known: dict[str, Any] | None, operation: Operation, values: Mapping[str, Any]
) -> dict[str, Any] | None:
    """With its example; of a route that reads its body by itself also with its schema."""
    if operation.file is not None:
        content = {"schema": form_schema(operation.file, operation.fields)}
        content["example"] = {operation.file: "@" + _file_name(operation), **filled(operation.form, values)}
        return {"required": True, "content": {"multipart/form-data": content}}
    if operation.upload is not None:
        content = {"schema": {"type": "string", "format": "binary"}, "example": "@" + _file_name(operation)}
        return {"required": True, "content": {operation.upload: content}}
    if operation.body is None:
        return known
    body = known or {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
    body["content"]["application/json"]["example"] = filled(operation.body, values)
    return body


def _file_name(operation: Operation) -> str:
    names = {"audio/wav": "recording.wav", "application/octet-stream": "lora_weights.safetensors"}
    return names.get(operation.upload, "story.txt")


def _response(answer: Mapping[str, Any], media: Sequence[str]) -> dict[str, Any]:
    media_type = answer.get("content_type")
    if media_type is None:
        return {"description": "Done."}
    told = {"example": answer["body"]} if "body" in answer else _content(media_type)
    content = {media_type: told} | {each: _content(each) for each in media if each != media_type}
    return {"description": "The answer." if "body" in answer else "The file.", "content": content}


def _content(media_type: str) -> dict[str, Any]:
    is_text = media_type == JSON or media_type.startswith("text/")
    return {} if is_text else {"schema": {"type": "string", "format": "binary"}}


_ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string", "description": "For people."},
                "type": {
                    "type": "string",
                    "enum": [
                        "invalid_request_error",
                        "authentication_error",
                        "capacity_error",
                        "server_error",
                    ],
                },
                "param": {"type": ["string", "null"], "description": "The field that is wrong."},
                "code": {"type": "string", "description": "For programs."},
            },
        }
    },
}


def _error_response(operation: Operation) -> dict[str, Any]:
    """In the shape that clients of the operation's protocol know."""
    example = ApiError(422, "unknown_field", "unknown field: colour", param="colour")
    headers = [(name.lower().encode(), value.encode()) for name, value in operation.headers.items()]
    shape = error_shape_of({"type": "http", "path": operation.path, "headers": headers})
    if shape is not None:
        return {"description": "What is wrong.", "content": {"application/json": {"example": shape(example)}}}
    content = {"schema": {"$ref": "#/components/schemas/Error"}, "example": example.to_dict()}
    return {"description": "What is wrong.", "content": {"application/json": content}}


def _operation_id(operation: Operation) -> str:
    return re.sub(r"\W+", "_", operation.name.lower()).strip("_")
