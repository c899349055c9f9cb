"""What was computed one step ahead is of use only as long as its sequence keeps what it was computed with."""

from __future__ import annotations

from collections.abc import Callable

from models.speech import SpeechOutput
from models.voxcpm.engine import VoxCPMEngine
from tests.models.conftest import assert_close, audio, latents, request, run

Engines = Callable[..., VoxCPMEngine]


def interrupted(engine: VoxCPMEngine, patches: int, others: int) -> list[SpeechOutput]:
    """Outputs of a request that is paused after so many patches, for as long as `others` requests take."""
    engine.add_request(request("r"))
    outputs: list[SpeechOutput] = []
    while len(outputs) < patches:
        outputs += engine.step()
    engine.pause("r")
    run(engine, *(request(f"other {i}", "again hello world", seed=i) for i in range(others)))
    engine.resume("r")
    while engine.has_unfinished():
        outputs += engine.step()
    return outputs


def test_who_gave_up_its_blocks_computes_all_that_the_cache_does_not_hold(
    make_engine: Engines, programs: Engines
) -> None:
    """After two patches a block is full: the cache holds all but the position that was computed ahead."""
    expected = run(make_engine(), request("r"))["r"]
    engine = programs(kv_blocks=4, max_model_len=32)
    outputs = interrupted(engine, patches=2, others=1)
    assert engine._llm.scheduler.num_preemptions == 1
    assert_close(latents(outputs), latents(expected), 1e-5)
    assert_close(audio(outputs), audio(expected), 1e-4)


def test_who_lost_its_place_in_the_decoder_goes_on_from_its_last_patch(
    make_engine: Engines, programs: Engines
) -> None:
    """A pause keeps the patch that was computed ahead; the place is another's before it is asked for."""
    expected = run(make_engine(), request("r"))["r"]
    outputs = interrupted(programs(max_num_seqs=2), patches=2, others=2)
    assert_close(latents(outputs), latents(expected), 1e-5)
    assert_close(audio(outputs), audio(expected), 1e-4)
