"""A request of the real engine that was paused sounds like one that was not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.speech import SpeechOutput
from models.voxcpm.engine import VoxCPMEngine
from tests.models.conftest import assert_close, audio, latents, request, run


@pytest.mark.parametrize("others", [0, 3])
def test_a_paused_request_goes_on_as_if_nothing_had_happened(
    make_engine: Callable[..., VoxCPMEngine], others: int
) -> None:
    """With others in between, it loses its place in the streaming decoder as well as its blocks."""
    expected = run(make_engine(), request("r"))["r"]
    engine = make_engine(max_num_seqs=2, kv_blocks=9)
    engine.add_request(request("r"))
    outputs: list[SpeechOutput] = []
    while len(outputs) < 5:
        outputs += engine.step()
    assert engine.pause("r") and not engine.has_unfinished() and engine.step() == []
    names = [f"other-{number}" for number in range(others)]
    run(engine, *(request(name, "another text " * 3, seed=number) for number, name in enumerate(names)))
    assert engine.resume("r")
    while engine.has_unfinished():
        outputs += engine.step()
    assert [output.index for output in outputs] == list(range(len(expected)))
    assert_close(latents(outputs), latents(expected), 1e-5)
    assert_close(audio(outputs), audio(expected), 1e-4)
    assert outputs[-1].finish_reason == expected[-1].finish_reason
