"""Fields of queries and forms that routes read by themselves, as OpenAPI tells them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_TEXT = {"type": "string"}


def query_parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    """One for each field of `model` that an address can hold."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": field}
        for name, field in schema["properties"].items()
        if field.get("type") != "object"
    ]


def form_schema(file: str, model: type[BaseModel] | None) -> dict[str, Any]:
    """The schema of a form with the file `file`. Its fields are texts; one that is an object is JSON."""
    properties: dict[str, Any] = {file: {"type": "string", "format": "binary"}}
    required = [file]
    if model is not None:
        schema = model.model_json_schema()
        required += schema.get("required", [])
        for name, field in schema["properties"].items():
            kept = {key: field[key] for key in ("title", "description", "maxLength") if key in field}
            properties[name] = {**_TEXT, **kept}
    return {"type": "object", "required": required, "properties": properties}
