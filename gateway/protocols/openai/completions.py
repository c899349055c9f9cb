"""`POST /v1/completions`: a text model goes on with a text, as clients of before chats ask for it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Discriminator, Field, model_validator

from gateway.errors import ApiError, branch
from gateway.protocols.openai.answers import Answers, AnswerStream, whole_answer
from gateway.protocols.openai.sampling import SamplingFields, TokenCount, check_length
from gateway.requests import Text
from gateway.service import GatewayDep
from gateway.settings.answers import MOST_ANSWER_CHOICES
from worker.protocol import MAX_TOKENS, TokenFacts

router = APIRouter()

_UNSUPPORTED = {
    "suffix": "texts here go on at their end alone",
    "echo": "the prompt is not told again",
    "best_of": "ask for n answers, and choose",
}
_DEFAULT_TOKENS = 16
"""Where a request says nothing, as OpenAI has it."""
TokenIds = Annotated[
    list[Annotated[int, Field(ge=0, lt=1 << 31)]], Field(max_length=MAX_TOKENS, fail_fast=True)
]
_TEXT, _IDS, _TEXTS, _LISTS = map(branch, ("(text)", "(ids)", "(texts)", "(lists of ids)"))


def _branch_of(prompt: Any) -> str:
    if not isinstance(prompt, list):
        return _TEXT.tag
    first = prompt[0] if prompt else ""
    return (_TEXTS if isinstance(first, str) else _LISTS if isinstance(first, list) else _IDS).tag


Prompt = Annotated[
    Annotated[Text, _TEXT]
    | Annotated[TokenIds, _IDS]
    | Annotated[list[Text], Field(max_length=MOST_ANSWER_CHOICES, fail_fast=True), _TEXTS]
    | Annotated[list[TokenIds], Field(max_length=MOST_ANSWER_CHOICES, fail_fast=True), _LISTS],
    Discriminator(_branch_of),
]


class CompletionRequest(SamplingFields):
    """The body. What is not understood is named in `X-Ignored-Fields`."""

    prompt: Prompt
    """A text or token ids, or a list of either, each of which gets an answer."""
    max_tokens: TokenCount | None = _DEFAULT_TOKENS
    """The most tokens of each answer."""
    logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    """Tell how likely each token was, with so many likeliest ones."""

    @model_validator(mode="after")
    def _as_many_as_are_given(self) -> CompletionRequest:
        if self.model_extra and self.model_extra.get("best_of") == self.n:  # older SDKs always send it
            del self.model_extra["best_of"]
        return self

    def top_logprobs_wanted(self) -> int | None:
        """As it says."""
        return self.logprobs

    def inputs(self) -> list[dict[str, Any]]:
        """One for each prompt. Raises ApiError for none."""
        prompt = self.prompt
        if isinstance(prompt, str):
            several: list[Any] = [prompt]
        else:
            several = [prompt] if prompt and isinstance(prompt[0], int) else list(prompt)
        if not several or not all(several):
            raise ApiError(422, "empty_prompt", "prompt holds nothing to go on with", param="prompt")
        return [{"prompt": one} if isinstance(one, str) else {"prompt_ids": tuple(one)} for one in several]


class CompletionForm:
    """What completions call things."""

    protocol = "openai_completions"
    id_prefix = "cmpl"
    object_name = chunk_name = "text_completion"
    input_field = "prompt"

    def choice(self, text: str, facts: list[TokenFacts] | None) -> dict[str, Any]:
        """The text."""
        return {"text": text, "logprobs": _logprobs(facts, 0)}

    def opening(self) -> None:
        """There is none."""

    def piece(self, text: str, facts: list[TokenFacts] | None, begins_at: int) -> dict[str, Any]:
        """What is new of the text."""
        return {"text": text, "logprobs": _logprobs(facts, begins_at)}

    def closing(self) -> dict[str, Any]:
        """Nothing is."""
        return {"text": "", "logprobs": None}


def _logprobs(facts: list[TokenFacts] | None, begins_at: int) -> dict[str, Any] | None:
    """Log probabilities. Offsets count characters of the tokens, some of which are parts of one."""
    if facts is None:
        return None
    offsets, at = [], begins_at
    for fact in facts:
        offsets.append(at)
        at += len(fact.token)
    return {
        "tokens": [fact.token for fact in facts],
        "token_logprobs": [fact.logprob for fact in facts],
        "top_logprobs": [_likely(fact) for fact in facts],
        "text_offset": offsets,
    }


def _likely(fact: TokenFacts) -> dict[str, float]:
    """The likeliest tokens and the one that was drawn. Of several that look alike, as parts of characters do,
    the likeliest is told."""
    found: dict[str, float] = {}
    for token in (*fact.top, fact):
        found.setdefault(token.token, token.logprob)
    return found


@router.post("/v1/completions", response_class=Response)
async def completions(body: CompletionRequest, request: Request, gateway: GatewayDep) -> Response:
    """How the text goes on."""
    body.refuse(_UNSUPPORTED)
    orders = body.orders(body.inputs(), gateway.settings)
    check_length(orders, gateway.settings, "prompt")
    answers = Answers(request, gateway, body, CompletionForm())
    if body.stream:
        return AnswerStream(answers, orders)
    return await whole_answer(answers, orders)
