"""`POST /encode`: audio in, latents out that a request can use."""

import io

import httpx
import numpy as np
import pytest
import soundfile

from tests.worker.harness import Client, WorkerProcess, tone
from worker.protocol import Accepted, EncodeResponse


def wav(seconds: float) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, tone(seconds), 16_000, format="WAV")
    return file.getvalue()


@pytest.mark.parametrize("role", ["reference", "prompt"])
async def test_encoded_audio_is_usable_in_its_role(worker: WorkerProcess, role: str) -> None:
    async with httpx.AsyncClient() as http:
        response = await http.post(f"{worker.url}/encode", params={"role": role}, content=wav(1.0))
    assert response.status_code == 200, response.text
    encoded = EncodeResponse.model_validate_json(response.content)
    assert (encoded.role, encoded.audio_seconds) == (role, 1.0)
    assert encoded.latents.shape == (7, 4, 64)
    assert np.isfinite(np.frombuffer(encoded.latents.data, "<f4")).all()
    fields = {f"{role}_latents": encoded.latents} | ({"prompt_text": "Hi."} if role == "prompt" else {})
    async with worker.connect() as websocket:
        await Client(websocket).start("Hello.", seed=1, **fields)
        assert isinstance((await Client(websocket).receive_all())[0], Accepted)


def refused(response: httpx.Response) -> tuple[int, str, str | None]:
    error = response.json()["error"]
    return response.status_code, error["code"], error["param"]


def test_a_body_that_says_it_is_too_large_is_refused_unread(worker: WorkerProcess) -> None:
    response = httpx.post(f"{worker.url}/encode", content=bytes(21 << 20))
    assert refused(response) == (413, "too_large", "audio")


def test_a_body_that_grows_too_large_is_refused(worker: WorkerProcess) -> None:
    def pieces():
        for _ in range(30):
            yield bytes(1 << 20)

    try:
        response = httpx.post(f"{worker.url}/encode", content=pieces(), timeout=60)
    except httpx.WriteError:
        return  # the refusal came while the client was still sending
    assert refused(response) == (413, "too_large", "audio")


@pytest.mark.parametrize(("seconds", "code"), [(0.05, "audio_too_short"), (61.0, "audio_too_long")])
def test_length_is_bounded(worker: WorkerProcess, seconds: float, code: str) -> None:
    assert refused(httpx.post(f"{worker.url}/encode", content=wav(seconds))) == (400, code, "audio")
