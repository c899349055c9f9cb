"""The benchmark of adapters, on a CPU."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from benchmarks.gpu.adapters.arrivals import KINDS
from benchmarks.gpu.adapters.measure import engine_of, measure
from benchmarks.gpu.adapters.peer import measure_in_children, step_costs
from benchmarks.gpu.checkpoints import make_checkpoint, shape_config
from benchmarks.gpu.engines import peer as gpu_peer
from benchmarks.shared.adapter_work import TARGETS, Sizes
from tests.benchmarks.gpu.stand_ins import PeerServer


def test_every_part_has_its_figures(tmp_path: Path) -> None:
    sizes = Sizes(2, (1, 2), slots=2, registered=4, rounds=1, steps=4, clips=4, at_once=2)
    engine = engine_of(make_checkpoint("tiny", tmp_path), torch.device("cpu"), sizes, "attention")
    said: list[str] = []
    found = measure(engine, TARGETS["attention"], sizes, said.append)
    engine.close()
    assert len(said) == len(found) == 5
    assert set(found["one stream"]["step_ms"]) == {"plain", "1 different"}
    assert set(found["many streams"]["step_ms"]) == {
        "plain",
        *(f"{who}{n} different" for n in (1, 2) for who in ("", "all, ")),
    }
    assert found["loading"]["longest_ratio"] > 0 < found["zipf"]["ratio"]
    assert found["zipf"]["registered"] == 4
    arrivals = found["arrivals"]
    assert arrivals["clips"] == 4 and arrivals["ratio"] > 0 < arrivals["ratio_p99"]
    for figure in ("first_audio_ms_p50", "first_audio_ms_p99", "running"):
        assert set(arrivals[figure]) == set(KINDS) and min(arrivals[figure].values()) > 0


def test_the_peer_takes_steps_with_adapters_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(VoxCPM2ServerImpl=PeerServer, LoRAConfig=dict)
    monkeypatch.setattr(gpu_peer.importlib, "import_module", lambda name: module)
    (tmp_path / "config.json").write_text(json.dumps(shape_config("voxcpm2")))
    peer = gpu_peer.Peer(tmp_path, 3, 0.8, adapter_slots=2)
    assert peer._server.options["lora_config"] == {"max_loras": 2, "max_lora_rank": 32}
    for name in ("0", "1"):
        peer.register(name, tmp_path)
    found = step_costs(peer, 3, (1, 2))
    kinds = {"plain", "1 different", "all, 1 different", "2 different", "all, 2 different"}
    assert found["streams"] == 3 and set(found["step_ms"]) == set(found["more_percent"]) == kinds


def test_a_peer_that_is_not_there_says_so(tmp_path: Path) -> None:
    (tmp_path / "adapters").mkdir()
    found = measure_in_children(tmp_path, tmp_path / "adapters", [1], 2, (1,), 60)
    for part in ("without slots", "2 slots"):
        assert found[part]["works"] == [] and "not on PYTHONPATH" in found[part]["failed"][-1]
