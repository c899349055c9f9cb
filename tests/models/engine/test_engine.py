"""VoxCPM in the engine: a request sounds the same whatever happens around it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.errors import EngineError, RequestError
from models.speech import SpeechRequest
from models.transformer.packed import PackedLayer
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from tests.models.conftest import CHECKPOINTS, assert_close, audio, latents, request, run
from tests.models.engine.requests import clip, varied_requests

TINY = CHECKPOINTS / "tiny_v2"
Engines = Callable[..., VoxCPMEngine]


def test_a_mixed_batch_gives_each_request_what_it_gets_alone(make_engine: Engines) -> None:
    together = run(make_engine(max_num_seqs=8), *varied_requests())
    for item in varied_requests():
        alone = run(make_engine(), item)[item.request_id]
        assert_close(latents(together[item.request_id]), latents(alone), 1e-5)
        assert_close(audio(together[item.request_id]), audio(alone), 1e-4)
        assert [o.index for o in alone] == list(range(len(alone)))
        assert [o.computing_seconds is not None for o in alone] == [True, *[False] * (len(alone) - 1)]


def test_chunked_prefill_gives_what_one_prefill_gives(make_engine: Engines) -> None:
    whole = run(make_engine(), *varied_requests())
    chunked = run(make_engine(max_num_batched_tokens=16, max_prefill_tokens=5), *varied_requests())
    for name, outputs in whole.items():
        assert_close(latents(chunked[name]), latents(outputs), 1e-5)


def test_a_preempted_request_goes_on_as_if_nothing_had_happened(make_engine: Engines) -> None:
    undisturbed = run(make_engine(), *varied_requests())
    cramped = make_engine(kv_blocks=14, max_model_len=100)
    outputs = run(cramped, *varied_requests())
    assert cramped._llm.scheduler.num_preemptions > 0
    for name, expected in undisturbed.items():
        assert_close(latents(outputs[name]), latents(expected), 1e-5)
        assert_close(audio(outputs[name]), audio(expected), 1e-4)


def test_more_started_streams_than_waveform_slots_still_sound_right(make_engine: Engines) -> None:
    """A preempted sequence may lose its decoder slot to a newcomer and must rebuild it."""
    requests = [request(f"r{i}", seed=i, max_seconds=0.24, min_seconds=0.24) for i in range(6)]
    undisturbed = run(make_engine(), *requests)
    outputs = run(make_engine(max_num_seqs=2, kv_blocks=9, max_model_len=64), *requests)
    for name, expected in undisturbed.items():
        assert_close(audio(outputs[name]), audio(expected), 1e-4)


def test_weights_in_bf16_on_a_cpu_change_the_beginning_of_a_clip_little(checkpoint: Checkpoint) -> None:
    halved = load_checkpoint(TINY, device="cpu", cpu_weights="bfloat16")
    layer = next(module for module in halved.model.modules() if isinstance(module, PackedLayer))
    assert layer.after[0].dtype is torch.bfloat16
    first = {}
    for name, loaded in {"whole": checkpoint, "halved": halved}.items():
        engine = VoxCPMEngine(loaded, EngineOptions(block_size=8, silence_guard=False))
        first[name] = latents(run(engine, request(name))[name][:1])
    difference = np.abs(first["halved"] - first["whole"]).mean() / np.abs(first["whole"]).mean()
    assert 0 < difference < 0.05


@pytest.mark.parametrize("cut", [1, 3, 7, 11])
@pytest.mark.parametrize("name", ["zero-shot", "continued", "both"])
def test_a_clip_resumed_from_its_latents_continues_the_uninterrupted_one(
    make_engine: Engines, name: str, cut: int
) -> None:
    item = next(item for item in varied_requests() if item.request_id == name)
    whole = run(make_engine(), item)[name]
    resumed = run(make_engine(), replace(item, resume_latents=latents(whole[:cut])))[name]
    assert [o.index for o in resumed] == list(range(cut, len(whole)))
    assert_close(latents(resumed), latents(whole[cut:]), 1e-4)
    assert_close(audio(resumed), audio(whole[cut:]), 1e-4)
    assert resumed[-1].finish_reason == whole[-1].finish_reason


@pytest.mark.parametrize("piece", [2048, 8])
@pytest.mark.parametrize("name", ["zero-shot", "continued", "both"])
def test_a_clip_resumed_where_nothing_else_runs_has_the_same_bits(
    make_engine: Engines, name: str, piece: int
) -> None:
    item = next(item for item in varied_requests() if item.request_id == name)
    whole = run(make_engine(max_num_batched_tokens=piece), item)[name]
    resumed = run(
        make_engine(max_num_batched_tokens=piece), replace(item, resume_latents=latents(whole[:7]))
    )[name]
    assert np.array_equal(latents(resumed), latents(whole[7:]))


def test_the_same_prompt_twice_hits_the_prefix_cache_and_sounds_the_same(make_engine: Engines) -> None:
    engine = make_engine()
    item = request("first", reference_latents=clip(3, 20))
    first = run(engine, item)["first"]
    engine.add_request(replace(item, request_id="second"))
    second = list(engine.step())
    cached = engine._llm.scheduler.get("second").num_cached_tokens
    while engine.has_unfinished():
        second += engine.step()
    assert cached >= 16
    assert_close(latents(second), latents(first), 1e-5)


def test_equal_seeds_give_equal_audio_and_other_seeds_do_not(make_engine: Engines) -> None:
    outputs = run(make_engine(), request("a"), request("b"), request("c", seed=6))
    assert_close(latents(outputs["a"]), latents(outputs["b"]), 1e-5)
    assert not np.allclose(latents(outputs["a"]), latents(outputs["c"]))


def test_cancel_drops_the_request_and_leaves_the_others(make_engine: Engines) -> None:
    engine = make_engine()
    for name in ("stays", "goes"):
        engine.add_request(request(name))
    seen = list(engine.step())
    assert engine.cancel("goes") and not engine.cancel("goes")
    while engine.has_unfinished():
        seen += engine.step()
    assert sum(o.request_id == "goes" for o in seen) == 1
    stays = [o for o in seen if o.request_id == "stays"]
    assert_close(latents(stays), latents(run(make_engine(), request("stays"))["stays"]), 1e-5)


def test_max_seconds_ends_a_clip_with_length_and_min_seconds_delays_its_stop(make_engine: Engines) -> None:
    patch_seconds = make_engine().info.patch_seconds
    free = run(make_engine(), SpeechRequest("r", "hello world", seed=1))["r"]
    assert free[-1].finish_reason == "stop"
    for patches in (2, 2.9):
        limited = SpeechRequest("r", "hello world", seed=1, max_seconds=patches * patch_seconds)
        outputs = run(make_engine(), limited)["r"]
        assert (len(outputs), outputs[-1].finish_reason) == (2, "length")
    wanted = (len(free) + 3) * patch_seconds
    delayed = run(make_engine(), SpeechRequest("r", "hello world", seed=1, min_seconds=wanted))["r"]
    assert len(delayed) >= len(free) + 3


def test_speech_that_never_stops_is_ended_as_runaway(make_engine: Engines) -> None:
    outputs = run(make_engine(min_stop_index=10_000), SpeechRequest("r", "hello", seed=1))["r"]
    text_tokens = len(make_engine().checkpoint.tokenizer.encode("hello"))
    assert (len(outputs), outputs[-1].finish_reason) == (text_tokens * 6 + 10, "runaway")


def test_values_that_are_not_finite_fail_that_request_alone(checkpoint: Checkpoint) -> None:
    def noise(seed: int, index: int, *shape: int) -> np.ndarray:
        bad = seed == 13 and index == 2
        return np.full(shape, np.nan if bad else 0.1 * index, dtype=np.float32)

    engine = VoxCPMEngine(checkpoint, EngineOptions(block_size=8, silence_guard=False), noise=noise)
    outputs = run(engine, request("bad", seed=13), request("good", seed=1))
    assert outputs["bad"][-1].finish_reason == "error" and "not finite" in outputs["bad"][-1].error
    assert len(outputs["good"]) == 12
    assert np.isfinite(latents(outputs["good"])).all()


BAD_REQUESTS = {
    "text": SpeechRequest("r", " \n ", seed=1),
    "voice": SpeechRequest("r", "hello", seed=1, voice="nobody"),
    "prompt_text": SpeechRequest("r", "hello", seed=1, prompt_latents=clip(1, 2)),
    "prompt_audio": SpeechRequest("r", "hello", seed=1, prompt_text="hi"),
    "reference_latents": SpeechRequest("r", "hello", seed=1, reference_latents=clip(1, 2)[:, :3]),
    "resume_latents": SpeechRequest("r", "hello", seed=1, resume_latents=np.full((2, 4, 16), np.inf)),
    "seed": SpeechRequest("r", "hello", seed=-1),
    "cfg_value": SpeechRequest("r", "hello", seed=1, cfg_value=float("nan")),
    "inference_timesteps": SpeechRequest("r", "hello", seed=1, inference_timesteps=1),
    "temperature": SpeechRequest("r", "hello", seed=1, temperature=2.5),
    "max_seconds": SpeechRequest("r", "hello", seed=1, max_seconds=0.0),
}


def test_an_engine_that_cannot_speak_says_so_before_it_serves(
    make_engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_kernel(*arguments: object) -> None:
        raise RuntimeError("no kernel image is available")

    engine = make_engine()
    monkeypatch.setattr(engine._runner, "run", no_kernel)
    with pytest.raises(EngineError, match="no kernel image is available"):
        engine.warm_up()


BAD_OPTIONS = {
    "max_num_seqs": 0,
    "max_model_len": 0,
    "block_size": 0,
    "kv_blocks": 0,
    "typical_seconds": math.inf,
    "max_num_batched_tokens": 0,
    "max_prefill_tokens": 0,
    "max_decodes": 0,
    "max_step_seconds": 0.0,
    "max_text_characters": 0,
    "part_characters": 0,
    "graphs": "on",
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_an_option_out_of_range_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be .*, got"):
        EngineOptions(**{name: BAD_OPTIONS[name]})


UNUSUAL_NUMBERS = [
    ("inference_timesteps", 7.5, "an integer"),
    ("seed", 1.5, "an integer"),
    ("seed", "7", "an integer"),
    ("cfg_value", "2", "a number"),
]


@pytest.mark.parametrize(("param", "value", "wanted"), UNUSUAL_NUMBERS)
def test_a_number_of_the_wrong_kind_is_refused_before_it_fails_a_step(
    make_engine: Engines, param: str, value: object, wanted: str
) -> None:
    with pytest.raises(RequestError, match=f"{param} must be .*{wanted}") as caught:
        make_engine().prepare(replace(request("r"), **{param: value}))
    assert caught.value.param == param


def test_a_range_without_end_is_told_by_its_beginning(make_engine: Engines) -> None:
    with pytest.raises(RequestError, match=r"max_seconds must be at least 0\.0\d+$"):
        make_engine().prepare(request("r", min_seconds=None, max_seconds=0.001))


@pytest.mark.parametrize("endless", [math.inf, 1e308])
def test_a_limit_without_end_is_none(make_engine: Engines, endless: float) -> None:
    expected = run(make_engine(max_model_len=96), SpeechRequest("r", "hello", seed=1, min_seconds=1000.0))[
        "r"
    ]
    limits = {"min_seconds": endless, "max_seconds": endless}
    outputs = run(make_engine(max_model_len=96), SpeechRequest("r", "hello", seed=1, **limits))["r"]
    assert (len(outputs), outputs[-1].finish_reason) == (len(expected), expected[-1].finish_reason)


@pytest.mark.parametrize("param", BAD_REQUESTS)
def test_a_bad_field_is_refused_by_name(make_engine: Engines, param: str) -> None:
    engine = make_engine()
    with pytest.raises(RequestError) as caught:
        engine.prepare(BAD_REQUESTS[param])
    assert caught.value.param == param
    assert not engine.has_unfinished()


def test_text_beyond_the_model_or_the_limit_is_refused(make_engine: Engines) -> None:
    with pytest.raises(RequestError, match="the limit is 20"):
        make_engine(max_text_characters=20).prepare(request("r", "a" * 21))
    with pytest.raises(RequestError, match="the model has 16"):
        make_engine(max_model_len=16).prepare(request("r", "hello world again and again and again"))


def test_a_cache_smaller_than_the_model_bounds_clips_and_says_so_before_they_are_queued(
    make_engine: Engines,
) -> None:
    engine = make_engine(kv_blocks=2)
    with pytest.raises(RequestError, match="has 16") as caught:
        engine.prepare(request("r", "hello world again and again and again"))
    assert caught.value.param == "text"
    whole = run(make_engine(), request("r"))["r"]
    outputs = run(engine, request("r"))["r"]
    prompt_length = 7
    assert (len(outputs), outputs[-1].finish_reason) == (16 - prompt_length, "length")
    assert_close(latents(outputs), latents(whole[: len(outputs)]), 1e-5)


def test_the_first_generation_takes_no_reference_but_continues_a_prompt(first_generation: Checkpoint) -> None:
    engine = VoxCPMEngine(first_generation, EngineOptions(silence_guard=False))
    patches = np.zeros((3, 2, 16), dtype=np.float32)
    with pytest.raises(RequestError, match="no reference"):
        engine.prepare(SpeechRequest("r", "hello", seed=1, reference_latents=patches))
    with pytest.raises(RequestError, match="no reference"):
        engine.encode_audio(np.zeros(1000, np.float32), 16000, "reference")
    outputs = run(engine, SpeechRequest("r", "hello", seed=1, prompt_text="hi.", prompt_latents=patches))
    assert outputs["r"][-1].finish_reason in {"stop", "runaway"}
