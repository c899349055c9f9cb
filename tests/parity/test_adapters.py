"""Adapters compute what the published package computes with them, in one batch with others and with none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from models.speech import SpeechOutput
from models.voxcpm import merging, parity
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.parity import GoldenMode, golden_request, relative_error
from tests.parity import adapters
from tests.parity.oracle import random_checkpoint, record, small_config

TOLERANCE = 1e-5
GENERATIONS = {
    "0.5B": ("voxcpm", {}),
    "1.5": ("voxcpm", {"patch_size": 4}),
    "2": ("voxcpm2", {}),
}
ADAPTERS: dict[str, dict[str, Any]] = {
    "all": {"r": 8, "alpha": 16},
    "attention": {
        "r": 5, "alpha": 3, "seed": 4, "enable_proj": False,
        "target_modules_lm": ["q_proj", "v_proj", "k_proj", "o_proj"],
        "target_modules_dit": ["q_proj", "o_proj"],
    },
    "projections": {"r": 16, "alpha": 32, "seed": 5, "enable_lm": False, "enable_dit": False},
}  # fmt: skip


@dataclass
class Published:
    """A checkpoint, adapters of it, and what the published package says with each, and with none ("")."""

    directory: Path
    goldens: dict[tuple[str, str], GoldenMode]

    def adapter(self, name: str) -> Path:
        return self.directory.parent / name


@pytest.fixture(scope="module", params=GENERATIONS)
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Published:
    architecture, changes = GENERATIONS[request.param]
    root = tmp_path_factory.mktemp("published")
    directory = random_checkpoint(root / "checkpoint", small_config(architecture, **changes))
    goldens = {}
    for name in ("", *ADAPTERS):

        def prepare(model: Any, name: str = name) -> None:
            if name:
                config = adapters.adapt(model, **ADAPTERS[name])
                if not (root / name).exists():
                    adapters.write(model, config, root / name, pickled=name == "attention")

        for mode in ("zero_shot", "continuation"):
            goldens[name, mode] = record(directory, mode, steps=4, cfg_value=2.0, patches=6, prepare=prepare)
    return Published(directory, goldens)


def speak(
    checkpoint: Checkpoint, published: Published, *wanted: tuple[str, str]
) -> dict[str, list[SpeechOutput]]:
    """Latents of some goldens' requests, all in one batch of one engine, by their noise."""
    goldens = [published.goldens[key] for key in wanted]
    engine = VoxCPMEngine(
        checkpoint,
        EngineOptions(max_num_seqs=len(wanted), silence_guard=False, ratio_cap=False, block_size=8),
        noise=lambda seed, index, *shape: goldens[seed].tensors["noise"][index].T.numpy(),
    )
    for name in {name for name, _ in wanted if name}:
        engine.adapters.add(name, engine.read_adapter(published.adapter(name)))
    outputs: dict[str, list[SpeechOutput]] = {}
    for seed, (name, mode) in enumerate(wanted):
        request = golden_request(checkpoint, goldens[seed], f"{name}/{mode}", seed=seed, adapter=name or None)
        engine.add_request(request)
        outputs[request.request_id] = []
    while engine.has_unfinished():
        for output in engine.step():
            outputs[output.request_id].append(output)
    engine.close()
    return outputs


def errors(published: Published, outputs: dict[str, list[SpeechOutput]]) -> dict[str, float]:
    found = {}
    for name, patches in outputs.items():
        adapter, mode = name.split("/")
        latents = torch.stack([torch.from_numpy(patch.latents) for patch in patches])
        found[name] = relative_error(latents, published.goldens[adapter, mode].patches)
    return found


def test_a_mixed_batch_is_the_published_package_row_by_row(published: Published) -> None:
    checkpoint = load_checkpoint(published.directory, device="cpu", dtype=torch.float32)
    found = errors(published, speak(checkpoint, published, *published.goldens))
    assert len(found) == 8 and max(found.values()) <= TOLERANCE, found
    plain, adapted = (published.goldens[name, "zero_shot"].patches[:4] for name in ("", "attention"))
    assert relative_error(adapted, plain) > 1e-2


def test_a_row_says_alone_what_it_says_in_a_batch(published: Published) -> None:
    checkpoint = load_checkpoint(published.directory, device="cpu", dtype=torch.float32)
    found = errors(published, speak(checkpoint, published, ("all", "continuation")))
    assert max(found.values()) <= TOLERANCE, found


def test_plain_layers_serve_adapters_as_packed_ones_do(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.voxcpm.checkpoint.pack_model", lambda model, _: None)
    checkpoint = load_checkpoint(published.directory, device="cpu", dtype=torch.float32)
    found = errors(published, speak(checkpoint, published, *published.goldens))
    assert max(found.values()) <= TOLERANCE, found


def test_merged_weights_say_what_the_adapter_says(
    published: Published, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "merged"
    arguments = [str(published.directory), str(published.adapter("all")), str(out)]
    assert merging.main(arguments) == 0
    golden = published.goldens["all", "continuation"]
    outputs = parity.free_run(load_checkpoint(out, device="cpu"), golden)
    latents = torch.stack([torch.from_numpy(patch.latents) for patch in outputs])
    assert relative_error(latents, golden.patches) <= TOLERANCE
    assert merging.main(arguments) == 1 and capsys.readouterr().err.endswith(f"{out} exists\n")
