"""The fake model of `fakes` as an engine that `EngineLoop` can drive, one gated step at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.errors import RequestError
from engine.output_stream import OutputStream
from engine.sequence import Sequence
from tests.engine.fakes import FakeRunner, Token, make_engine


@dataclass
class Request:
    request_id: str
    prompt: list[Token]
    count: int = 5


@dataclass
class Output:
    request_id: str
    finish_reason: str | None
    token: Token | None
    error: str | None


@dataclass
class Adapter:
    """A stepping engine over the fake model. While `gate` is closed no step begins."""

    runner: FakeRunner = field(default_factory=lambda: FakeRunner(num_blocks=2000))
    gate: threading.Event = field(default_factory=threading.Event)
    before_step: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        self.llm = make_engine(self.runner, max_num_seqs=64)
        self.in_step = threading.Event()
        self.threads: set[int] = set()
        self.prepared: list[str] = []
        self.gate.set()

    def prepare(self, request: Request) -> Sequence:
        self.prepared.append(request.request_id)
        if not request.prompt:
            raise RequestError("the prompt is empty", "prompt")
        return Sequence(request.request_id, request.prompt, request.count)

    def add(self, prepared: Sequence) -> None:
        self.threads.add(threading.get_ident())
        if prepared.request_id == "broken":
            raise KeyError("bug in the model glue")
        self.llm.add(prepared)

    def cancel(self, request_id: str) -> bool:
        self.threads.add(threading.get_ident())
        return self.llm.cancel(request_id)

    def pause(self, request_id: str) -> bool:
        self.threads.add(threading.get_ident())
        return self.llm.pause(request_id)

    def resume(self, request_id: str) -> bool:
        self.threads.add(threading.get_ident())
        return self.llm.resume(request_id)

    def step(self) -> list[Output]:
        self.threads.add(threading.get_ident())
        self.in_step.set()
        self.gate.wait()
        if self.before_step is not None:
            self.before_step()
        return [
            Output(o.sequence.request_id, o.finish_reason, o.result.token if o.result else None, o.error)
            for o in self.llm.step()
        ]

    def has_unfinished(self) -> bool:
        return self.llm.has_unfinished()


def tokens_of(outputs: list[Output]) -> list[Token | None]:
    return [output.token for output in outputs]


async def read_all(stream: OutputStream) -> list[Output]:
    return [output async for output in stream]
