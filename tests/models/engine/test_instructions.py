"""What is told of how to speak stands before the text, as the published package has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.errors import RequestError
from models.speech import INSTRUCTIONS
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from tests.models.conftest import request

Engines = Callable[..., VoxCPMEngine]
LATENTS = np.zeros((3, 4, 16), np.float32)


def keys_of(engine: VoxCPMEngine, text: str = "hello world.", **fields: Any) -> list[int | bytes]:
    return list(engine.prepare(request("a", text, **fields)).token_ids)


@pytest.mark.parametrize(
    "told", ["a warm voice", "  a warm\n voice ", "(a warm voice)", "\uff08a warm voice\uff09"]
)
def test_instructions_are_in_brackets_before_the_text(make_engine: Engines, told: str) -> None:
    engine = make_engine()
    assert INSTRUCTIONS in engine.info.features
    written = keys_of(engine, "(a warm voice)hello world.")
    assert keys_of(engine, instructions=told) == written != keys_of(engine)
    reference = {"reference_latents": LATENTS}
    assert keys_of(engine, instructions=told, **reference)[-len(written) :] == written


@pytest.mark.parametrize("told", ["", " ", "()"])
def test_instructions_that_say_nothing_change_nothing(make_engine: Engines, told: str) -> None:
    assert keys_of(make_engine(), instructions=told) == keys_of(make_engine())


def test_the_longest_clip_follows_from_the_text_alone(make_engine: Engines) -> None:
    engine = make_engine()
    plain, told = (
        engine.prepare(request("a", "hello.", instructions=said)).payload.max_patches
        for said in (None, "a voice that speaks as slowly as it can")
    )
    assert plain == told


def test_a_prompt_tells_by_itself_how_to_go_on(make_engine: Engines) -> None:
    prompt = {"prompt_text": "the thing.", "prompt_latents": LATENTS}
    with pytest.raises(RequestError, match="do not go together") as refused:
        make_engine().prepare(request("a", "hello.", instructions="calm", **prompt))
    assert refused.value.param == "instructions"


def test_the_first_generation_takes_none(first_generation: Checkpoint) -> None:
    engine = VoxCPMEngine(first_generation, EngineOptions(block_size=8))
    assert INSTRUCTIONS not in engine.info.features
    with pytest.raises(RequestError) as refused:
        engine.prepare(request("a", "hello.", instructions="calm"))
    assert (refused.value.param, refused.value.code) == ("instructions", "instructions_unsupported")
