"""Adapters whose model is served with another revision of the same weights, as after an upgrade."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from gateway.adapters.refitting import Refitting
from gateway.database import Adapter
from gateway.workers.client import WorkerUnreachable
from models.lora.files import write_adapter
from models.voxcpm.checkpoint import weights_digest_of
from tests.gateway.adapters.uploads import CLIP, TEXT, WORKER, Trained
from tests.gateway.stages.fleet import Fleet, describe_model, status
from tests.gateway.stages.processes import GatewayProcess, check_error, started_fleets
from tests.models.lora.conftest import CHECKPOINT, LORA, random_adapter
from tests.worker.process import wait_until
from worker.protocol import ADAPTERS, AdapterDescription, pack_adapter


@contextmanager
def served(data_dir: Path, model: Path) -> Iterator[tuple[GatewayProcess, httpx.Client]]:
    with started_fleets() as start:
        gateway, _ = start(1, gateway={"data_dir": data_dir}, **{**WORKER, "model": str(model)})
        with httpx.Client(base_url=gateway.url, timeout=60, trust_env=False) as http:
            yield gateway, http
        assert not gateway.defects()


def speak(http: httpx.Client, adapter: str) -> httpx.Response:
    return http.post("/tts", json={"text": TEXT, "format": "pcm", **CLIP, "adapter": adapter})


def adapters_of(http: httpx.Client) -> dict[str, dict[str, Any]]:
    return {adapter["name"]: adapter for adapter in http.get("/api/adapters").json()["adapters"]}


def written(folder: Path, seed: int, base_digest: str) -> Trained:
    write_adapter(folder, random_adapter(seed, base_digest=base_digest), LORA)
    return Trained(folder)


def test_one_that_names_its_weights_follows_them_and_others_do_not(tmp_path: Path) -> None:
    model, data_dir = tmp_path / "tiny", tmp_path / "data"
    shutil.copytree(CHECKPOINT, model)
    with served(data_dir, model) as (_, http):
        written(tmp_path / "anna", 0, weights_digest_of(CHECKPOINT)).create(http, "anna")
        written(tmp_path / "ben", 1, "").create(http, "ben")
        lost = written(tmp_path / "cleo", 2, weights_digest_of(CHECKPOINT)).create(http, "cleo")
        before = speak(http, "anna").content
    (data_dir / "adapters" / f"{lost['digest']}.adapter").unlink()
    (model / "generation_config.json").write_text(json.dumps({"temperature": 0.9}))
    with served(data_dir, model) as (_, http):
        wait_until(lambda: adapters_of(http)["anna"]["usable"] or None, lambda: "anna cannot be used")
        after = speak(http, "anna")
        assert after.status_code == 200, after.text
        assert check_error(speak(http, "ben"), 422)["code"] == "adapter_of_another_model"
        assert not adapters_of(http)["ben"]["usable"]
    assert len(after.content) == len(before)


class _Mute:
    """A worker that answers probes and takes no adapter, with one adapter of its model's former revision."""

    def __init__(self, looks: int) -> None:
        self.fleet = Fleet(0)
        self.serve("2")
        self.looks_left, self.look, self.asked = looks, 0, []
        self.at: dict[int, str] = {}
        """Revisions that are served from a look on."""

    def serve(self, revision: str) -> None:
        model = describe_model(revision=revision, features=(ADAPTERS,))
        self.fleet.pool.reports.answered(self.fleet.workers[0], status(boot_id=revision, model=model))

    async def visible_to(self, tenant: None, *, everything: bool) -> list[Adapter]:
        return [Adapter(id="a_1", digest="d" * 64, model="alpha", model_revision="1")]

    async def read(self, digest: str) -> bytes:
        return b""

    async def send_adapter(self, body: bytes, digest: str) -> None:
        self.asked.append(self.look)
        raise WorkerUnreachable("it did not answer")

    async def sleep(self, seconds: float) -> None:
        self.look += 1
        if self.look == self.looks_left:
            raise asyncio.CancelledError
        if self.look in self.at:
            self.serve(self.at[self.look])

    async def asked_at(self) -> list[int]:
        """Looks at which it was asked."""
        clients: Any = {"w0": SimpleNamespace(control=self)}
        rows: Any = self
        files: Any = self
        with pytest.raises(asyncio.CancelledError):
            await Refitting(rows, files, self.fleet.pool, clients, self.sleep).run()
        return self.asked


class _Liar(_Mute):
    """A worker that says of every file that it names the weights which the worker has."""

    def __init__(self, config: dict[str, str]) -> None:
        super().__init__(looks=3)
        self.body, self.changes = pack_adapter(config, b""), []

    async def read(self, digest: str) -> bytes:
        return self.body

    async def send_adapter(self, body: bytes, digest: str) -> AdapterDescription:
        about = {"digest": "d" * 64, "base": "", "model": "alpha", "model_revision": "2"}
        return AdapterDescription(rank=1, num_layers=1, num_parameters=1, names_weights=True, **about)

    async def change(self, id: str, columns: dict[str, str]) -> None:
        self.changes.append(columns)


@pytest.mark.parametrize(
    ("config", "changes"), [({}, []), ({"base_digest": "f" * 64}, [{"model_revision": "2"}])]
)
async def test_which_weights_a_file_names_is_not_the_worker_s_word_alone(
    config: dict[str, str], changes: list[dict[str, str]]
) -> None:
    liar = _Liar(config)
    await liar.asked_at()
    assert liar.changes == changes


async def test_a_worker_that_reads_none_is_asked_ever_less_often() -> None:
    assert await _Mute(looks=130).asked_at() == [0, 2, 6, 14, 30, 62, 94, 126]


async def test_a_worker_with_another_revision_is_asked_at_once() -> None:
    mute = _Mute(looks=40)
    mute.at = {20: "3"}
    assert await mute.asked_at() == [0, 2, 6, 14, 20, 22, 26, 34]
