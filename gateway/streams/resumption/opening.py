"""The first words of a stream: a request, or the resume token of a clip that was begun before.

A token may be longer than a message may be, so it comes in parts: `{"resume_token": "...", "more": true}`,
then the rest in the same form, the last part without `more`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from gateway.bodies import parse_message
from gateway.callers.identity import Caller
from gateway.errors import ApiError, from_validation
from gateway.requests import StreamRequest, parse_stream_request
from gateway.slots.line.standing import Standing
from gateway.streams.clip.clip import Clip
from gateway.streams.resumption.token import ResumeTokens, TokenWriter


class ResumeMessage(BaseModel):
    """One part of a token."""

    model_config = ConfigDict(extra="forbid", strict=True)

    resume_token: str
    more: bool = False


@dataclass(frozen=True)
class Opening:
    """What the client wants. `clip` is what it has already, `token` seals the rest if it asked for that."""

    request: StreamRequest
    standing: Standing
    clip: Clip | None = None
    token: TokenWriter | None = None


async def read_opening(
    message: str,
    receive_text: Callable[[], Awaitable[str]],
    tokens: ResumeTokens,
    caller: Caller,
    max_token_bytes: int,
) -> Opening:
    """What the first `message` of `caller` wants; reads on when it is part of a token. Raises ApiError."""
    if part := _parse_part(message):
        token = await _rest_of_token(part, receive_text, max_token_bytes)
        clip, writer = await tokens.open_beside(token, _binding(caller))
        standing = caller.standing(clip.request).for_the_rest(clip.audio_seconds)
        return Opening(clip.request, standing, clip, writer)
    request = parse_stream_request(message)
    writer = tokens.begin(_binding(caller)) if request.resume else None
    return Opening(request, caller.standing(request), token=writer)


async def _rest_of_token(
    part: ResumeMessage, receive_text: Callable[[], Awaitable[str]], max_bytes: int
) -> str:
    parts, length = [part.resume_token], len(part.resume_token)
    while part.more:
        part = _parse_part(await receive_text())
        if part is None:
            raise ApiError(422, "invalid_message", "the rest of the resume token is missing")
        parts.append(part.resume_token)
        length += len(part.resume_token)
        if length > max_bytes:
            raise ApiError(413, "token_too_large", f"a resume token has at most {max_bytes} bytes")
    return "".join(parts)


def _parse_part(message: str) -> ResumeMessage | None:
    """None for a message of another kind. Raises ApiError for a part with wrong fields."""
    try:
        fields = parse_message(message)
    except ApiError:
        return None
    if not isinstance(fields, dict) or "resume_token" not in fields:
        return None
    try:
        return ResumeMessage.model_validate(fields)
    except ValidationError as error:
        raise from_validation(error.errors()) from error


def _binding(caller: Caller) -> str:
    """A token is bound to the API key it was given under; an address may change on the way."""
    return caller.tenant if caller.tenant.startswith("key:") else ""
