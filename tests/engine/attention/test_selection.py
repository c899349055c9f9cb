"""How `auto` chooses a backend, and what each says about combinations that it cannot serve."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import pytest
import torch

from engine.attention import AttentionBatch, select_backend
from engine.attention import selection as selection_module
from engine.attention.measure import REPRESENTATIVE_STEPS, seconds_per_layer, with_shuffled_tables
from engine.attention.paged import why_not_flash
from engine.attention.selection import build_backend, fastest

CPU = torch.device("cpu")


def named(*names: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(name=name) for name in names]


def test_the_smallest_geometric_mean_wins_and_the_times_are_told() -> None:
    times = {"a": {"decode": 10e-6, "prefill": 10e-6}, "b": {"decode": 4e-6, "prefill": 20e-6}}
    reasons: list[str] = []
    assert fastest(named("a", "b"), lambda backend: times[backend.name], reasons).name == "b"
    assert reasons == ["decode: a 10.0 us, b 4.0 us", "prefill: a 10.0 us, b 20.0 us"]


def test_a_backend_that_fails_when_measured_is_out() -> None:
    def measure(backend: SimpleNamespace) -> dict[str, float]:
        if backend.name == "broken":
            raise RuntimeError("no kernel image")
        return {"decode": 1.0}

    reasons: list[str] = []
    assert fastest(named("broken", "slow"), measure, reasons).name == "slow"
    assert reasons[0] == "broken failed when measured: RuntimeError: no kernel image"
    assert fastest(named("broken", "broken"), measure, []) is None


def test_nothing_is_measured_where_there_is_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(backend: SimpleNamespace) -> dict[str, float]:
        raise AssertionError("measured")

    assert fastest(named("only"), fail, []).name == "only"
    assert fastest([], fail, []) is None
    monkeypatch.setattr("engine.attention.measure.measure_backend", fail)
    assert select_backend("auto", "cpu", torch.float32, 64, 16).name == "sdpa"


def test_auto_measures_every_candidate_of_a_device(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    measured = []

    def measure(backend: object, *layout: object) -> dict[str, float]:
        measured.append((backend.name, *layout))
        return {"decode": {"sdpa": 2.0, "triton": 1.0}[backend.name]}

    monkeypatch.setattr("engine.attention.measure.measure_backend", measure)
    monkeypatch.setattr(selection_module, "AUTO", {"cpu": (("sdpa", "triton", "flash"),)})
    with caplog.at_level("INFO", "engine.attention.selection"):
        assert select_backend("auto", "cpu", torch.float32, 64, 16, (4, 2)).name == "triton"
    assert measured == [(name, CPU, torch.float32, 64, 16, (4, 2)) for name in ("sdpa", "triton")]
    assert "flash: " in caplog.text and "decode: sdpa 2000000.0 us, triton 1000000.0 us" in caplog.text


def test_backends_say_why_not() -> None:
    assert "needs CUDA" in why_not_flash(CPU, torch.bfloat16, 64, 256)
    assert "needs CUDA" in build_backend("torch_varlen", CPU, torch.bfloat16, 64, 256)
    assert "head_dim 512 is above 256" in build_backend("triton", CPU, torch.float32, 512, 16)
    assert "head_dim 65 is odd" in build_backend("triton", CPU, torch.float32, 65, 16)
    assert "float64 is not one of" in build_backend("triton", CPU, torch.float64, 64, 16)
    if importlib.util.find_spec("flash_attn") is None:
        assert "flash_attn" in build_backend("flash", CPU, torch.bfloat16, 64, 256)


@pytest.mark.parametrize(
    ("dtype", "head_dim", "block_size", "reason"),
    [
        (torch.float32, 64, 256, "neither float16 nor bfloat16"),
        (torch.bfloat16, 100, 256, "head_dim 100"),
        (torch.bfloat16, 64, 16, "block size 16 is not a multiple of 256"),
        (torch.bfloat16, 128, 512, None),
    ],
)
def test_flash_attention_has_limits(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, head_dim: int, block_size: int, reason: str | None
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    found = why_not_flash(torch.device("cuda"), dtype, head_dim, block_size)
    assert found is None if reason is None else reason in found
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert "8.0" in why_not_flash(torch.device("cuda"), dtype, head_dim, block_size)


def test_a_measured_step_uses_every_block_once() -> None:
    for name, step in REPRESENTATIVE_STEPS.items():
        batch, num_blocks = with_shuffled_tables(step, 16)
        assert sorted(block for table in batch.block_tables for block in table) == list(range(num_blocks)), (
            name
        )
        assert [len(table) * 16 for table in batch.block_tables] == batch.context_lens


def test_measuring_runs_the_backend() -> None:
    sdpa = build_backend("sdpa", CPU, torch.float32, 8, 4)
    batch = AttentionBatch([7, 3], [1, 1], [[], []])
    assert seconds_per_layer(sdpa, batch, CPU, torch.float32, 8, 4, (2, 1)) > 0
