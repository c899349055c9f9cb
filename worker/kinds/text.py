"""Between the wire and a text engine: `StartTextRequest` to `TextRequest`, `TextOutput`s to `Frame`."""

from __future__ import annotations

from typing import Any

from engine.errors import RequestError
from models.llm.engine import TextEngine, TextOutput, TextRequest
from models.llm.sampling_params import RECOMMENDED, SamplingParams
from worker.protocol import Counters, Frame, FrameKind, Sampling, StartTextRequest
from worker.protocol.token_facts import LEAST_LOGPROB, TokenFacts, TokenLogprob

_SHORT_INPUT_CHARACTERS = 2000
"""As many take half a millisecond to lay out and to tokenise."""


class TextKind:
    """The `worker.kinds.ModelKind` of text."""

    start = StartTextRequest
    gathers = True

    def __init__(self, engine: TextEngine) -> None:
        self._engine = engine
        generation = engine.checkpoint.generation
        self._recommended = {name: generation[name] for name in RECOMMENDED if name in generation}

    def is_quick(self, start: StartTextRequest) -> bool:
        """Whether little goes in, and nothing was written before."""
        characters = len(start.prompt or "") + len(start.prompt_ids or ())
        characters += sum(len(message.content) for message in start.messages or ())
        return characters + len(start.resume_ids) <= _SHORT_INPUT_CHARACTERS

    def request(self, start: StartTextRequest) -> TextRequest:
        """Raises RequestError naming the field."""
        ids = self._ids(start)
        params = self._params(start.sampling, start.seed)
        name, salt = f"{start.request_id}.{start.attempt}", (start.cache_salt or "").encode()
        return TextRequest(name, ids, params, list(start.resume_ids), salt=salt)

    def _ids(self, start: StartTextRequest) -> list[int]:
        tokenizer = self._engine.tokenizer
        if start.prompt_ids is not None:
            ids = list(start.prompt_ids)
        elif tokenizer is None:
            raise RequestError("this model has no tokenizer; give token ids", "prompt", "unsupported")
        elif start.messages is None:
            ids = tokenizer.encode(start.prompt)
        else:
            messages = [message.model_dump() for message in start.messages]
            ids = tokenizer.chat_ids(messages, **start.template_options)
        if not ids:
            raise RequestError("the prompt has no tokens", "prompt", "empty_prompt")
        return ids

    def _params(self, sampling: Sampling, seed: int) -> SamplingParams:
        """What is not asked for is as the checkpoint recommends. Raises RequestError naming the field that is
        out of range.
        """
        most = self._engine.max_model_len
        chosen = {**self._recommended, **sampling.model_dump(exclude_none=True)}
        chosen["max_tokens"] = min(chosen.get("max_tokens", most), most)
        if chosen["max_tokens"] < 1:
            raise RequestError("max_tokens must be at least 1", "max_tokens", "out_of_range")
        return SamplingParams(seed=seed, **chosen)

    def begun(self, request: TextRequest) -> int:
        """Tokens that were written before."""
        return len(request.resume_ids)

    def accepted(self, request: TextRequest) -> dict[str, int]:
        """How many tokens the prompt has, and whether it opens a thought."""
        tokenizer = self._engine.tokenizer
        thinking = tokenizer is not None and tokenizer.opens_thought(request.prompt)
        return {"prompt_tokens": len(request.prompt), "thinking": thinking}

    def size(self, request: TextRequest) -> dict[str, int]:
        """The size of a request, for the log."""
        return {"prompt_tokens": len(request.prompt)}

    def ending(self, request_id: str, index: int, reason: str) -> TextOutput:
        """The last output of a request that got no last token."""
        return TextOutput(request_id, None, finish_reason=reason)

    def fault(self, ending: TextOutput, start: StartTextRequest) -> None:
        """Nothing."""

    def frame(self, outputs: list[TextOutput], start: StartTextRequest, index: int, step: int) -> Frame:
        """One frame of several outputs in a row, with all of their tokens and text."""
        reason = outputs[-1].finish_reason
        written = [output for output in outputs if output.token is not None]
        facts = tuple(self._facts(output) for output in written if output.logprob is not None)
        return Frame(
            FrameKind.TEXT if written else FrameKind.FINAL,
            start.request_id,
            start.attempt,
            index,
            step,
            last=reason is not None,
            finish_reason=reason,
            tokens=tuple(output.token for output in written),
            text="".join(output.text for output in written),
            facts=facts,
        )

    def _facts(self, output: TextOutput) -> TokenFacts:
        top = tuple(TokenLogprob(**self._token(token, logprob)) for token, logprob in output.top)
        return TokenFacts(**self._token(output.token, output.logprob), top=top)

    def _token(self, token_id: int, logprob: float) -> dict[str, Any]:
        tokenizer = self._engine.tokenizer
        text = f"token_id:{token_id}" if tokenizer is None else tokenizer.token(token_id)
        data = text.encode() if tokenizer is None else tokenizer.token_bytes(token_id)
        return {"token": text, "data": tuple(data), "logprob": min(0.0, max(LEAST_LOGPROB, logprob))}

    def count(self, frame: Frame, counters: Counters) -> None:
        """Count a frame that goes out."""
        counters.tokens += len(frame.tokens)
