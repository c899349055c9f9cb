"""What a pool is told: refused before a process is started, or said to each."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
import torch

from engine.cpu.cpus import thread_limit
from engine.errors import OptionsError
from models.pool import member
from models.voxcpm import VoxCPM
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.description import describe
from models.voxcpm.options import EngineOptions
from tests.models.lora.conftest import CHECKPOINT


class Listening:
    """In place of a `DeviceProcess`: notes what it is told, and has loaded at once."""

    all: list[Listening]
    info: dict[str, Any]

    def __init__(self, device: str, alike: str, child: str, on_progress: Any) -> None:
        self.device, self.name, self._on_progress = device, device + alike, on_progress
        self.told: dict[str, Any] = {}
        self.all.append(self)

    def when_lost(self, lost: Any) -> None:
        """It never is."""

    lost = False

    def end(self, at_once: bool) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing runs."""

    def call(self, what: str, **fields: Any) -> Future:
        self.told = {"what": what, **fields}
        self._on_progress(self, "weights", 0.2 * len(self.all))
        loaded: Future = Future()
        loaded.set_result({"info": self.info})
        return loaded


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch, checkpoint: Checkpoint) -> list[Listening]:
    monkeypatch.setattr(Listening, "all", [], raising=False)
    info = describe(checkpoint, EngineOptions(), True).to_dict()
    monkeypatch.setattr(Listening, "info", info, raising=False)
    monkeypatch.setattr(member, "DeviceProcess", Listening)
    return Listening.all


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"devices": ["cpu"], "device": "cpu"}, r"device 'cpu' and devices \['cpu'\]: give one"),
        ({"devices": []}, r"devices are a list, .* got \[\]"),
        ({"devices": "cuda:0"}, "devices are a list, .* got 'cuda:0'"),
        ({"devices": ["cpu", "tpu"]}, "no device 'tpu'"),
        ({"devices": ["cpu", -1]}, "no device -1"),
        ({"devices": [True]}, "no device True"),
        ({"devices": [1.0]}, r"no device 1\.0"),
        ({"devices": ["cpu"], "tensor_parallel_size": 2}, "tensor_parallel_size is 1"),
        ({"devices": ["cpu"], "lora_config": {}}, "no option lora_config"),
        ({"devices": ["cpu"], "kv_blocks": 0}, "kv_blocks must be"),
        ({"devices": ["cpu"], "gpu_memory_utilization": 2}, "gpu_memory_utilization must be"),
        ({"devices": ["cpu"], "max_num_seqs": 4000}, "below the 4000 sequences"),
    ],
)
def test_what_cannot_be_is_refused_before_a_process_is_started(
    listening: list[Listening], asked: dict[str, Any], problem: str
) -> None:
    with pytest.raises(OptionsError, match=problem):
        VoxCPM.from_pretrained("nowhere/at-all", **asked)
    assert not listening


def test_gpus_are_counted(listening: list[Listening], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(OptionsError, match="cuda:1, but PyTorch sees no CUDA device"):
        VoxCPM.from_pretrained(str(CHECKPOINT), devices=[1])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for devices, problem in (([0, 2], "cuda:2, but .* 2 CUDA devices"), (["cuda:1", "cpu"], "of one kind")):
        with pytest.raises(OptionsError, match=problem):
            VoxCPM.from_pretrained(str(CHECKPOINT), devices=devices)
    assert not listening
    VoxCPM.from_pretrained(str(CHECKPOINT), devices=[1, "cuda:0"])
    assert [device.told["options"]["device"] for device in listening] == ["cuda:1", "cuda:0"]
    assert [device.name for device in listening] == ["cuda:1", "cuda:0"]
    assert [device.told["threads"] for device in listening] == [None, None]


def test_each_device_is_told_all_options_and_gets_its_share_of_the_cpus(listening: list[Listening]) -> None:
    heard = []
    options = {"max_num_seqs": 3, "kv_blocks": 70, "adapter_slots": 5, "graphs": "static"}
    VoxCPM.from_pretrained(
        str(CHECKPOINT), devices=["cpu"] * 3, progress=lambda *told: heard.append(told), **options
    )
    for number, device in enumerate(listening, start=1):
        assert device.name == f"cpu ({number} of 3)"
        told = device.told["options"]
        assert told | options == told and told["model"] == str(CHECKPOINT) and told["device"] == "cpu"
        assert device.told["threads"] == told["threads"] == thread_limit(3)
    assert heard[:2] == [("weights", 0.0), ("weights", 0.0)], "of the slowest"
    VoxCPM.from_pretrained(str(CHECKPOINT), devices=["cpu"] * 2, threads=7)
    assert [device.told["threads"] for device in listening[3:]] == [7, 7]
