"""`POST /v1/chat/completions`: a text model goes on with a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain, islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gateway.errors import BY_LIST, LIST, NO_LIST, ApiError, FieldError
from gateway.protocols.lenient import Lenient
from gateway.protocols.openai.answers import Answers, AnswerStream, whole_answer
from gateway.protocols.openai.errors import adapter_is_in_model
from gateway.protocols.openai.sampling import SamplingFields, TokenCount, check_length, conversation
from gateway.protocols.openai.spoken import AudioOptions
from gateway.protocols.openai.spoken_answers import spoken_answer
from gateway.requests import Text
from gateway.service import GatewayDep
from gateway.settings.answers import MOST_CHAT_MESSAGES
from worker.protocol import TokenFacts

router = APIRouter()

_UNSUPPORTED = {
    "tools": "models here call no tools",
    "functions": "models here call no functions",
    "response_format": "answers here are plain text",
    "guided_json": "answers here are plain text",
}
_MOST_OPTIONS = 32
_MOST_OPTION_BYTES = 8192
_DEEPEST_OPTION = 8
_ROLES = {"developer": "system"}
"""Roles that templates know by another name."""


def _check_options(options: dict[str, Any]) -> dict[str, Any]:
    """They go to a template as they are: no more, and no deeper, than one has a use for."""
    if not _is_small(options) or len(json.dumps(options)) > _MOST_OPTION_BYTES:
        limits = f"{_MOST_OPTION_BYTES} bytes of JSON, {_DEEPEST_OPTION} levels deep"
        raise ValueError(f"takes at most {limits}")
    return options


def _is_small(options: dict[str, Any]) -> bool:
    """Whether lists and objects are no deeper in each other, and hold fewer values than there may be bytes;
    more than those are not looked at.
    """
    level: list[Any] = [options]
    for _ in range(_DEEPEST_OPTION + 1):
        level = list(islice(chain.from_iterable(map(_values, level)), _MOST_OPTION_BYTES))
        if len(level) == _MOST_OPTION_BYTES:
            return False
    return not level


def _values(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _check_number(messages: Any) -> Any:
    """Refuse too many messages before any of them is looked at."""
    if isinstance(messages, list) and len(messages) + sum(map(_parts, messages)) > MOST_CHAT_MESSAGES:
        raise ValueError(f"has more than {MOST_CHAT_MESSAGES} messages and parts of messages")
    return messages


def _parts(message: Any) -> int:
    content = message.get("content") if isinstance(message, dict) else None
    return len(content) if isinstance(content, list) else 0


class TextPart(BaseModel):
    """A part of a message; only text is understood."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["text", "input_text"]
    text: Text


class Message(Lenient):
    """One turn."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[
        Annotated[Text, NO_LIST] | Annotated[list[TextPart], Field(max_length=256), LIST], BY_LIST
    ] = ""

    @property
    def text(self) -> str:
        """What is said in it."""
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class ChatRequest(SamplingFields):
    """The body. What is not understood is named in `X-Ignored-Fields`."""

    messages: Annotated[list[Message], Field(min_length=1, fail_fast=True), BeforeValidator(_check_number)]
    """The conversation so far."""
    max_completion_tokens: TokenCount | None = None
    """The most tokens of each answer: the newer name of `max_tokens`."""
    logprobs: bool = False
    """Tell how likely each token was."""
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    """With `logprobs`: so many likeliest tokens of each place."""
    chat_template_kwargs: Annotated[
        dict[str, Any], Field(max_length=_MOST_OPTIONS), AfterValidator(_check_options)
    ] = Field(default_factory=dict)
    """For the model's template."""
    enable_thinking: bool | None = None
    """The option of that name of the template, as Qwen3's has it. What is to be spoken is not thought about
    unless this is true.
    """
    modalities: Annotated[list[Literal["text", "audio"]], Field(max_length=2)] = Field(
        default_factory=lambda: ["text"]
    )
    """`["text", "audio"]` speaks the answer while it is written."""
    audio: AudioOptions | None = None
    """How, where it is spoken."""

    @model_validator(mode="after")
    def _rules_between_fields(self) -> ChatRequest:
        if self.top_logprobs is not None and not self.logprobs:
            raise FieldError("top_logprobs", "invalid_value", "top_logprobs is told with logprobs alone")
        if self.is_spoken and (self.n > 1 or self.logprobs):
            name = "n" if self.n > 1 else "logprobs"
            raise FieldError(name, "invalid_value", f"{name} is not for an answer that is spoken")
        reply = {"type": "text"}
        if self.model_extra and self.model_extra.get("response_format") == reply:
            del self.model_extra["response_format"]
        return self

    @property
    def is_spoken(self) -> bool:
        """Whether the answer is heard."""
        return "audio" in self.modalities

    @property
    def most_tokens_field(self) -> str:
        """The newer name goes before the older one."""
        return "max_tokens" if self.max_completion_tokens is None else "max_completion_tokens"

    def top_logprobs_wanted(self) -> int | None:
        """0 for those of the answer alone."""
        return (self.top_logprobs or 0) if self.logprobs else None

    def input(self) -> dict[str, Any]:
        """The conversation, and options of its layout."""
        options = {"enable_thinking": False} if self.is_spoken else {}
        options |= self.chat_template_kwargs
        if self.enable_thinking is not None:
            options["enable_thinking"] = self.enable_thinking
        turns = [(_ROLES.get(message.role, message.role), message.text) for message in self.messages]
        return {**conversation(turns), "template_options": options}


class ChatForm:
    """What chats call things."""

    protocol = "openai_chat"
    id_prefix = "chatcmpl"
    object_name = "chat.completion"
    chunk_name = "chat.completion.chunk"
    input_field = "messages"

    def choice(self, text: str, facts: list[TokenFacts] | None) -> dict[str, Any]:
        """A message."""
        message = {"role": "assistant", "content": text, "refusal": None}
        return {"message": message, "logprobs": _logprobs(facts)}

    def opening(self) -> dict[str, Any]:
        """Who speaks."""
        return {"delta": {"role": "assistant", "content": ""}, "logprobs": None}

    def piece(self, text: str, facts: list[TokenFacts] | None, begins_at: int) -> dict[str, Any]:
        """What is new of the message."""
        return {"delta": {"content": text}, "logprobs": _logprobs(facts)}

    def closing(self) -> dict[str, Any]:
        """Nothing is."""
        return {"delta": {}, "logprobs": None}


def _logprobs(facts: list[TokenFacts] | None) -> dict[str, Any] | None:
    if facts is None:
        return None
    content = [{**_entry(fact), "top_logprobs": [_entry(likely) for likely in fact.top]} for fact in facts]
    return {"content": content, "refusal": None}


def _entry(fact: Any) -> dict[str, Any]:
    return {"token": fact.token, "logprob": fact.logprob, "bytes": list(fact.data)}


@router.post("/v1/chat/completions", response_class=Response)
async def chat_completions(body: ChatRequest, request: Request, gateway: GatewayDep) -> Response:
    """The next message of a conversation."""
    settings = gateway.settings
    body.refuse(_UNSUPPORTED)
    if len(body.messages) > settings.max_chat_messages:
        message = f"there are {len(body.messages)} messages, at most {settings.max_chat_messages} are taken"
        raise ApiError(422, "invalid_value", message, param="messages")
    orders = body.orders([body.input()], settings)
    check_length(orders, settings, "messages")
    answers = Answers(request, gateway, body, ChatForm())
    if body.is_spoken:
        audio = body.audio or AudioOptions()
        if audio.adapter is None and ":" in (audio.model or ""):
            adapter_is_in_model(request)
        return await spoken_answer(answers, orders[0], audio)
    if body.stream:
        return AnswerStream(answers, orders)
    return await whole_answer(answers, orders)
