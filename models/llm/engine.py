"""A text model behind the engine: requests in, tokens and certain text out, step by step.

engine = TextEngine(load_text_checkpoint("path"), TextOptions(max_num_seqs=8))
engine.add_request(TextRequest("a", "Once upon a time", SamplingParams(max_tokens=16)))
while engine.has_unfinished():
    for output in engine.step(): ...
"""

from __future__ import annotations

import logging
import reprlib
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from engine.config import EngineConfig
from engine.device.devices import runs_triton
from engine.errors import EngineError, RequestError
from engine.llm_engine import LLMEngine, SequenceOutput
from engine.model_engine import ModelEngine, threads_on
from engine.parallel.launch import threads_of_rank
from engine.sequence import Sequence
from models.encodable import check_encodable
from models.llm.checkpoint import TextCheckpoint
from models.llm.kv_sizing import check_offload, default_blocks, ring_blocks, second_tier_slots
from models.llm.logits import AnswerLogits
from models.llm.options import TextOptions
from models.llm.runner import TextRunner
from models.llm.sampler import Answer, Sampled
from models.llm.sampling_params import SamplingParams
from models.llm.stop_strings import StopStrings
from models.llm.tokenizer import TextStream
from models.text import CACHE_SALT, TextModelInfo

logger = logging.getLogger(__name__)

SEED_BITS = 63


@dataclass
class TextRequest:
    """A prompt, as text or as token ids. resume_ids: tokens of the answer that were generated elsewhere.
    read_whole: nobody reads the answer before it is complete, see `engine.sequence.Sequence`. salt: requests
    with another one share no cached prefix with it."""

    request_id: str
    prompt: str | list[int]
    params: SamplingParams = field(default_factory=SamplingParams)
    resume_ids: list[int] = field(default_factory=list)
    read_whole: bool = False
    salt: bytes = b""


@dataclass(slots=True)
class TextOutput:
    """What a step did for a request. Exactly the last output of a request has a `finish_reason`.

    token: None when the request failed. text: what is certain now; a token may have none, while a character
    is not whole or a stop string may have begun. logprob, top: see `models.llm.sampler.Sampled`.
    """

    request_id: str
    token: int | None
    text: str = ""
    finish_reason: str | None = None
    error: str | None = None
    logprob: float | None = None
    top: tuple[tuple[int, float], ...] = ()


@dataclass
class TextState:
    """Payload of a sequence: its answer for the sampler, its text for who reads it."""

    answer: Answer
    end_ids: frozenset[int]
    stream: TextStream | None
    stops: StopStrings


def check_request(request: TextRequest) -> None:
    """Raises RequestError where a script gave something else than a prompt and its parameters."""
    prompt, params = request.prompt, request.params
    listed = isinstance(prompt, list | tuple) and all(
        issubclass(kind, int) for kind in set(map(type, prompt))
    )
    if not listed and not isinstance(prompt, str):
        problem = f"a prompt must be a text or a list of token ids, got {reprlib.repr(prompt)}"
        raise RequestError(problem, "prompt", "invalid_token")
    if not isinstance(params, SamplingParams):
        raise RequestError(f"sampling_params must be SamplingParams, got {params!r}", "sampling_params")


class TextEngine(ModelEngine[TextRequest, TextOutput]):
    """The engine of one text model."""

    def __init__(self, checkpoint: TextCheckpoint, options: TextOptions | None = None) -> None:
        self.checkpoint, self.options = checkpoint, options or TextOptions()
        config, options = checkpoint.config, self.options
        self.tokenizer, self.device = checkpoint.tokenizer, str(checkpoint.device)
        self.max_model_len = min(
            options.max_model_len or config.max_position_embeddings, config.max_position_embeddings
        )
        check_offload(options)
        records = runs_triton(checkpoint.device) and getattr(checkpoint.model, "recordable", True)
        wants_programs = not options.kv_offload and (
            options.graphs == "static" or (options.graphs == "auto" and records)
        )
        blocks = options.kv_blocks or self._default_blocks()
        self.max_model_len = min(self.max_model_len, blocks * options.block_size)
        runner = self._make_runner(
            num_blocks=blocks,
            block_size=options.block_size,
            max_model_len=self.max_model_len,
            host_slots=second_tier_slots(checkpoint, options, blocks),
            ring_blocks=ring_blocks(options),
            attention_backend=options.attention_backend,
        )
        engine_config = EngineConfig(
            num_blocks=blocks,
            block_size=options.block_size,
            max_model_len=self.max_model_len,
            max_num_seqs=options.max_num_seqs,
            max_num_batched_tokens=options.batched_tokens(checkpoint.device.type),
            max_prefill_tokens=options.prefill_tokens(checkpoint.device.type),
            enable_prefix_caching=options.enable_prefix_caching,
            bring_back=options.kv_bring_back,
            look_ahead=wants_programs,
        )
        threads = options.threads
        if checkpoint.part.size > 1:
            threads = threads_of_rank(threads, checkpoint.part.size)
        step_threads = threads_on(checkpoint.device, threads, beside=False)
        super().__init__(LLMEngine(runner, engine_config), step_threads)
        self._runner = runner
        if wants_programs:
            self._prepare(runner)

    def _default_blocks(self) -> int:
        """The number of blocks that all ranks have room for."""
        checkpoint, options = self.checkpoint, self.options
        blocks = default_blocks(checkpoint, options, self.max_model_len)
        if checkpoint.ranks is None:
            return blocks
        told = {"options": asdict(options), "max_model_len": self.max_model_len}
        checkpoint.ranks.tell(told)
        return min(blocks, *checkpoint.ranks.answers())

    def _make_runner(self, **sizes: Any) -> TextRunner:
        checkpoint = self.checkpoint
        own = checkpoint.model, checkpoint.device, checkpoint.dtype, checkpoint.kv_dtype
        if checkpoint.ranks is None:
            return TextRunner(*own, **sizes)
        from models.llm.parallel.leader import LeadingRunner

        runner = LeadingRunner(checkpoint.ranks, *own, part=checkpoint.part, **sizes)
        checkpoint.ranks.tell({"build": sizes})
        checkpoint.ranks.answers()
        return runner

    def when_lost(self, lost: Callable[[EngineError], object]) -> None:
        """See `engine.loop.LosableEngine`."""
        if self.checkpoint.ranks is not None:
            self.checkpoint.ranks.on_lost.append(lost)

    def close(self) -> None:
        super().close()
        self._runner.close()

    @cached_property
    def info(self) -> TextModelInfo:
        """What a worker announces; reads the whole checkpoint for its revision."""
        tokenizer, config = self.tokenizer, self.checkpoint.config
        features = () if tokenizer is None else tokenizer.features
        name, revision = self.checkpoint.name, self.checkpoint.revision()
        return TextModelInfo(name, revision, config.vocab_size, self.max_model_len, (*features, CACHE_SALT))

    def prepare(self, request: TextRequest) -> Sequence:
        check_request(request)
        params, prompt = request.params, self._token_ids(request.prompt)
        if params.stop and self.tokenizer is None:
            raise RequestError("this model has no tokenizer, so no stop strings", "stop", "unsupported")
        own_ends = () if params.ignore_eos else self.checkpoint.end_ids
        ends = (*own_ends, *params.stop_token_ids)
        rules = AnswerLogits(params, prompt, ends, self.checkpoint.config.vocab_size)
        seed = secrets.randbits(SEED_BITS) if params.seed is None else params.seed
        state = TextState(
            Answer(params, seed, rules),
            frozenset(ends),
            self.tokenizer.stream() if self.tokenizer else None,
            StopStrings(params.stop),
        )
        resumed = self._known("resume_ids", request.resume_ids)
        for token in resumed:
            state.answer.index += 1
            rules.add(token)
            self._text(state, token)
        if len(resumed) >= params.max_tokens:
            raise RequestError("the answer to resume is complete", "resume_ids", "nothing_to_resume")
        tokens = [*prompt, *resumed]
        room = self.max_model_len - len(tokens) + 1
        if room < 1:
            problem = f"a prompt of {len(tokens)} tokens, max_model_len is {self.max_model_len}"
            raise RequestError(problem, "prompt", "too_long")
        return Sequence(
            request.request_id,
            tokens,
            min(params.max_tokens - len(resumed), room),
            payload=state,
            salt=request.salt,
            num_resumed_tokens=len(resumed),
            read_whole=request.read_whole,
        )

    def _token_ids(self, prompt: str | list[int]) -> list[int]:
        if isinstance(prompt, str):
            if self.tokenizer is None:
                raise RequestError("this model has no tokenizer; give token ids", "prompt", "unsupported")
            check_encodable(prompt, "prompt")
            prompt = self.tokenizer.encode(prompt)
        return self._known("prompt", prompt)

    def _known(self, name: str, tokens: list[int]) -> list[int]:
        """A copy. Raises RequestError for a token that has no row of weights: a step with it would fail for
        all others, too, and a GPU with them."""
        vocab_size = self.checkpoint.config.vocab_size
        extremes = (min(tokens), max(tokens)) if tokens else ()
        strange = next((token for token in extremes if not 0 <= token < vocab_size), None)
        if strange is not None:
            raise RequestError(f"{name} has token {strange}, the model has {vocab_size}", name)
        return list(tokens)

    def _output(self, output: SequenceOutput) -> TextOutput:
        sequence, result = output.sequence, output.result
        if result is None:
            return TextOutput(
                sequence.request_id, None, "", output.finish_reason or "error", error=output.error
            )
        state, reason = sequence.payload, output.finish_reason
        sampled: Sampled = result.output
        # The token that ends an answer is no part of its text.
        text, stopped = ("", False) if reason == "stop" else self._text(state, sampled.token)
        if stopped:
            self._llm.cancel(sequence.request_id)
        elif reason is not None and state.stream is not None:
            more, stopped = state.stops.add(state.stream.rest())
            text += more + state.stops.rest()
        reason = "stop" if stopped else reason
        return TextOutput(
            sequence.request_id, sampled.token, text, reason, logprob=sampled.logprob, top=sampled.top
        )

    def _text(self, state: TextState, token: int) -> tuple[str, bool]:
        """What is certain after `answer.index` tokens, this one included, and whether they end the answer."""
        if state.stream is None:
            return "", False
        may_end = state.answer.index >= state.answer.params.min_tokens
        return state.stops.add(state.stream.add(token), may_end)

    def _prepare(self, runner: TextRunner) -> None:
        try:
            runner.prepare(self.options.max_num_seqs, record=self.options.graphs != "static")
        except (EngineError, RuntimeError) as error:
            if self.options.graphs != "auto" or self.checkpoint.ranks is not None:
                raise
            logger.warning("steps run without CUDA graphs: %s: %s", type(error).__name__, error)
