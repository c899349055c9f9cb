"""A voice that comes with requests costs its encoding and its prefill once: the bundled model, on a CPU."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
import soundfile
from fastapi.testclient import TestClient

from engine.sequence import Sequence
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.loading import load_engine
from tests.gateway.audio.files import RATE, speech
from worker.app import create_app
from worker.protocol import GENERATE_PATH, EncodeResponse, StartRequest, WorkerState, decode_frame
from worker.settings import WorkerSettings


@pytest.fixture(scope="module")
def engine() -> VoxCPMEngine:
    return load_engine("bundled", "cpu", max_num_seqs=2)


@pytest.fixture
def worker(engine: VoxCPMEngine) -> Iterator[TestClient]:
    app = create_app(WorkerSettings(), lambda settings, report: engine)
    with TestClient(app, client=("127.0.0.1", 50_000)) as client:
        while app.state.worker.state is not WorkerState.IDLE:
            client.get("/health")
        yield client


def encode(worker: TestClient, pitch: float) -> EncodeResponse:
    file = io.BytesIO()
    soundfile.write(file, speech(4.0, pitch=pitch), RATE, format="WAV", subtype="PCM_16")
    response = worker.post("/encode", params={"role": "reference"}, content=file.getvalue())
    assert response.status_code == 200, response.text
    return EncodeResponse.model_validate_json(response.content)


def speak(worker: TestClient, text: str, voice: EncodeResponse) -> None:
    start = StartRequest(request_id="r", text=text, seed=1, max_seconds=0.2, reference_latents=voice.latents)
    with worker.websocket_connect(GENERATE_PATH) as socket:
        socket.send_text(start.model_dump_json())
        assert '"accepted"' in socket.receive_text()
        while not decode_frame(socket.receive_bytes()).last:
            pass


def test_the_second_request_finds_the_voice_in_the_cache(
    engine: VoxCPMEngine, worker: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    sequences: list[Sequence] = []
    encode_audio, add = engine.encode_audio, engine._llm.add

    def counting(samples, rate, role):
        encoded.append(len(samples))
        return encode_audio(samples, rate, role)

    def watching(sequence: Sequence) -> None:
        sequences.append(sequence)
        add(sequence)

    monkeypatch.setattr(engine, "encode_audio", counting)
    monkeypatch.setattr(engine._llm, "add", watching)
    voice, again, other = encode(worker, 150.0), encode(worker, 150.0), encode(worker, 200.0)
    assert voice == again != other
    assert len(encoded) == 2, "equal audio is encoded once"
    for text, speaker in (
        ("A first sentence.", voice), ("Now another one.", again), ("And a third.", other)
    ):  # fmt: skip
        speak(worker, text, speaker)
    first, second, third = (sequence.num_cached_tokens for sequence in sequences)
    whole_blocks = (voice.latents.shape[0] + 1) // engine.options.block_size * engine.options.block_size
    assert (first, third) == (0, 0)
    assert second >= whole_blocks >= 32, "the reference, but for its last block, is not computed again"
