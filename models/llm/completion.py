"""What `LLM.generate` gives for a prompt."""

from __future__ import annotations

from typing import TypedDict

from engine.errors import EngineError
from models.llm.engine import TextOutput


class Completion(TypedDict):
    """One answer. logprobs: of each token its own and the likeliest ones', where they were asked for."""

    text: str
    token_ids: list[int]
    finish_reason: str
    logprobs: list[tuple[float | None, tuple[tuple[int, float], ...]]]


def completion_of(outputs: list[TextOutput]) -> Completion:
    """Of all outputs of a request. Raises EngineError where it failed."""
    last = outputs[-1]
    if last.finish_reason == "error":
        raise EngineError(last.error or "generation failed")
    return Completion(
        text="".join(output.text for output in outputs),
        token_ids=[output.token for output in outputs if output.token is not None],
        finish_reason=last.finish_reason or "length",
        logprobs=[(output.logprob, output.top) for output in outputs if output.logprob is not None],
    )
