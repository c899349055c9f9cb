"""Answers as OpenAI's clients read them: whole, or as server-sent events while they are written.

An object of `AnswerForm` says what a protocol calls things; chats and completions have one each.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.answers.answer import Written
from gateway.answers.order import AnswerOrder
from gateway.answers.several import write_all
from gateway.answers.writing import AnswerOutcome, Reader, Writing
from gateway.api.transfer.connection import CLIENT_GONE, ClientGoneError, while_connected
from gateway.bodies import MOST_BODY_VALUES
from gateway.callers.identity import Caller
from gateway.errors import ApiError
from gateway.protocols.growing import GrowingResponse
from gateway.protocols.openai.sampling import SamplingFields
from gateway.service import Gateway
from gateway.settings import GatewaySettings
from gateway.slots.line.standing import Priority
from worker.protocol import TokenFacts

Result = TypeVar("Result")

PATHS = ("/v1/chat/completions", "/v1/completions")
TOO_LONG = "context_length_exceeded"
"""What OpenAI calls a prompt that is too long for the model; agents look for it."""


def most_bytes(settings: GatewaySettings) -> int:
    """The largest body in bytes: JSON spells few characters in more than six."""
    return 6 * settings.max_prompt_characters + settings.max_body_bytes


def most_values(settings: GatewaySettings) -> int:
    """Of the largest body: a prompt may be a list of tokens."""
    return settings.max_prompt_characters + MOST_BODY_VALUES


class AnswerForm(Protocol):
    """How one of the routes tells answers."""

    protocol: str
    """Its name, in metrics."""
    id_prefix: str
    object_name: str
    chunk_name: str
    input_field: str

    def choice(self, text: str, facts: list[TokenFacts] | None) -> dict[str, Any]:
        """A whole answer, but for `index` and `finish_reason`."""

    def opening(self) -> dict[str, Any] | None:
        """The first event of a choice, where it has no text."""

    def piece(self, text: str, facts: list[TokenFacts] | None, begins_at: int) -> dict[str, Any]:
        """The next text of a choice in a stream; `begins_at`: characters before it."""

    def closing(self) -> dict[str, Any]:
        """The last event of a choice."""


class Choice:
    """A `Reader` of one answer."""

    def __init__(self, index: int, told: bool) -> None:
        self.index = index
        self.text = ""
        self.facts: list[TokenFacts] | None = [] if told else None

    def waits(self, position: int, eta_seconds: float | None) -> None:
        """Told with the answer, in `X-Queue-Seconds`."""

    def wrote(self, written: Written) -> None:
        """Kept until all of it is there."""
        self.text += written.text
        if self.facts is not None:
            self.facts += written.facts


class Answers:
    """The answers of one request, and what all of their forms say of them."""

    def __init__(self, request: Request, gateway: Gateway, body: SamplingFields, form: AnswerForm) -> None:
        self.body, self.form, self.gateway, self.request = body, form, gateway, request
        self.caller: Caller = gateway.callers.identify(request)
        self.created = int(time.time())
        self.request_id: str = request.state.request_id
        self.id = f"{form.id_prefix}-{self.request_id}"

    def writings(self, orders: Sequence[AnswerOrder], readers: Sequence[Reader]) -> list[Writing]:
        """Raises ApiError for who may not ask for that much."""
        priority, salt = self.body.priority, self._cache_salt()
        return [
            Writing(
                self.gateway,
                replace(order, cache_salt=salt),
                self.request_id,
                reader,
                self.caller.standing_for(priority, order.expected_seconds, Priority.DEFAULT),
                self.form.protocol,
            )
            for order, reader in zip(orders, readers, strict=True)
        ]

    def _cache_salt(self) -> str:
        """So that clients share no cache: an answer that begins sooner would tell what others asked."""
        whose = f"{self.caller.tenant}\n{self.body.cache_salt or ''}".encode()
        return hmac.digest(self.gateway.link_secret, b"cache salt\n" + whose, "sha256").hex()

    def frame(self, name: str, model: str, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        """An object of the answer."""
        about = {"id": self.id, "object": name, "created": self.created, "model": model}
        return {**about, "choices": choices, **more}

    def explained(self, error: ApiError) -> ApiError:
        """What a worker calls by other names than this route's clients."""
        if error.code not in ("too_long", "empty_prompt", "invalid_request") or error.param != "prompt":
            return error
        code, field = TOO_LONG if error.code == "too_long" else error.code, self.form.input_field
        return ApiError(error.status_code, code, f"{field}: {error.message}", param=field)


def usage_of(outcomes: Sequence[AnswerOutcome], n: int) -> dict[str, Any]:
    """Each prompt counts once, whatever number of answers it gets."""
    prompt_tokens = sum(outcome.prompt_tokens for outcome in outcomes[::n])
    tokens = sum(outcome.tokens for outcome in outcomes)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": tokens,
        "total_tokens": prompt_tokens + tokens,
    }


def fingerprint(revision: str) -> str:
    """Names the weights that wrote: with the same one, the same seed writes the same."""
    return f"fp_{revision[:16]}"


async def whole_answer(answers: Answers, orders: list[AnswerOrder]) -> Response:
    """One JSON object. Raises ApiError."""
    told = answers.body.top_logprobs_wanted() is not None
    choices = [Choice(index, told) for index in range(len(orders))]
    outcomes = await finished(answers, write_all(answers.writings(orders, choices)))
    if outcomes is None:
        return Response(status_code=CLIENT_GONE)
    told_choices = [
        {
            "index": choice.index,
            **answers.form.choice(choice.text, choice.facts),
            "finish_reason": outcome.finish_reason,
        }
        for choice, outcome in zip(choices, outcomes, strict=True)
    ]
    return told_whole(answers, orders, outcomes, told_choices)


async def finished(answers: Answers, work: Coroutine[Any, Any, Result]) -> Result | None:
    """The result of `work`; None where the client has left. Raises ApiError."""
    try:
        return await while_connected(answers.request, work)
    except ClientGoneError:
        return None
    except ApiError as error:
        raise answers.explained(error) from error


def told_whole(
    answers: Answers, orders: list[AnswerOrder], outcomes: list[AnswerOutcome], choices: list[dict[str, Any]]
) -> Response:
    """Choices that are complete."""
    content = answers.frame(
        answers.form.object_name,
        outcomes[0].model,
        choices,
        usage=usage_of(outcomes, answers.body.n),
        system_fingerprint=fingerprint(outcomes[0].revision),
    )
    return JSONResponse(content, headers=answers.body.ignored | facts_of(orders[0], outcomes))


def facts_of(order: AnswerOrder, outcomes: Sequence[AnswerOutcome]) -> dict[str, str]:
    """What became of it, for the head of an answer that is complete."""
    return {
        "X-Seed": str(order.seed),
        "X-Migrations": str(sum(outcome.migrations for outcome in outcomes)),
        "X-Queue-Seconds": f"{outcomes[0].queue_seconds:.6f}",
        "X-First-Token-Seconds": f"{outcomes[0].first_token_seconds:.6f}",
    }


class _StreamedChoice:
    """A `Reader` whose pieces are events."""

    def __init__(self, response: AnswerStream, index: int) -> None:
        self._response: AnswerStream = response
        self._index = index
        self._characters = 0
        self._begun = False

    def waits(self, position: int, eta_seconds: float | None) -> None:
        """Told of the first one alone: the others come after it."""
        if self._index == 0:
            self._response.put_waiting(position, eta_seconds)

    def wrote(self, written: Written) -> None:
        """Out, unless there is nothing to be seen yet."""
        form, put = self._response.answers.form, self._response.put_choice
        if not self._begun:
            self._begun = True
            if (opening := form.opening()) is not None:
                put(self._index, opening, None)
        facts = list(written.facts) or None
        if written.text or facts:
            put(self._index, form.piece(written.text, facts, self._characters), None)
            self._characters += len(written.text)


class AnswerStream(GrowingResponse):
    """Server-sent events; the last one says `[DONE]`."""

    def __init__(
        self, answers: Answers, orders: list[AnswerOrder], readers: Sequence[Reader] | None = None
    ) -> None:
        """`readers`: of the answers; None for those that make events of what is written."""
        super().__init__(answers.request, answers.gateway)
        self.answers = answers
        self._orders = orders
        readers = readers or [_StreamedChoice(self, index) for index in range(len(orders))]
        self._writings = answers.writings(orders, readers)

    def put_waiting(self, position: int, eta_seconds: float | None, speech: bool = False) -> None:
        """An event of how long it is until its turn, or its speech's, where the client asks for that."""
        if self.answers.body.tells_queue:
            queue: dict[str, Any] = {"position": position, "eta_seconds": eta_seconds}
            if speech:
                queue["speech"] = True
            self._outbox.put(self._event([], None, queue=queue))

    def put_choice(self, index: int, content: dict[str, Any], finish_reason: str | None) -> None:
        """An event of one choice. Raises ApiError for a client that reads too slowly."""
        self._outbox.put(self.choice_event(index, content, finish_reason))

    def choice_event(self, index: int, content: dict[str, Any], finish_reason: str | None) -> str:
        """The event of a choice as text."""
        return self._event([{"index": index, **content, "finish_reason": finish_reason}], None)

    def _event(
        self, choices: list[dict[str, Any]], usage: dict[str, Any] | None, **more: dict[str, Any]
    ) -> str:
        if self.answers.body.counts_usage:
            more["usage"] = usage
        writing = self._writings[0].answer
        if writing.model is not None:
            more["system_fingerprint"] = fingerprint(writing.model.revision)
        model = writing.model.name if writing.model else self._orders[0].model or ""
        return event(self.answers.frame(self.answers.form.chunk_name, model, choices, **more))

    async def _outcomes(self) -> list[AnswerOutcome]:
        """When all is written."""
        return await write_all(self._writings)

    async def _make(self) -> None:
        try:
            outcomes = await self._outcomes()
        except ApiError as error:
            raise self.answers.explained(error) from error
        for index, outcome in enumerate(outcomes):
            self.put_choice(index, self.answers.form.closing(), outcome.finish_reason)
        if self.answers.body.counts_usage:
            self._outbox.put(self._event([], usage_of(outcomes, self.answers.body.n)))
        self._outbox.put("data: [DONE]\n\n")
        await self._outbox.flush()

    async def _take(self, piece: str | bytes) -> None:
        await self._write(piece.encode() if isinstance(piece, str) else piece)

    def _broken(self, error: ApiError) -> bytes:
        return event(error.to_message()).encode()

    def _headers(self) -> dict[str, str]:
        return {
            "Content-Type": "text/event-stream; charset=utf-8",
            "Cache-Control": "no-cache",
            "X-Seed": str(self._orders[0].seed),
            **self.answers.body.ignored,
        }


def event(content: dict[str, Any]) -> str:
    """A server-sent event."""
    return f"data: {json.dumps(content, separators=(',', ':'))}\n\n"
