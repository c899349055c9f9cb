"""Benchmarks say why they cannot run as they are asked to, before they do anything else."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from benchmarks.gpu.device import device_of

COMMANDS = [
    "gpu --shape tiny --device cuda:1",
    "gpu.accuracy --device cuda --no-save",
    "gpu.kernels.attention",
    "gpu.kernels.attention_launches",
    "gpu.kernels.linear.halves",
    "gpu.kernels --device cuda:0",
    "gpu.kernels.linear.few_rows",
    "gpu.kernels.linear.spare_rows",
    "gpu.kernels.linear.tiles",
    "gpu.many_rows",
    "gpu.kernels.vae",
]


Run = Callable[..., int | str | None]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """With what `python -m benchmarks.MODULE ARGUMENTS` ends: a status, or a line on stderr and status 1."""

    def in_this_process(module: str, *arguments: str) -> int | str | None:
        monkeypatch.setattr(sys, "argv", [module, *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(f"benchmarks.{module}", run_name="__main__")
        return ended.value.code

    return in_this_process


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Of compute capability 9.0; -> the devices that were made current."""
    made_current: list[Any] = []
    fakes = {
        "is_available": lambda: True,
        "device_count": lambda: 2,
        "get_device_capability": lambda device: (9, 0),
        "get_device_name": lambda device: "NVIDIA Something",
        "set_device": made_current.append,
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    return made_current


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_gpu_they_end_with_one_line(command: str, run: Run) -> None:
    assert run(*command.split()) == f"this machine has no CUDA device that torch {torch.__version__} can use"


@pytest.mark.parametrize(
    ("module", "arguments", "message"),
    [
        (
            "gpu",
            ["profile", "--device", "cpu", "--shape", "tiny", "--no-save", "--texts", "short,medium"],
            "no such text: medium",
        ),
        ("gpu.kernels.attention", ["--device", "cpu", "--backends", "triton,fast"], "no such backend: fast"),
        ("gpu.kernels.linear.few_rows", ["--only", "LM 1", "DiT 18"], "no such case: DiT 18"),
    ],
)
def test_what_is_not_there_is_no_benchmark(
    module: str, arguments: list[str], message: str, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(module, *arguments) == 2
    assert capsys.readouterr().err.strip().endswith(message)


def test_another_gpu_than_the_first_is_made_current(two_gpus: list[Any]) -> None:
    assert device_of("cuda:1") == torch.device("cuda:1")
    assert two_gpus == [torch.device("cuda:1")]
    assert device_of("cuda") == torch.device("cuda") and device_of("cpu") == torch.device("cpu")
    assert len(two_gpus) == 1


def test_a_gpu_that_is_not_there_is_named(two_gpus: list[Any]) -> None:
    with pytest.raises(SystemExit, match="there is no cuda:2: this machine has 2 CUDA devices"):
        device_of("cuda:2")


def test_a_gpu_without_bf16_is_refused(two_gpus: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    with pytest.raises(SystemExit, match=r"NVIDIA Something has compute capability 7\.5, not 8\.0"):
        device_of("cuda")
