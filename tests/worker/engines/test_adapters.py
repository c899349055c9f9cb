"""Adapters at a worker: sent once, kept while there is room, used by name of their content, told apart."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import torch
from safetensors.torch import load, load_file, save

from models.lora.files import write_adapter
from models.voxcpm import VoxCPM
from tests.models.lora.conftest import CHECKPOINT, LORA, random_adapter
from tests.worker.harness import Client, StartWorker, WorkerProcess, ready_worker
from worker.protocol import Accepted, AdapterDescription, ErrorMessage, Frame, Latents, pack_adapter

TEXT = "Hello there, this is a test."
CLIP = {"seed": 3, "min_seconds": 0.2, "max_seconds": 0.2}
CLOSE = 30
"""Steps of 16 bits: another batch rounds differently, on some processors more than on others."""
Files = tuple[dict, bytes]


def files_of(folder: Path) -> Files:
    config = json.loads((folder / "lora_config.json").read_text())
    return config, (folder / "lora_weights.safetensors").read_bytes()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two adapters of different ranks."""
    root = tmp_path_factory.mktemp("adapters")
    for seed, (name, rank) in enumerate({"anna": 4, "ben": 2}.items()):
        write_adapter(root / name, random_adapter(seed, rank), {**LORA, "r": rank})
    return {name: root / name for name in ("anna", "ben")}


@pytest.fixture(scope="module")
def expected(written: dict[str, Path]) -> Callable[[str | None], np.ndarray]:
    """What the Python API speaks with each adapter, or without."""
    clips: dict[str | None, np.ndarray] = {}
    with VoxCPM.from_pretrained(str(CHECKPOINT)) as voice:
        clips[None] = voice.synthesize(TEXT, **CLIP)
        for name, folder in written.items():
            voice.load_lora(folder, name)
            clips[name] = voice.synthesize(TEXT, lora=name, **CLIP)
    return lambda name: np.rint(clips[name] * 32767).clip(-32768, 32767)


@pytest.fixture(scope="module")
def real() -> Iterator[WorkerProcess]:
    with ready_worker(model=str(CHECKPOINT), device="cpu", slots=8) as process:
        yield process


def post(worker: WorkerProcess, files: Files, digest: str | None = None) -> httpx.Response:
    return post_body(worker, pack_adapter(*files), digest)


def post_body(worker: WorkerProcess, body: bytes, digest: str | None = None) -> httpx.Response:
    """`digest`: None: that of the body."""
    query = {"digest": digest or hashlib.sha256(body).hexdigest()}
    return worker.request("POST", "/adapters", params=query, content=body)


def sent(worker: WorkerProcess, folder: Path) -> AdapterDescription:
    response = post(worker, files_of(folder))
    assert response.status_code == 200, response.text
    return AdapterDescription.model_validate_json(response.content)


def use(description: AdapterDescription, name: str = "anna") -> dict:
    return {"adapter": {"digest": description.digest, "name": name}}


async def clip_of(worker: WorkerProcess, text: str = TEXT, **fields) -> list[Frame]:
    async with worker.connect() as websocket:
        await Client(websocket).start(text, **{**CLIP, **fields})
        return await Client(websocket).receive_clip()


def samples(frames: list[Frame]) -> np.ndarray:
    return np.frombuffer(b"".join(frame.pcm for frame in frames), "<i2").astype(int)


async def refusal(worker: WorkerProcess, **fields) -> tuple[str, str | None, str]:
    async with worker.connect() as websocket:
        await Client(websocket).start(TEXT, **fields)
        message = await Client(websocket).receive()
    assert isinstance(message, ErrorMessage)
    return message.error.code, message.error.param, message.error.type


async def test_rows_of_one_batch_are_what_the_python_api_speaks(
    real: WorkerProcess, written: dict[str, Path], expected: Callable[[str | None], np.ndarray]
) -> None:
    digests = {name: sent(real, folder) for name, folder in written.items()}
    assert [found.rank for found in digests.values()] == [4, 2]
    names = [None, "anna", "ben", "anna", None]
    clips = await asyncio.gather(
        *(
            clip_of(real, request_id=f"r{place}", **(use(digests[name], name) if name else {}))
            for place, name in enumerate(names)
        )
    )
    for name, clip in zip(names, clips, strict=True):
        assert np.abs(samples(clip) - expected(name)).max() <= CLOSE, name
    assert np.abs(expected("anna") - expected(None)).max() > 100 * CLOSE


async def test_a_prefix_is_shared_by_clips_of_the_same_adapter_alone(
    real: WorkerProcess, written: dict[str, Path]
) -> None:
    """A text of several blocks, so that the second clip begins with what the first one computed."""
    anna, text = use(sent(real, written["anna"])), TEXT * 6
    plain = await clip_of(real, text)
    adapted = await clip_of(real, text, **anna)
    assert np.abs(samples(await clip_of(real, text)) - samples(plain)).max() <= CLOSE
    assert np.abs(samples(await clip_of(real, text, **anna)) - samples(adapted)).max() <= CLOSE
    assert np.abs(samples(adapted) - samples(plain)).max() > 100 * CLOSE


async def test_a_clip_goes_on_in_the_middle_with_its_adapter(
    real: WorkerProcess, written: dict[str, Path]
) -> None:
    anna, model = use(sent(real, written["anna"])), real.health().model
    whole = await clip_of(real, **anna)
    shape = (5, model.patch_size, model.latent_dim)
    head = Latents(shape=shape, data=b"".join(frame.latents for frame in whole[:5]))
    tail = await clip_of(real, attempt=2, resume_latents=head, **anna)
    assert np.abs(samples(whole[:5] + tail) - samples(whole)).max() <= CLOSE


async def test_one_that_an_earlier_gateway_stored_is_known_by_what_is_heard_of_it(
    real: WorkerProcess, written: dict[str, Path]
) -> None:
    """Its file and its row have the digest that a worker told then."""
    digest = random_adapter(0, 4).digest
    response = post(real, files_of(written["anna"]), digest)
    assert response.json()["digest"] == digest
    assert await clip_of(real, **use(AdapterDescription.model_validate_json(response.content)))


async def test_one_that_makes_no_numbers_fails_its_own_clips_and_is_named(
    real: WorkerProcess, written: dict[str, Path], expected: Callable[[str | None], np.ndarray]
) -> None:
    """Each of its values is finite, and what is computed with them is not."""
    config, weights = files_of(written["anna"])
    drowning = save({name: tensor * 1e20 for name, tensor in load(weights).items()})
    description = AdapterDescription.model_validate_json(post(real, (config, drowning)).content)
    plain = asyncio.create_task(clip_of(real, request_id="plain"))
    async with real.connect() as websocket:
        client = Client(websocket)
        await client.start(TEXT, request_id="drowned", **CLIP, **use(description))
        assert isinstance(await client.receive(), Accepted)
        told = await client.receive()
        assert isinstance(told, ErrorMessage) and "not finite" in told.error.message
        assert (told.error.code, told.error.param) == ("invalid_adapter", "adapter")
        assert told.error.type == "invalid_request_error"
        assert (await client.receive()).finish_reason == "error"
    assert np.abs(samples(await plain) - expected(None)).max() <= CLOSE


async def test_an_adapter_that_is_not_here_is_asked_for(real: WorkerProcess) -> None:
    stranger = {"digest": "0" * 64, "name": "nobody"}
    code = ("unknown_adapter", "adapter", "invalid_request_error")
    assert await refusal(real, adapter=stranger) == code
    assert real.health().slots_used == 0


def test_what_does_not_fit_is_refused_with_its_name(real: WorkerProcess, written: dict[str, Path]) -> None:
    config, weights = files_of(written["anna"])
    too_small = {**config, "lora_config": {**LORA, "r": 2}}
    other_base = {**config, "base_digest": "f" * 64}
    too_much = {**config, "lora_config": {**LORA, "alpha": 1e300}}
    cases = {
        "lora_B, times a scale of 2.5e+299, has values that are not finite": (too_much, weights),
        "rank 2 want": (too_small, weights),
        "another model": (other_base, weights),
        "cannot be read": (config, weights[:100]),
        "enables nothing": ({"lora_config": {}}, weights),
    }
    for words, files in cases.items():
        response = post(real, files)
        error = response.json()["error"]
        assert (response.status_code, error["code"], error["param"]) == (400, "invalid_adapter", "adapter")
        assert words in error["message"]
    other = post(real, (config, weights), digest="1" * 64).json()["error"]
    assert "another one than was announced" in other["message"]
    for body in (b"", b"\xff\xff\xff\xff{}", b"\x02\0\0\0[]"):
        response = post_body(real, body)
        assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_request")


def test_an_archive_of_pytorch_is_read_as_data(
    real: WorkerProcess, written: dict[str, Path], tmp_path: Path
) -> None:
    """S10."""
    config, _ = files_of(written["anna"])
    tensors = load_file(written["anna"] / "lora_weights.safetensors")
    torch.save(tensors, tmp_path / "lora_weights.ckpt")
    response = post(real, (config, (tmp_path / "lora_weights.ckpt").read_bytes()))
    assert response.json()["num_parameters"] == sent(real, written["anna"]).num_parameters
    torch.save({**tensors, "path": tmp_path}, tmp_path / "code.ckpt")
    refused = post(real, (config, (tmp_path / "code.ckpt").read_bytes())).json()["error"]
    assert refused["code"] == "invalid_adapter" and "cannot be read" in refused["message"]
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(tmp_path / "lora_weights.ckpt") as plain,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for member in plain.namelist():
            archive.writestr(member, plain.read(member))
    bomb = post(real, (config, packed.getvalue())).json()["error"]
    assert "compressed" in bomb["message"]


def test_a_body_that_no_adapter_of_the_model_fills_is_refused(real: WorkerProcess) -> None:
    response = post_body(real, bytes(64 << 20))
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")


async def test_the_least_recently_used_adapter_makes_room(
    start_worker: StartWorker, written: dict[str, Path]
) -> None:
    size = 4 * sum(
        tensor.numel() for tensor in load_file(written["anna"] / "lora_weights.safetensors").values()
    )
    tight = start_worker(
        model=str(CHECKPOINT), device="cpu", slots=2, max_adapter_memory_bytes=2 * size
    ).wait_until_ready()
    anna = sent(tight, written["anna"])
    await clip_of(tight, **use(anna))
    ben = sent(tight, written["ben"])
    assert await clip_of(tight, **use(ben))
    assert (await refusal(tight, **use(anna)))[0] == "unknown_adapter"
    sent(tight, written["anna"])
    assert await clip_of(tight, **use(anna))


async def test_a_worker_that_takes_none_says_so(worker: WorkerProcess, written: dict[str, Path]) -> None:
    response = post(worker, files_of(written["anna"]))
    assert (response.status_code, response.json()["error"]["code"]) == (400, "adapters_unsupported")
    stranger = {"digest": "0" * 64, "name": "nobody"}
    assert (await refusal(worker, adapter=stranger))[0] == "adapters_unsupported"
