"""Another server is measured as ours is."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.gpu.checkpoints import shape_config
from benchmarks.gpu.engines import peer as gpu_peer
from benchmarks.gpu.work import clips, run
from tests.benchmarks.gpu.stand_ins import PeerServer


def test_the_peer_is_driven_like_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = SimpleNamespace(VoxCPM2ServerImpl=PeerServer)
    monkeypatch.setattr(gpu_peer.importlib, "import_module", lambda name: server)
    (tmp_path / "config.json").write_text(json.dumps(shape_config("voxcpm2")))
    peer = gpu_peer.Peer(tmp_path, 4, 0.8)
    assert peer.patch_seconds == pytest.approx(0.16)
    result = run(peer, clips("long", 3))
    assert {len(arrivals) for arrivals in result.arrivals.values()} == {64}


def test_a_peer_that_is_not_there_says_so(tmp_path: Path) -> None:
    found = gpu_peer.measure_in_child(tmp_path, [("short", 1, None)], 60)
    assert found["works"] == [] and "not on PYTHONPATH" in found["failed"][-1]
