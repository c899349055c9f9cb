"""What is told of a token beside its id to who asked for log probabilities; of `worker.protocol`."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, FailFast, Field, TypeAdapter

MOST_TOP_LOGPROBS = 20
MAX_TOKEN_CHARACTERS = 4096
LEAST_LOGPROB = -9999.0
"""What is told for a token that could not have come, as OpenAI tells it."""


class TokenLogprob(BaseModel):
    """One token, and how likely it was."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    token: Annotated[str, Field(max_length=MAX_TOKEN_CHARACTERS)]
    data: Annotated[tuple[Annotated[int, Field(ge=0, le=255)], ...], Field(max_length=MAX_TOKEN_CHARACTERS)]
    """The token as bytes: it may be a part of a character."""
    logprob: Annotated[float, Field(ge=LEAST_LOGPROB, le=1e-3)]
    """Natural logarithm of its probability, before temperature and filters."""


class TokenFacts(TokenLogprob):
    """One token of an answer, with the likeliest ones of its place."""

    top: Annotated[tuple[TokenLogprob, ...], Field(max_length=MOST_TOP_LOGPROBS)] = ()


_facts: TypeAdapter[tuple[TokenFacts, ...]] = TypeAdapter(Annotated[tuple[TokenFacts, ...], FailFast()])


def facts_to_json(facts: tuple[TokenFacts, ...]) -> bytes:
    """As a frame carries them."""
    return _facts.dump_json(facts)


def facts_from_json(data: bytes) -> tuple[TokenFacts, ...]:
    """The inverse. Raises ValueError for anything that `facts_to_json` did not make."""
    facts = _facts.validate_json(data)
    if not facts or facts_to_json(facts) != data:
        raise ValueError("not the facts of a frame")
    return facts
