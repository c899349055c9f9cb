"""The benchmark of adapters, on a CPU."""

from __future__ import annotations

from pathlib import Path

import torch

from benchmarks.adapter_work import TARGETS, Sizes
from benchmarks.gpu.adapters.arrivals import KINDS
from benchmarks.gpu.adapters.measure import engine_of, measure
from benchmarks.gpu.checkpoints import make_checkpoint


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
