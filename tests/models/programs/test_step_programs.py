"""Steps at fixed addresses, as CUDA graphs hold them: the same speech, and no word with the host on the way.

Here they run unrecorded, with attention in Triton's interpreter.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from engine.device.cuda_graphs import batch_sizes
from engine.sequence import Sequence
from models.voxcpm import runner
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.programs import step_programs
from models.voxcpm.programs.patch_program import Launched, PatchProgram
from models.voxcpm.vae.waveform_streams import WaveformStreams
from tests.models.conftest import assert_close, audio, latents, request, run
from tests.models.engine.requests import clip, varied_requests

Engines = Callable[..., VoxCPMEngine]
HOST_READS = {"_local_scalar_dense", "nonzero", "unique2", "masked_select", "equal", "is_nonzero"}


def requests() -> list[Any]:
    common = {"max_seconds": 0.06, "min_seconds": 0.06}
    prompt = {"prompt_text": "the thing.", "prompt_latents": clip(1, 5)}
    return [
        request("zero-shot", **common),
        request("reference", reference_latents=clip(2, 9), cfg_value=1.0, temperature=0.5, **common),
        request("both", reference_latents=clip(2, 9), seed=8, **prompt, **common),
        request("other solver", inference_timesteps=4, **common),
    ]


def test_programs_give_what_the_free_path_gives(make_engine: Engines, programs: Engines) -> None:
    expected = run(make_engine(max_num_seqs=8), *requests())
    engine = programs(max_num_seqs=3)
    outputs = run(engine, *requests())
    for name, clips in expected.items():
        assert_close(latents(outputs[name]), latents(clips), 1e-5)
        assert_close(audio(outputs[name]), audio(clips), 1e-4)


def test_static_programs_are_not_recorded(programs: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        pytest.fail("something would be recorded")

    monkeypatch.setattr(runner, "GraphRecorder", refuse)
    assert len(run(programs(), *requests()[:1])["zero-shot"]) == 6
    with pytest.raises(pytest.fail.Exception):
        programs()._runner.prepare(step_programs.ProgramPlan(4, 3, 96))


def test_rows_are_served_by_programs_and_not_beside_them(
    programs: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = programs()
    monkeypatch.setattr(engine._runner, "_run_freely", lambda batch: pytest.fail("not by a program"))
    assert len(run(engine, *requests())["both"]) == 6


def test_preempted_and_resumed_clips_go_on_as_if_nothing_had_happened(
    make_engine: Engines, programs: Engines
) -> None:
    whole = run(make_engine(), *varied_requests())
    cramped = programs(kv_blocks=14, max_model_len=100, max_num_seqs=5)
    outputs = run(cramped, *varied_requests())
    assert cramped._llm.scheduler.num_preemptions > 0
    for name, clips in whole.items():
        assert_close(latents(outputs[name]), latents(clips), 1e-5)
        assert_close(audio(outputs[name]), audio(clips), 1e-4)
    item = varied_requests()[0]
    resumed = run(programs(), replace(item, resume_latents=latents(whole[item.request_id][:3])))
    assert_close(audio(resumed[item.request_id]), audio(whole[item.request_id][3:]), 1e-4)


class NoWordWithTheHost(TorchDispatchMode):
    """Fails on operators whose result the host would have to wait for, which no graph can hold."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        indices = args[1] if name in ("index", "index_put_", "_index_put_impl_") else ()
        boolean = any(index is not None and index.dtype == torch.bool for index in indices)
        if name in HOST_READS or boolean:
            raise AssertionError(f"{func} asks the device for something")
        return func(*args, **kwargs or {})


def test_a_program_asks_the_device_for_nothing(programs: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = programs(graphs="off")
    runner = engine._runner
    runner.prepare(step_programs.ProgramPlan(10, 2, 96, ((2, 32),), ((2, 64),)))
    served = runner._programs._programs
    # Triton's interpreter reads on the host what kernels read on the device.
    for part in ("decode", "prefill"):
        monkeypatch.setattr(runner._backend, part, lambda tokens, cache, step, out: out.copy_(tokens.q))
    for program in (
        served.for_decodes(2, 40),
        *(program for has_audio in (False, True) for program, _ in served.pack([3, 2], has_audio)),
        served.for_patches(2, False),
        served.for_patches(2, True),
    ):
        with NoWordWithTheHost():
            program.compute()
            if isinstance(program, PatchProgram):
                program._waveforms.compute(program.shape)


def test_that_question_would_be_noticed() -> None:
    for question in (lambda x: x.sum().item(), lambda x: x[x > 0], lambda x: x.nonzero()):
        with pytest.raises(AssertionError, match="asks the device"), NoWordWithTheHost():
            question(torch.ones(3))


def test_a_program_without_rows_harms_nobody(programs: Engines) -> None:
    engine = programs()
    item = requests()[0]
    engine.add_request(item)
    first = engine.step()
    before = engine._runner._streams.latents[:-1].clone()
    served = engine._runner._programs._programs
    language, patch = served.for_decodes(2, 10), served.for_patches(2, False)
    language.fill([])
    language.launch()
    patch.fill([])
    assert patch.launch(10).results() == []
    torch.testing.assert_close(engine._runner._streams.latents[:-1], before)
    assert torch.isfinite(engine._runner._streams.latents).all()
    assert first[0].index == 0


def test_batch_sizes_waste_little() -> None:
    sizes = batch_sizes(256)
    assert sizes[:6] == [1, 2, 3, 4, 8, 12] and sizes[-1] == 256
    assert {64, 72, 96, 104}.issubset(sizes)
    for smaller, larger in itertools.pairwise(sizes):
        assert larger - smaller <= max(4, smaller // 4)
    assert batch_sizes(1) == [1] and batch_sizes(5) == [1, 2, 3, 4, 5]


def test_there_are_not_too_many_programs() -> None:
    """Each takes part of a second to record."""
    for plan, most in (
        (step_programs.ProgramPlan(10, 64, 4096), 37),
        (step_programs.ProgramPlan(10, 512, 8192), 63),
    ):
        assert len(plan.language_shapes()) <= most
        assert len(plan.patch_shapes()) <= most - 10


def test_many_short_streams_go_through_the_programs_of_long_ones(programs: Engines) -> None:
    engine = programs(graphs="off")
    engine._runner.prepare(step_programs.ProgramPlan(10, 12, 96))
    served = engine._runner._programs._programs
    for count, context, expected in ((1, 48, (1, 48)), (8, 48, (8, 48)), (8, 49, (8, 96)), (9, 48, (12, 96))):
        shape = served.for_decodes(count, context).shape.attention
        assert (shape.num_decodes, shape.max_context) == expected


def test_a_step_is_launched_before_the_one_before_it_is_read(
    programs: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    launch, read = PatchProgram.launch, Launched.results
    monkeypatch.setattr(
        PatchProgram, "launch", lambda self, num_steps: events.append("launch") or launch(self, num_steps)
    )
    monkeypatch.setattr(Launched, "results", lambda self: events.append("read") or read(self))
    outputs = run(programs(), requests()[0])["zero-shot"]
    assert len(outputs) == 6
    assert events == ["launch", *["launch", "read"] * 5, "read"]


def test_who_waits_for_its_turn_loses_nothing(
    make_engine: Engines, programs: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fewer places in a step than streams, what was computed ahead is kept for its turn."""
    whole = run(make_engine(), *requests()[:3])
    placed: list[str] = []
    find = WaveformStreams.find

    def noted(streams: WaveformStreams, sequences: list[Sequence]) -> tuple[list[int], list[int]]:
        slots, new = find(streams, sequences)
        placed.extend(sequences[index].request_id for index in new)
        return slots, new

    monkeypatch.setattr(WaveformStreams, "find", noted)
    outputs = run(programs(max_decodes=1), *requests()[:3])
    for name, clips in whole.items():
        assert_close(latents(outputs[name]), latents(clips), 1e-5)
        assert_close(audio(outputs[name]), audio(clips), 1e-4)
    assert sorted(placed) == sorted(whole)


def test_sequences_that_leave_and_come_back_lose_nothing(make_engine: Engines, programs: Engines) -> None:
    whole = run(make_engine(), *varied_requests())
    engine = programs(max_model_len=100, max_num_seqs=5)
    outputs: dict[str, list[Any]] = {item.request_id: [] for item in varied_requests()}
    for item in varied_requests():
        engine.add_request(item)
    draw, paused = random.Random(1), set()
    while any(not clips or clips[-1].finish_reason is None for clips in outputs.values()):
        name = draw.choice(list(outputs))
        if name in paused or not engine.has_unfinished():
            for each in list(paused):
                engine.resume(each)
            paused.clear()
        elif engine.pause(name):
            paused.add(name)
        for output in engine.step():
            outputs[output.request_id].append(output)
    for name, clips in whole.items():
        assert_close(latents(outputs[name]), latents(clips), 1e-5)
        assert_close(audio(outputs[name]), audio(clips), 1e-4)


def test_a_stream_without_history_begins_within_its_program(
    make_engine: Engines, programs: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stood in its slot, not a number included."""
    first, second = requests()[:2]
    alone = run(make_engine(), second)[second.request_id]
    engine = programs(max_num_seqs=1)
    run(engine, first)
    streams = engine._runner._streams
    streams.latents.fill_(torch.nan)
    streams.decoder._storage.fill_(torch.nan)
    monkeypatch.setattr(WaveformStreams, "_start", lambda self, slot, sequence: pytest.fail("on its own"))
    after = run(engine, second)[second.request_id]
    assert_close(latents(after), latents(alone), 1e-5)
    assert_close(audio(after), audio(alone), 1e-4)


def test_a_cancelled_request_leaves_its_place_to_the_next(make_engine: Engines, programs: Engines) -> None:
    engine = programs(max_num_seqs=1)
    first, second = requests()[0], requests()[1]
    engine.add_request(first)
    engine.step()
    engine.step()
    engine.cancel(first.request_id)
    alone = run(make_engine(), second)[second.request_id]
    after = run(engine, second)[second.request_id]
    assert_close(audio(after), audio(alone), 1e-4)
