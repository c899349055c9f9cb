"""The number of threads changes no latent of a clip, so it may change while a clip is generated."""

from __future__ import annotations

from itertools import cycle

import pytest

from models.speech import SpeechRequest
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.loading import load_engine

TEXTS = ("The quick brown fox jumps over the lazy dog.", "Good morning.", "It is raining again.")


@pytest.fixture(scope="module")
def engine() -> VoxCPMEngine:
    return load_engine("bundled", "cpu", 4, threads=4, enable_prefix_caching=False)


def latents(engine: VoxCPMEngine, streams: int, threads: list[int]) -> dict[str, bytes]:
    """All latents of `streams` clips whose steps take the numbers of threads in turns."""
    for i in range(streams):
        engine.add_request(SpeechRequest(f"{i}", TEXTS[i], seed=i, max_seconds=0.5))
    made: dict[str, bytes] = {f"{i}": b"" for i in range(streams)}
    numbers = cycle(threads)
    while engine.has_unfinished():
        engine.step_threads.choice.threads = next(numbers)
        for output in engine.step():
            assert output.error is None
            made[output.request_id] += output.latents.tobytes()
    return made


@pytest.mark.parametrize("streams", [1, 3])
def test_a_clip_is_the_same_for_any_number_of_threads(engine: VoxCPMEngine, streams: int) -> None:
    alone = latents(engine, streams, [1])
    assert all(alone.values())
    assert latents(engine, streams, [2]) == alone
    assert latents(engine, streams, [3, 1, 4, 2]) == alone
