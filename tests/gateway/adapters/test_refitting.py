"""Adapters whose model is served with another revision of the same weights, as after an upgrade."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from models.lora.files import write_adapter
from models.voxcpm.checkpoint import weights_digest_of
from tests.gateway.adapters.uploads import CLIP, TEXT, WORKER, Trained
from tests.gateway.stages.processes import GatewayProcess, check_error, started_fleets
from tests.models.lora.conftest import CHECKPOINT, LORA, random_adapter
from tests.worker.process import wait_until


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
