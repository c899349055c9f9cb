"""The accuracy of bf16 beside the published package's, on the golden checkpoints on the CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks.gpu import accuracy as gpu_accuracy
from benchmarks.shared import published
from benchmarks.shared.published import reason_missing
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.parity import load_golden


def test_the_same_pass_in_fp32_meets_the_golden_values() -> None:
    directory = gpu_accuracy.GOLDEN / "tiny_v2"
    checkpoint = load_checkpoint(directory, "cpu", dtype=torch.float32)
    for golden in load_golden(directory / "golden"):
        case = gpu_accuracy.golden_case(checkpoint, golden)
        found = gpu_accuracy.errors(gpu_accuracy.our_values(checkpoint, case), case.truth)
        assert max(found.values()) < 1e-4, (golden.name, found)


def test_both_are_measured_and_ours_is_no_further_from_fp32(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.shared.published import install

    file = tmp_path / "new" / "accuracy.json"
    arguments = ["--device", "cpu", "--published", str(install()), "--json", str(file)]
    assert gpu_accuracy.main([*arguments, "--shape", "tiny", "--directory", str(tmp_path)]) == 0
    document = json.loads(file.read_text())
    assert set(document["checkpoints"]) == {"tiny_v1", "tiny_v2", "tiny"}
    latents = document["all_modes"]["latents"]
    assert 0 < latents["ours"] < latents["published"]
    assert "ref_continuation" in capsys.readouterr().out


def test_the_verdict_is_on_all_modes_and_names_what_is_worse() -> None:
    def modes(*values: float) -> dict[str, dict[str, float]]:
        return {f"mode {i}": {"mu": value, "other_stops": value} for i, value in enumerate(values)}

    results = {"a": {"ours": modes(3.0, 0.0), "published": modes(2.0, 2.0)}}
    pooled = gpu_accuracy.verdict(results)
    assert pooled["mu"] == {"ours": pytest.approx(4.5**0.5), "published": 2.0}
    assert gpu_accuracy.worse(pooled) == []
    results["b"] = {"ours": modes(3.0), "published": modes(1.0)}
    assert gpu_accuracy.worse(gpu_accuracy.verdict(results)) == ["mu"]
    alone = gpu_accuracy.verdict({"a": {"ours": modes(3.0), "published": {}}})
    assert gpu_accuracy.worse(alone) == []


def test_what_the_published_package_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "is not in" in (reason_missing(tmp_path) or "")
    (tmp_path / "voxcpm").mkdir()
    assert reason_missing(tmp_path) is None
    monkeypatch.setattr(published, "REQUIREMENTS", ("numpy", "no_such_package"))
    assert reason_missing(tmp_path) == "the published package needs no_such_package"
