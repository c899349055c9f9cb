"""What is computed beside the audio of the step before is what would have been computed after it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from models.speech import SpeechOutput
from models.voxcpm.engine import VoxCPMEngine
from tests.models.conftest import assert_close, audio, latents, request, run

Engines = Callable[..., VoxCPMEngine]
PATIENCE_SECONDS = 30


def computed(engine: VoxCPMEngine, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[int]]]:
    """What the engine computes from now on: the thread, and the indices of the patches."""
    ahead, calls = engine._runner._ahead, []
    compute = ahead._compute

    def watched(parts: list[Any]) -> Any:
        calls.append((threading.current_thread().name, [part.index for part in parts]))
        return compute(parts)

    monkeypatch.setattr(ahead, "_compute", watched)
    monkeypatch.setattr(engine._runner, "_compute", watched)
    return calls


def advance(engine: VoxCPMEngine, outputs: dict[str, list[SpeechOutput]], steps: int) -> None:
    for _ in range(steps):
        for output in engine.step() if engine.has_unfinished() else ():
            outputs.setdefault(output.request_id, []).append(output)


def test_the_next_patches_are_begun_before_the_audio_of_these_is_made(
    make_engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the first audio of a clip is made before anything else."""
    engine = make_engine(threads=2)
    compute, decode = engine._runner._ahead._compute, engine._runner._streams.decode
    begun, decoded = [threading.Event() for _ in range(12)], 0

    def begin(parts: list[Any]) -> Any:
        begun[parts[0].index].set()
        return compute(parts)

    def decode_then(*arguments: Any) -> Any:
        nonlocal decoded
        decoded += 1
        if decoded == 1:
            assert not begun[1].is_set()
        elif decoded < 12:
            assert begun[decoded].wait(PATIENCE_SECONDS)
        return decode(*arguments)

    monkeypatch.setattr(engine._runner._ahead, "_compute", begin)
    monkeypatch.setattr(engine._runner._streams, "decode", decode_then)
    assert [output.error for output in run(engine, request("r"))["r"]] == [None] * 12


def test_no_patch_is_computed_twice_or_after_the_last(
    make_engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(threads=2)
    calls = computed(engine, monkeypatch)
    run(engine, request("a"), request("b", seed=6))
    assert [indices for _, indices in calls] == [[i, i] for i in range(12)]
    assert {name.startswith("engine-beside") for name, _ in calls[1:]} == {True}


def test_one_thread_computes_everything_in_turn(
    make_engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(threads=1)
    calls = computed(engine, monkeypatch)
    run(engine, request("r"))
    assert {name for name, _ in calls} == {threading.current_thread().name}


def test_a_patch_that_waits_for_a_pause_to_end_is_kept(
    make_engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run(make_engine(threads=1), request("r"))["r"]
    engine, outputs = make_engine(threads=2), {}
    calls = computed(engine, monkeypatch)
    engine.add_request(request("r"))
    advance(engine, outputs, 3)
    engine.pause("r")
    run(engine, request("other", seed=9))
    del calls[:]
    engine.resume("r")
    advance(engine, outputs, 12)
    assert calls[0][1] == [4], "patch 3 was there"
    assert_close(latents(outputs["r"]), latents(expected), 1e-5)
    assert_close(audio(outputs["r"]), audio(expected), 1e-4)


def test_who_gave_up_its_blocks_is_computed_anew(make_engine: Engines) -> None:
    expected = run(make_engine(threads=1), request("r"))["r"]
    engine, outputs = make_engine(threads=2, kv_blocks=4, max_model_len=32), {}
    engine.add_request(request("r"))
    advance(engine, outputs, 2)
    engine.pause("r")
    run(engine, request("other", "again hello world", seed=9))
    engine.resume("r")
    advance(engine, outputs, 12)
    assert engine._llm.scheduler.num_preemptions == 1
    assert_close(latents(outputs["r"]), latents(expected), 1e-5)
    assert_close(audio(outputs["r"]), audio(expected), 1e-4)


def test_a_failure_beside_is_the_error_of_its_rows_alone(
    make_engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(threads=2)
    compute = engine._runner._ahead._compute

    def fail_once(parts: list[Any]) -> Any:
        if parts[0].index == 3:
            raise RuntimeError("no memory")
        return compute(parts)

    monkeypatch.setattr(engine._runner._ahead, "_compute", fail_once)
    outputs = run(engine, request("r"))["r"]
    assert [output.error for output in outputs[:3]] == [None] * 3
    assert outputs[3].finish_reason == "error"
    assert "no memory" in outputs[3].error
    monkeypatch.setattr(engine._runner._ahead, "_compute", compute)
    assert [output.error for output in run(engine, request("next"))["next"]] == [None] * 12


def test_a_failure_that_nobody_asks_for_hurts_nobody(
    make_engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(threads=2)
    compute = engine._runner._ahead._compute
    monkeypatch.setattr(engine._runner._ahead, "_compute", lambda parts: 1 / 0)
    engine.add_request(request("r"))
    advance(engine, {}, 1)
    assert engine.cancel("r")
    assert engine._runner._ahead._under_way[2].exception(PATIENCE_SECONDS)
    monkeypatch.setattr(engine._runner._ahead, "_compute", compute)
    assert [output.error for output in run(engine, request("next"))["next"]] == [None] * 12


@pytest.mark.parametrize("seed", [0, 3])
def test_a_clip_sounds_the_same_whatever_happens_around_it(make_engine: Engines, seed: int) -> None:
    """Requests come, pause, leave, run out of blocks; the numbers of threads change."""
    random = np.random.default_rng(seed)
    requests = {
        f"{i}": request(f"{i}", "hello world " * int(random.integers(1, 5)), seed=i,
                        inference_timesteps=int(random.choice([4, 10])))
        for i in range(6)
    }  # fmt: skip
    engine = make_engine(threads=2, max_num_seqs=3, kv_blocks=9, max_model_len=64)
    outputs, left, paused, waiting = {}, set(), set(), list(requests)
    while waiting or engine.has_unfinished() or paused:
        engine.step_threads.choice.threads = int(random.integers(1, 3))
        chance = random.random()
        if waiting and chance < 0.3:
            engine.add_request(requests[waiting.pop()])
        name = str(random.integers(0, 6))
        if chance > 0.9 and engine.cancel(name):
            left.add(name)
            paused.discard(name)
        elif chance > 0.7 and engine.pause(name):
            paused.add(name)
        elif paused and chance < 0.4:
            engine.resume(paused.pop())
        advance(engine, outputs, 1)
    plain = make_engine(threads=1)
    for name, item in requests.items():
        expected = run(plain, item)[name]
        heard = outputs.get(name, [])
        assert name in left or len(heard) == 12
        if heard:
            assert_close(latents(heard), latents(expected[: len(heard)]), 1e-5)
            assert_close(audio(heard), audio(expected[: len(heard)]), 1e-4)
