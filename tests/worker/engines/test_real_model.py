"""A real checkpoint behind the socket: what the synthetic engine promises holds for a model too."""

import io

import numpy as np
import pytest
import soundfile

from tests.forks import REPOSITORY
from tests.worker.harness import Client, WorkerProcess, ready_worker, tone
from worker.protocol import EncodeResponse, Frame, FrameKind, Latents

CHECKPOINT = REPOSITORY / "tests" / "parity" / "tiny_v2"
TEXT = "Hello there, this is a test."


@pytest.fixture(scope="module")
def real_worker():
    with ready_worker(model=str(CHECKPOINT), device="cpu", slots=2, kv_host_gib=0.01) as process:
        yield process


async def speak(worker: WorkerProcess, **fields) -> list[Frame]:
    async with worker.connect() as websocket:
        await Client(websocket).start(TEXT, seed=3, min_seconds=0.1, max_seconds=0.2, **fields)
        frames = await Client(websocket).receive_clip()
    assert all(frame.samples == worker.health().model.patch_samples for frame in frames)
    return frames


def samples(frames: list[Frame]) -> np.ndarray:
    return np.frombuffer(b"".join(frame.pcm for frame in frames), "<i2").astype(int)


@pytest.mark.parametrize("cut", [1, 7])
async def test_a_resumed_clip_equals_the_uninterrupted_one_to_rounding(
    real_worker: WorkerProcess, cut: int
) -> None:
    model = real_worker.health().model
    whole = await speak(real_worker)
    assert len(whole) > 8 and whole[-1].finish_reason in ("stop", "length")
    shape = (cut, model.patch_size, model.latent_dim)
    head = Latents(shape=shape, data=b"".join(frame.latents for frame in whole[:cut]))
    tail = await speak(real_worker, attempt=2, resume_latents=head)
    assert [frame.sequence for frame in tail] == list(range(cut, len(whole)))
    assert np.abs(samples(whole[:cut] + tail) - samples(whole)).max() <= 3


async def test_a_reference_changes_the_voice(real_worker: WorkerProcess) -> None:
    file = io.BytesIO()
    soundfile.write(file, tone(0.5), 16_000, format="WAV")
    response = real_worker.request("POST", "/encode?role=reference", content=file.getvalue())
    encoded = EncodeResponse.model_validate_json(response.content)
    with_reference = await speak(real_worker, reference_latents=encoded.latents)
    without = await speak(real_worker)
    assert with_reference[0].latents != without[0].latents


async def test_a_bad_request_is_refused_before_it_is_accepted(real_worker: WorkerProcess) -> None:
    async with real_worker.connect() as websocket:
        for fields, param in (({"text": " "}, "text"), ({"voice": "nobody"}, "voice")):
            await Client(websocket).start(**fields)
            [refusal] = await Client(websocket).receive_all()
            assert (refusal.error.type, refusal.error.param) == ("invalid_request_error", param)


async def test_a_cancel_frees_the_slot(real_worker: WorkerProcess) -> None:
    async with real_worker.connect() as websocket:
        client = Client(websocket)
        await client.start(TEXT * 10, min_seconds=3.0)
        await client.receive_audio()
        await client.cancel()
        final = (await client.receive_all_until_last())[-1]
    assert (final.kind, final.finish_reason) == (FrameKind.FINAL, "cancelled")
    await real_worker.wait_for_free_slots()


async def test_the_status_counts_what_the_cache_was_good_for(real_worker: WorkerProcess) -> None:
    await speak(real_worker)
    before = real_worker.health().counters
    await speak(real_worker)
    after = real_worker.health().counters
    assert after.kv_device_positions > before.kv_device_positions
    assert after.kv_computed_positions > before.kv_computed_positions
    assert after.kv_brought_bytes == 0 and after.kv_stall_seconds == 0.0
