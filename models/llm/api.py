"""A text model as a Python object, for scripts with all their prompts and for those with one at a time.

    with LLM("path/to/Qwen3-0.6B") as llm:
        answers = llm.generate(["Once upon a time"], SamplingParams(temperature=0.6))
        answers[0]["text"]
        answers = llm.chat([{"role": "user", "content": "Hello!"}])
        async for output in llm.stream("Once upon a time"): ...

Steps belong to who calls them, until the first stream gives the engine a thread of its own. Threads that call
`generate` take turns, and streams may be read in several event loops.
"""

from __future__ import annotations

import threading
import uuid
import weakref
from _thread import start_new_thread
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from tqdm import tqdm

from engine import forks
from engine.errors import EngineError, RequestError
from engine.interrupts import held_back
from engine.loop import CLOSED, EngineLoop
from models.bounds import take_eager
from models.llm.completion import Completion, completion_of
from models.llm.engine import TextEngine, TextOutput, TextRequest
from models.llm.loading import make_engine
from models.llm.options import text_options
from models.llm.parallel.launch import load_over_ranks
from models.llm.pool.pool import MakeBar, TextPool, load_pool
from models.llm.sampling_params import SamplingParams
from models.pool.loading import choose_devices
from models.pool.member import DeviceState

Prompt = str | list[int]
Messages = Sequence[Mapping[str, Any]]
_UNFINISHED = "requests of add_request are unfinished; `step` them to their end first"
_STEPPED = "another thread steps the engine, as `generate` does"


class LLM(forks.OfOneProcess):
    """A loaded model. Use as a context manager or call `close`.

    Args:
        model: a checkpoint directory or a Hugging Face repository id.
        tensor_parallel_size: over how many processes every layer is shared out, on a GPU each
            (`models.llm.parallel`).
        enforce_eager: steps are not recorded as CUDA graphs.
        max_model_len: positions of one sequence; None takes the model's own.
        gpu_memory_utilization: share of a GPU's memory that weights and cache may take together.
        cpu_weights: "float32", "bfloat16", which takes half the memory and about half the time, or "auto":
            bf16 where checkpoint and processor have it.
        devices: several in place of `device`, such as [0, 1], each with an engine in a process of its own;
            see `models.pool`. Nobody steps them.
        options: other fields of `TextOptions`, also by nano-vllm's names.

    Raises:
        OptionsError: an option is unknown or out of range.
        RequestError: there are fewer GPUs than processes, or the model cannot be divided into so many.
        ConfigError, engine.errors.WeightError: naming what is wrong with the checkpoint.
    """

    def __init__(
        self,
        model: str | Path,
        tensor_parallel_size: int = 1,
        enforce_eager: bool = False,
        max_model_len: int | None = None,
        gpu_memory_utilization: float = 0.9,
        device: str = "auto",
        cpu_weights: str = "auto",
        devices: Sequence[str | int] | None = None,
        **options: Any,
    ) -> None:
        take_eager(enforce_eager, options)
        chosen = text_options(
            max_model_len=max_model_len, gpu_memory_utilization=gpu_memory_utilization, **options
        )
        self._engine: TextEngine | TextPool
        self._loop: EngineLoop | TextPool | None = None
        if devices is None:
            checkpoint = load_over_ranks(model, device, cpu_weights, tensor_parallel_size, chosen)
            self._engine = make_engine(checkpoint, chosen)
            self._end_with(start_new_thread, self._engine.close, ())
        else:
            each = choose_devices(devices, device, tensor_parallel_size)
            self._engine = self._loop = load_pool(model, each, cpu_weights, chosen)
            self._end_with(self._engine.leave, self._engine.close)
        self._closed = ""
        self._changing, self._stepping = threading.Lock(), threading.RLock()
        """Of who gives the engine to a thread of its own, or closes it; of who steps it."""
        forks.watch(self)

    @property
    def devices(self) -> list[DeviceState]:
        """The state of the device, or of each: whether it serves, and why not."""
        if isinstance(self._engine, TextPool):
            return self._engine.devices
        problem = self._closed if self._loop is None or self._loop.alive else str(self._loop.end_error())
        return [DeviceState(self._engine.device, "lost" if problem else "serving", problem)]

    @property
    def tokenizer(self) -> Any:
        """The checkpoint's `models.llm.tokenizer.TextTokenizer`, None where it has none."""
        return self._engine.tokenizer

    def generate(
        self,
        prompts: str | Sequence[Prompt],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        use_tqdm: bool = True,
    ) -> list[Completion]:
        """Answers in the order of the prompts, which are texts or token ids; one text is one prompt.

        sampling_params: for all, or one each. Raises RequestError before anything is computed, EngineError
        when an answer fails.
        """
        prompts = [prompts] if isinstance(prompts, str) else prompts
        if not isinstance(prompts, Sequence):
            raise RequestError("prompts must be a list, of texts or of lists of token ids", "prompts")
        params = _or_default(sampling_params)
        if not isinstance(params, SamplingParams | Iterable) or isinstance(params, Mapping | str):
            problem = f"sampling_params must be SamplingParams, or a list of them, got {params!r}"
            raise RequestError(problem, "sampling_params")
        each = [params] * len(prompts) if isinstance(params, SamplingParams) else list(params)
        if len(each) != len(prompts):
            raise RequestError(
                f"there are {len(prompts)} prompts and {len(each)} sampling_params", "sampling_params"
            )
        requests = [
            TextRequest(uuid.uuid4().hex, *pair, read_whole=True) for pair in zip(prompts, each, strict=True)
        ]
        bar = partial(tqdm, total=len(requests), desc="Generating", disable=not use_tqdm)
        if isinstance(self._engine, TextPool):
            outputs = self._engine.answers(requests, bar)
        else:
            with self._stepping:
                outputs = self._answered(requests, bar)
        return [completion_of(found) for found in outputs.values()]

    def _answered(self, requests: Sequence[TextRequest], make_bar: MakeBar) -> dict[str, list[TextOutput]]:
        """All outputs of each request, by its name; for who has the engine."""
        engine = self._stepped_here()
        if engine.has_unfinished():
            raise EngineError(_UNFINISHED)
        outputs: dict[str, list[TextOutput]] = {request.request_id: [] for request in requests}
        sequences = [engine.prepare(request) for request in requests]
        try:
            with held_back():
                for sequence in sequences:
                    engine.add(sequence)
            with make_bar() as bar:
                while engine.has_unfinished():
                    with held_back():
                        step = self._stepped_here().step()
                    for output in step:
                        outputs[output.request_id].append(output)
                        bar.update(output.finish_reason is not None)
        finally:
            with held_back():
                for request_id in outputs:  # an interrupted call leaves nothing behind
                    engine.cancel(request_id)
        return outputs

    def chat(
        self,
        messages: Messages | Sequence[Messages],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        use_tqdm: bool = True,
        **options: Any,
    ) -> list[Completion]:
        """Answers to one conversation or several; `options` as of `TextTokenizer.chat_ids`.

        Raises as `generate`, and RequestError for a model without a tokenizer.
        """
        if self.tokenizer is None:
            raise RequestError("this model has no tokenizer", "messages", "unsupported")
        if not isinstance(messages, Sequence):
            raise RequestError("messages must be a list, or several lists", "messages")
        several = [messages] if messages and isinstance(messages[0], Mapping) else messages
        prompts = [self.tokenizer.chat_ids(conversation, **options) for conversation in several]
        return self.generate(prompts, sampling_params, use_tqdm)

    def add_request(self, prompt: Prompt, sampling_params: SamplingParams | None = None) -> str:
        """Queue a prompt for `step`; returns the name of the request. Raises RequestError."""
        request = TextRequest(uuid.uuid4().hex, prompt, _or_default(sampling_params))
        with self._stepping, held_back():
            self._stepped_here().add_request(request)
        return request.request_id

    def step(self) -> list[TextOutput]:
        """One token for every request that runs."""
        with self._stepping, held_back():
            return self._stepped_here().step()

    def is_finished(self) -> bool:
        """Whether `step` has nothing to do."""
        return not self._engine.has_unfinished()

    def cancel(self, request_id: str) -> bool:
        """Drop a request of `add_request`; False when there is none of this name."""
        with self._stepping, held_back():
            return self._stepped_here().cancel(request_id)

    async def stream(
        self, prompt: Prompt, sampling_params: SamplingParams | None = None
    ) -> AsyncIterator[TextOutput]:
        """The answer while it is generated; leaving the iteration cancels the request.

        From the first call on a thread owns the engine, and many streams share its steps. Raises
        RequestError, EngineError.
        """
        request = TextRequest(uuid.uuid4().hex, prompt, _or_default(sampling_params))
        stream = self._own_loop().submit(request)
        try:
            async for output in stream:
                if output.finish_reason == "error":
                    raise EngineError(output.error or "generation failed")
                yield output
        finally:
            stream.cancel()

    def close(self) -> None:
        """Stop the engine; open streams, and `generate` in another thread, raise EngineError."""
        with self._changing:
            self._closed = self._closed or CLOSED
        if self._loop is not None:
            self._loop.close()
        with self._stepping:
            self._engine.close()

    def forked(self) -> None:
        """See `engine.forks`: of no use where another thread was in the middle of a step."""
        if not self._stepping.acquire(blocking=False):
            self._closed = forks.FORKED
        self._ending.detach()
        self._changing, self._stepping = threading.Lock(), threading.RLock()

    def __enter__(self) -> LLM:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _end_with(self, end: Callable[..., object], *arguments: object) -> None:
        """Have this called once nobody holds the object any more; it may not wait for anything."""
        self._ending = weakref.finalize(self, end, *arguments)
        self._ending.atexit = False

    def _stepped_here(self) -> TextEngine:
        if self._closed:
            raise EngineError(self._closed)
        if isinstance(self._engine, TextPool):
            raise EngineError("several devices are not stepped by hand; use `generate` or `stream`")
        if self._loop is not None:
            raise EngineError("a stream has given the engine to a thread of its own; use `stream`")
        return self._engine

    def _own_loop(self) -> EngineLoop | TextPool:
        """The thread that has the engine from the first call on; it waits for nobody who steps."""
        with self._changing:
            if self._closed:
                raise EngineError(self._closed)
            if self._loop is None:
                self._loop = self._begun_loop()
            return self._loop

    def _begun_loop(self) -> EngineLoop:
        if not self._stepping.acquire(blocking=False):
            raise EngineError(_STEPPED)
        try:
            if self._engine.has_unfinished():
                raise EngineError(_UNFINISHED)
            loop = EngineLoop(self._engine, name="llm")
            loop.start()
            self._ending.detach()
            self._end_with(loop.leave, self._engine.close)
            return loop
        finally:
            self._stepping.release()


def _or_default(params: Any) -> Any:
    """Nothing else is the default: an empty list, one for each of no prompts, is not."""
    return SamplingParams() if params is None else params
