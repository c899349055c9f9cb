"""One `LLM` used by several threads and event loops, and closed meanwhile."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

from engine.errors import EngineError
from engine.forks import FORKED
from models.llm import LLM, SamplingParams, api
from tests.in_fork import in_fork

SHORT = SamplingParams(temperature=0, max_tokens=4, ignore_eos=True)
A_MOMENT = 0.2
"""For another thread to do what it must not."""


def test_no_other_process_is_sent_a_model(llm: LLM) -> None:
    with pytest.raises(TypeError, match=r"LLM objects .* each process loads a model of its own"):
        pickle.dumps(llm.generate)


class Meanwhile:
    """Does something in another thread while the first call of a method of `owner` begins."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, do: Callable[[], Any]) -> None:
        method = getattr(owner, name)
        self.found: list[Any] = []
        self.calls = 0
        self._do = do
        self._thread = threading.Thread(target=self._run, daemon=True)

        def begin(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == 1:
                self._thread.start()
                self._thread.join(A_MOMENT)
            return method(*arguments, **named)

        monkeypatch.setattr(owner, name, begin)

    def _run(self) -> None:
        try:
            self.found.append(self._do())
        except EngineError as error:
            self.found.append(error)

    @property
    def result(self) -> Any:
        self._thread.join()
        return self.found[0]


def streamed(llm: LLM) -> list[int]:
    async def read() -> list[int]:
        return [output.token async for output in llm.stream("hello", SHORT)]

    return asyncio.run(read())


def test_streams_that_begin_in_two_event_loops_have_one_thread(
    llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = llm.generate("hello", SHORT, use_tqdm=False)[0]["token_ids"]
    other = Meanwhile(monkeypatch, api, "EngineLoop", lambda: streamed(llm))
    assert [streamed(llm), other.result] == [expected] * 2
    assert other.calls == 1


def test_threads_that_generate_take_turns(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = llm.generate("hello", SHORT, use_tqdm=False)
    other = Meanwhile(monkeypatch, llm._engine, "step", lambda: llm.generate("hello", SHORT, use_tqdm=False))
    assert [llm.generate("hello", SHORT, use_tqdm=False), other.result] == [expected] * 2


def test_a_stream_waits_for_no_thread_that_generates(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Meanwhile(monkeypatch, llm._engine, "step", lambda: streamed(llm))
    assert len(llm.generate("hello", SHORT, use_tqdm=False)[0]["token_ids"]) == 4
    assert isinstance(other.result, EngineError) and "another thread steps" in str(other.result)
    assert len(streamed(llm)) == 4


def test_closing_ends_what_another_thread_generates(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Meanwhile(monkeypatch, llm._engine, "step", llm.close)
    with pytest.raises(EngineError, match="is closed"):
        llm.generate("hello", SHORT, use_tqdm=False)
    assert other.result is None and other.calls == 1


def test_what_is_closed_answers_nobody(llm: LLM) -> None:
    llm.close()
    for call in (lambda: llm.generate("hello"), lambda: llm.add_request("hello"), lambda: streamed(llm)):
        with pytest.raises(EngineError, match="is closed"):
            call()
    assert not [thread for thread in threading.enumerate() if thread.name == "llm"]


def test_a_fork_waits_for_no_thread_of_the_other_process(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask() -> str:
        return in_fork(lambda: llm.generate("hello", SHORT, use_tqdm=False))

    other = Meanwhile(monkeypatch, llm._engine, "step", ask)
    llm.generate("hello", SHORT, use_tqdm=False)
    assert FORKED in other.result
