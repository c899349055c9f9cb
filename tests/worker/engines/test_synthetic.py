"""The synthetic engine keeps the promises that tests of the rest of the system stand on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import RequestError
from models.speech import SpeechOutput, SpeechRequest
from worker.engines.synthetic import INFO, SyntheticEngine

TEXT = "The quick brown fox jumps over the lazy dog."


def run(engine: SyntheticEngine) -> list[SpeechOutput]:
    outputs = []
    while engine.has_unfinished():
        outputs += engine.step()
    return outputs


def make_engine(**options) -> SyntheticEngine:
    return SyntheticEngine(**{"step_ms": 0, "slots": 4, **options})


def test_a_batch_gives_each_request_what_it_gets_alone() -> None:
    engine = make_engine()
    requests = [SpeechRequest(f"r{seed}", TEXT[: 12 + 8 * seed], seed) for seed in range(6)]
    for request in requests:
        engine.add_request(request)
    outputs = run(engine)
    for request in requests:
        mine = [output for output in outputs if output.request_id == request.request_id]
        audio, latents = SyntheticEngine.render(request)
        assert [output.index for output in mine] == list(range(len(latents)))
        assert np.array_equal(np.concatenate([output.audio for output in mine]), audio)
        assert np.array_equal(np.stack([output.latents for output in mine]), latents)
        assert [output.finish_reason for output in mine] == [None] * (len(mine) - 1) + ["stop"]


def test_no_more_than_its_slots_run_at_once_and_the_oldest_go_first() -> None:
    engine = make_engine(slots=2)
    for name in "abc":
        engine.add_request(SpeechRequest(name, TEXT, 1))
    assert [output.request_id for output in engine.step()] == ["a", "b"]
    engine.cancel("a")
    assert [output.request_id for output in engine.step()] == ["b", "c"]


@given(st.integers(0, 17))
def test_a_resumed_request_continues_with_the_same_patches(cut: int) -> None:
    _, latents = SyntheticEngine.render(SpeechRequest("whole", TEXT, 3))
    engine = make_engine()
    resumed = latents[:cut] if cut else None
    engine.add_request(SpeechRequest("r", TEXT, 3, resume_latents=resumed))
    outputs = run(engine)
    assert [output.index for output in outputs] == list(range(cut, 18))
    assert np.array_equal(np.stack([output.latents for output in outputs]), latents[cut:])


@pytest.mark.parametrize("order", [[1, 0, 2], [0, 0, 1], [0, 2]])
def test_patches_that_are_swapped_repeated_or_missing_cannot_be_resumed_from(order: list[int]) -> None:
    _, latents = SyntheticEngine.render(SpeechRequest("whole", TEXT, 3))
    with pytest.raises(RequestError) as caught:
        make_engine().add_request(SpeechRequest("r", TEXT, 3, resume_latents=latents[order]))
    assert (caught.value.param, caught.value.code) == ("resume_latents", "foreign_latents")


def test_a_complete_clip_cannot_be_resumed() -> None:
    _, latents = SyntheticEngine.render(SpeechRequest("whole", TEXT, 3))
    with pytest.raises(RequestError, match="complete"):
        make_engine().add_request(SpeechRequest("r", TEXT, 3, resume_latents=latents))


@pytest.mark.parametrize(
    ("limits", "patches", "reason"),
    [
        ({}, 18, "stop"),
        ({"min_seconds": 4.0}, 25, "stop"),
        ({"max_seconds": 1.6}, 10, "length"),
        ({"max_seconds": 1.7}, 10, "length"),
        ({"min_seconds": 1.6, "max_seconds": 1.6}, 10, "length"),
    ],
)
def test_limits_in_seconds_bound_the_clip(limits: dict, patches: int, reason: str) -> None:
    engine = make_engine()
    engine.add_request(SpeechRequest("r", TEXT, 3, **limits))
    outputs = run(engine)
    assert (len(outputs), outputs[-1].finish_reason) == (patches, reason)


def test_text_seed_and_place_all_change_a_patch() -> None:
    clips = [
        SyntheticEngine.render(SpeechRequest("r", text, seed))
        for text in ("Hello", "World")
        for seed in (1, 2)
    ]
    latents = np.concatenate([clip[1] for clip in clips])
    assert len({patch.tobytes() for patch in latents}) == len(latents)
    audio = np.concatenate([clip[0] for clip in clips]).reshape(-1, INFO.patch_samples)
    assert len({patch.tobytes() for patch in audio}) == len(audio)


def test_patches_join_without_a_click() -> None:
    audio, _ = SyntheticEngine.render(SpeechRequest("r", TEXT * 10, 3))
    jumps = np.abs(np.diff(audio))
    seams = jumps[INFO.patch_samples - 1 :: INFO.patch_samples]
    assert seams.max() <= jumps.max()
    assert np.abs(audio).max() <= 0.3


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"text": ""}, "text"),
        ({"text": " \n\t"}, "text"),
        ({"text": "a" * 4097}, "text"),
        ({"voice": "nobody"}, "voice"),
        ({"cfg_value": 0.0}, "cfg_value"),
        ({"inference_timesteps": 1}, "inference_timesteps"),
        ({"temperature": 2.1}, "temperature"),
        ({"min_seconds": -1.0}, "min_seconds"),
        ({"max_seconds": 0.0}, "max_seconds"),
        ({"max_seconds": 601.0}, "max_seconds"),
        ({"min_seconds": 2.0, "max_seconds": 1.0}, "min_seconds"),
        ({"prompt_text": "Hi."}, "prompt_text"),
    ],
)
def test_a_bad_field_is_refused_by_name(changes: dict, param: str) -> None:
    with pytest.raises(RequestError) as caught:
        make_engine().add_request(SpeechRequest(**{"request_id": "r", "text": TEXT, "seed": 3, **changes}))
    assert caught.value.param == param
