"""A pool over two GPUs says on each what one says, with an adapter, too, and goes on when one is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.shared.adapter_work import random_layers
from models.lora.adapter import Adapter
from models.lora.files import write_adapter
from models.voxcpm import VoxCPM
from models.voxcpm.adapters import adaptable
from models.voxcpm.checkpoint import read_config
from tests.gpu.device import CUDA, needs_gpu

pytestmark = [
    needs_gpu,
    pytest.mark.skipif(CUDA and torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]
DEVICES = ["cuda:0", "cuda:1"] if CUDA else ["cpu", "cpu"]
OPTIONS = {"max_num_seqs": 3, "max_model_len": 256, "silence_guard": False, "ratio_cap": False}
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
CLIP = {"text": "hello world", "seed": 3, "min_seconds": 0.3, "max_seconds": 0.3}


@pytest.fixture(scope="module")
def adapter(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the attention of both language models."""
    sizes = {
        name: size
        for name, size in adaptable(read_config(tiny)).items()
        if name.endswith(ATTENTION) and name.startswith(("base_lm.", "residual_lm."))
    }
    folder, config = tmp_path_factory.mktemp("adapter"), {"enable_lm": True, "r": 4, "alpha": 8}
    write_adapter(folder, Adapter(random_layers(sizes, 0, 4, 0.3), 2.0), config)
    return folder


@pytest.fixture(scope="module")
def alone(tiny: Path, adapter: Path) -> Iterator[list[np.ndarray]]:
    """The clip of one device, and the same with the adapter."""
    with VoxCPM.from_pretrained(str(tiny), DEVICES[0], **OPTIONS) as one:
        one.load_lora(adapter, "anna")
        yield [one.synthesize(lora=lora, **CLIP) for lora in (None, "anna")]


def gpus_of(pid: int) -> set[str]:
    """That a process has memory of."""
    command = ["nvidia-smi", "--query-compute-apps=pid,gpu_uuid", "--format=csv,noheader"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {gpu for of, gpu in (line.split(", ") for line in listed) if int(of) == pid}


def test_two_gpus_say_what_one_says_also_where_one_is_killed(
    tiny: Path, adapter: Path, alone: list[np.ndarray]
) -> None:
    assert not np.array_equal(*alone)
    with VoxCPM.from_pretrained(str(tiny), devices=DEVICES, **OPTIONS) as pool:
        pool.load_lora(adapter, "anna")
        for lora, expected in zip((None, "anna"), alone, strict=True):
            both = [pool.generate(lora=lora, **CLIP) for _ in DEVICES]
            assert [member.process.load[0] for member in pool._engine._devices] == [1, 1]
            for stream in both:
                assert np.array_equal(np.concatenate(list(stream)), expected)
        if CUDA:
            assert all(len(gpus_of(member.process._process.pid)) <= 1 for member in pool._engine._devices)
        stays, goes = (pool.generate("hello", seed=1, min_seconds=1.0, max_seconds=1.0) for _ in DEVICES)
        os.kill(pool._engine._devices[1].process._process.pid, signal.SIGKILL)
        lengths = [sum(map(len, stream)) for stream in (stays, goes)]
        assert lengths[0] == lengths[1] >= pool.sample_rate
        assert np.array_equal(pool.synthesize(**CLIP), alone[0])
