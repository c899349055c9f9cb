"""The second tier of the cache under both families of models: what comes back is what was computed, bit for
bit, so that what follows is, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.programs.ahead import Flight, Position
from models.llm import LLM, SamplingParams
from models.speech import SpeechOutput
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.options import EngineOptions, OptionsError
from tests.models.conftest import assert_close, audio, latents, request, run
from tests.models.engine.requests import clip
from tests.text_models import random_model

Engines = Callable[..., VoxCPMEngine]
PATCHES = 12
"""Of a `request`."""
TIER = {"kv_host_gib": 0.01, "kv_bring_back": "always"}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_paused_clip_that_lost_its_blocks_goes_on_with_the_same_bits(
    make_engine: Engines, threads: int
) -> None:
    expected = run(make_engine(threads=threads), request("r"))["r"]
    engine = make_engine(max_num_seqs=2, kv_blocks=9, threads=threads, **TIER)
    engine.add_request(request("r"))
    outputs: list[SpeechOutput] = []
    while len(outputs) < 5:
        outputs += engine.step()
    engine.pause("r")
    run(engine, *(request(str(number), "another text " * 3, seed=number) for number in range(3)))
    held = engine.cache_figures.computed_positions
    engine.resume("r")
    while engine.has_unfinished():
        outputs += engine.step()
    assert np.array_equal(latents(outputs), latents(expected))
    assert_close(audio(outputs), audio(expected), 1e-4)
    assert engine.cache_figures.brought_blocks > 0
    assert engine.cache_figures.computed_positions == held + 1


def test_programs_go_on_with_what_comes_back(
    make_engine: Engines, programs: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the patch that was launched before the pause: no second one is made of the same position."""
    expected = run(make_engine(), request("r"))["r"]
    engine = programs(max_num_seqs=2, kv_blocks=9, max_model_len=72, **TIER)
    engine.add_request(request("r"))
    outputs: list[SpeechOutput] = []
    while len(outputs) < 5:
        outputs += engine.step()
    engine.pause("r")
    run(engine, *(request(str(number), "another text " * 3, seed=number) for number in range(2)))
    engine.resume("r")
    launched: list[int] = []
    runner = engine._llm.runner._programs
    launch = runner._launch_patches_of

    def noted(rows: list[Position], num_steps: int) -> Flight | None:
        launched.extend(row.start for row in rows)
        return launch(rows, num_steps)

    monkeypatch.setattr(runner, "_launch_patches_of", noted)
    while engine.has_unfinished():
        outputs += engine.step()
    assert_close(latents(outputs), latents(expected), 1e-5)
    assert engine.cache_figures.brought_blocks > 0
    assert launched == list(range(launched[0], launched[0] + PATCHES - 5 - 1))


def test_a_voice_is_not_computed_again_after_a_burst(make_engine: Engines) -> None:
    engine = make_engine(max_num_seqs=2, kv_blocks=9, **TIER)
    voice = clip(2, 16)
    expected = run(make_engine(), request("again", reference_latents=voice))["again"]
    run(engine, request("first", "another text", reference_latents=voice))
    run(engine, *(request(str(number), "other words " * 3, seed=number) for number in range(6)))
    before = engine.cache_figures.host_positions
    outputs = run(engine, request("again", reference_latents=voice))["again"]
    assert engine.cache_figures.host_positions == before + 16
    assert_close(latents(outputs), latents(expected), 1e-5)


def test_answers_that_lost_their_blocks_are_those_of_an_engine_with_room(tmp_path: Path) -> None:
    prompts = [[7 * number % 300, 5, 9] * 6 for number in range(6)]
    params = SamplingParams(temperature=0.8, seed=4, max_tokens=24, ignore_eos=True)
    model = str(random_model(tmp_path))
    with LLM(model, device="cpu", max_num_seqs=6) as llm:
        expected = llm.generate(prompts, params, use_tqdm=False)
    with LLM(model, device="cpu", max_num_seqs=6, block_size=8, kv_blocks=12, **TIER) as llm:
        assert llm.generate(prompts, params, use_tqdm=False) == expected
        figures = llm._engine.cache_figures
        assert llm._engine._llm.scheduler.num_preemptions > 0 and figures.brought_blocks > 0


def test_a_size_that_is_none_is_refused() -> None:
    for size in (-1.0, float("nan"), float("inf")):
        with pytest.raises(OptionsError, match="kv_host_gib must be a finite number of at least 0"):
            EngineOptions(kv_host_gib=size)
