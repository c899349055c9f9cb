"""Answers as answers.json keeps them, and in what one differs from its example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx

HEADERS = ("x-sample-rate", "x-audio-seconds", "x-finish-reason", "x-seed", "x-session-id", "location")
"""What is kept of the head of an answer."""
TOLD_CHARACTERS = 120
"""Of a text that is only data, such as audio in base64."""


def told(answer: httpx.Response) -> dict[str, Any]:
    """An answer as answers.json keeps it."""
    found: dict[str, Any] = {"status": answer.status_code}
    if not answer.content:
        return found
    content_type = found["content_type"] = answer.headers["content-type"].partition(";")[0]
    if headers := {name: answer.headers[name] for name in HEADERS if name in answer.headers}:
        found["headers"] = headers
    if content_type == "application/json":
        found["body"] = shortened(answer.json())
    return found


def shortened(value: Any) -> Any:
    """Without the most of long texts, which are audio, and of long lists."""
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shortened(each) for each in value[:3]]
    if isinstance(value, str) and len(value) > TOLD_CHARACTERS and " " not in value:
        return value[:40] + "..."
    return value


def kind_of(message: dict[str, Any]) -> str:
    """By its type, or by what it has where it has none."""
    return str(message.get("type") or " ".join(sorted(message)))


def differences(example: Any, actual: Any, place: str = "") -> Iterator[str]:
    """Where an answer lacks a field of its example, or has another kind of value there; null fits all."""
    if example is None or actual is None:
        return
    if isinstance(example, dict) and isinstance(actual, dict):
        for key in example.keys() - actual.keys():
            yield f"{place}.{key} is in the example alone"
        for key in example.keys() & actual.keys():
            yield from differences(example[key], actual[key], f"{place}.{key}")
    elif isinstance(example, list) and isinstance(actual, list):
        for one in actual[:1] if example else ():
            yield from differences(example[0], one, f"{place}[]")
    elif _kind(example) is not _kind(actual):
        yield f"{place} is {actual!r}, and {example!r} in the example"


def _kind(value: Any) -> type:
    return float if type(value) is int else type(value)
