"""`VoxCPM` over processes: the speech of one rank, by processes that leave nothing behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.attention.selection import BACKENDS
from engine.errors import EngineError, OptionsError, RequestError, WeightError
from engine.parallel import ranks as ranks_module
from models.speech import ADAPTERS, SpeechOutput
from models.voxcpm import VoxCPM
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.loading import load_engine
from models.voxcpm.parallel import launch
from models.voxcpm.parallel.rank import PROGRAMS, PUT, STEP
from models.voxcpm.programs import step_programs
from models.voxcpm.programs.runner import ProgramRunner
from tests.engine.attention.static import StaticBackend
from tests.engine.parallel.processes import is_running
from tests.models.conftest import CHECKPOINTS, assert_close, audio, latents, request, run
from tests.models.engine.requests import clip, varied_requests
from tests.models.parallel import static_rank

TINY = str(CHECKPOINTS / "tiny_v2")
CRAMPED = {"kv_blocks": 14, "max_model_len": 100}


def load(size: int, model: str = TINY, **options: Any) -> VoxCPMEngine:
    options = {"max_num_seqs": 8, "block_size": 8, "silence_guard": False, **options}
    return load_engine(model, "cpu", tensor_parallel_size=size, **options)


def pids_of(engine: VoxCPMEngine) -> list[int]:
    return [process.pid for process in engine.checkpoint.ranks._processes]


@pytest.fixture(scope="module")
def one() -> VoxCPMEngine:
    return load(1)


@pytest.fixture(scope="module")
def two() -> Iterator[VoxCPMEngine]:
    """With less room than its requests take."""
    engine = load(2, **CRAMPED)
    yield engine
    engine.close()


def assert_same(found: list[SpeechOutput], expected: list[SpeechOutput]) -> None:
    assert_close(latents(found), latents(expected), 1e-5)
    assert_close(audio(found), audio(expected), 1e-4)
    assert [o.index for o in found] == [o.index for o in expected]
    assert found[-1].finish_reason == expected[-1].finish_reason


def test_a_mixed_batch_that_is_preempted_sounds_as_that_of_one_rank(
    one: VoxCPMEngine, two: VoxCPMEngine
) -> None:
    """Text, prompts, references, solver steps, guidance and temperatures of their own."""
    expected, before = run(one, *varied_requests()), two._llm.scheduler.num_preemptions
    found = run(two, *varied_requests())
    assert two._llm.scheduler.num_preemptions > before
    for name, outputs in expected.items():
        assert_same(found[name], outputs)


def test_clips_end_by_themselves_where_those_of_one_rank_do(one: VoxCPMEngine, two: VoxCPMEngine) -> None:
    free = [request(f"free {n}", seed=n, min_seconds=None, max_seconds=None) for n in range(3)]
    expected, found = run(one, *free), run(two, *free)
    assert {outputs[-1].finish_reason for outputs in expected.values()} == {"stop"}
    for name, outputs in expected.items():
        assert_same(found[name], outputs)


def test_a_prompt_that_is_known_and_a_clip_that_goes_on_elsewhere(
    one: VoxCPMEngine, two: VoxCPMEngine
) -> None:
    item = request("voice", reference_latents=clip(3, 20))
    (expected,) = run(one, item).values()
    assert_same(run(two, item)["voice"], expected)
    two.add_request(replace(item, request_id="again"))
    outputs = list(two.step())
    assert two._llm.scheduler.get("again").num_cached_tokens >= 16
    while two.has_unfinished():
        outputs += two.step()
    assert_same(outputs, expected)
    resumed = replace(item, request_id="resumed", resume_latents=latents(expected[:7]))
    assert_same(run(two, resumed)["resumed"], expected[7:])


def test_cancel_leaves_the_others_and_nobody_speaks_with_an_adapter(
    one: VoxCPMEngine, two: VoxCPMEngine
) -> None:
    for name in ("stays", "goes"):
        two.add_request(request(name))
    outputs = list(two.step())
    assert two.cancel("goes")
    while two.has_unfinished():
        outputs += two.step()
    stays = [output for output in outputs if output.request_id == "stays"]
    assert_same(stays, run(one, request("stays"))["stays"])
    assert ADAPTERS in one.info.features and ADAPTERS not in two.info.features
    with pytest.raises(RequestError, match="adapters need a tensor_parallel_size of 1, this engine has 2"):
        two.add_request(request("anna", adapter="anna"))


def test_two_engines_with_ranks_take_steps_in_turn(one: VoxCPMEngine, two: VoxCPMEngine) -> None:
    first, item = str(CHECKPOINTS / "tiny_v1"), request("a", min_seconds=0.05, max_seconds=0.05)
    alone = {"v1": run(load(1, first), item)["a"], "v2": run(one, item)["a"]}
    engines = {"v1": load(2, first), "v2": two}
    outputs: dict[str, list[SpeechOutput]] = {name: [] for name in engines}
    try:
        for engine in engines.values():
            engine.add_request(item)
        while any(engine.has_unfinished() for engine in engines.values()):
            for name, engine in engines.items():
                outputs[name] += engine.step()
    finally:
        engines["v1"].close()
    for name, expected in alone.items():
        assert_same(outputs[name], expected)


def test_programs_over_two_ranks_sound_as_free_steps_of_one(
    one: VoxCPMEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that changes a place of a stream included: clips that are resumed, that give way and that have
    solver steps of their own, and steps that no program serves."""
    monkeypatch.setattr(launch, "MODULE", static_rank.__name__)
    monkeypatch.setitem(BACKENDS, "triton", StaticBackend)
    chunks = ((1, 16), (3, 32))
    monkeypatch.setattr(step_programs.ProgramPlan, "__init__", with_chunks(chunks))
    new = request("freely", "the thing again", seed=11)
    expected = run(one, *varied_requests(), new)
    engine = load(2, attention_backend="triton", graphs="static", max_num_seqs=3, kv_blocks=10)
    runner = engine._runner
    numbers, step = set(), runner._ranks.step
    monkeypatch.setattr(
        runner._ranks, "step", lambda number, *arrays: (numbers.add(number), step(number, *arrays))[1]
    )
    try:
        assert isinstance(runner._programs, ProgramRunner)
        found = run(engine, *varied_requests())
        resumed = replace(varied_requests()[0], resume_latents=latents(expected["zero-shot"][:7]))
        found |= {"resumed": run(engine, resumed)["zero-shot"]}
        assert STEP not in numbers and PUT in numbers
        for rooms in runner._programs._programs._chunks.values():
            rooms._programs.clear()
        found |= run(engine, new)
        assert STEP in numbers
    finally:
        engine.close()
    assert engine._llm.scheduler.num_preemptions > 0
    assert len([number for number in numbers if number >= PROGRAMS]) >= 6
    expected["resumed"] = expected["zero-shot"][7:]
    for name, outputs in expected.items():
        assert_same(found[name], outputs)


def with_chunks(chunks: tuple) -> Any:
    """Of a `ProgramPlan` with few and small programs for prompts."""
    init = step_programs.ProgramPlan.__init__

    def small(self: Any, *sizes: int) -> None:
        init(self, *sizes, text_chunks=chunks, audio_chunks=chunks)

    return small


def test_a_killed_rank_ends_streams_with_its_reason_and_leaves_no_process() -> None:
    voice = VoxCPM.from_pretrained(TINY, "cpu", tensor_parallel_size=2, silence_guard=False)
    (pid,) = pids_of(voice._engine)
    try:
        with pytest.raises(EngineError, match="rank 1 died, signal 9"):
            for chunk in voice.generate("hello world", min_seconds=60.0):
                assert np.isfinite(chunk).all()
                if is_running(pid):
                    os.kill(pid, signal.SIGKILL)
        with pytest.raises(EngineError, match="rank 1 died, signal 9"):
            voice.synthesize("hello world")
    finally:
        voice.close()
    assert not is_running(pid)


def test_a_rank_that_stands_still_ends_the_engine_and_close_ends_the_others() -> None:
    engine = load(4, max_num_seqs=2)
    pids = pids_of(engine)
    try:
        os.kill(pids[1], signal.SIGSTOP)
        engine.add_request(request("a", min_seconds=60.0, max_seconds=60.0))
        with pytest.raises(EngineError, match="rank 2 "):
            while True:
                engine.step()
        assert not any(map(is_running, pids))
    finally:
        engine.close()


def test_a_load_that_fails_ends_its_ranks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[ranks_module.Ranks] = []
    start = ranks_module.Ranks.start
    monkeypatch.setattr(
        ranks_module.Ranks, "start", lambda self, told: (started.append(self), start(self, told))[1]
    )

    def mute(self: VoxCPMEngine) -> None:
        raise EngineError("the engine cannot speak")

    with monkeypatch.context() as patched:
        patched.setattr(VoxCPMEngine, "warm_up", mute)
        with pytest.raises(EngineError, match="cannot speak"):
            load(2)
    (tmp_path / "config.json").write_text((CHECKPOINTS / "tiny_v2" / "config.json").read_text())
    (tmp_path / "tokenizer.json").write_text((CHECKPOINTS / "tiny_v2" / "tokenizer.json").read_text())
    with pytest.raises((WeightError, EngineError), match="no checkpoint 'model'"):
        load(2, str(tmp_path))
    assert len(started) == 2
    assert not any(is_running(process.pid) for ranks in started for process in ranks._processes)


@pytest.mark.parametrize(
    ("name", "value"), [("kv_host_gib", 1.0), ("kv_host_gib", None), ("adapter_slots", 8)]
)
def test_what_several_ranks_do_not_do_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(RequestError, match=f"{name} .* needs a tensor_parallel_size of 1") as error:
        load(2, **{name: value})
    assert error.value.param == name


def test_so_are_numbers_of_ranks_that_there_cannot_be() -> None:
    for size in (0, 65):
        with pytest.raises(
            (RequestError, OptionsError), match="tensor_parallel_size must be between 1 and 64"
        ):
            load(size)
    with pytest.raises(RequestError, match="tensor_parallel_size 3: this model has a num_attention_heads"):
        load(3, "bundled")
