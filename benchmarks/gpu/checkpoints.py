"""Random checkpoints of the released shapes, for benchmarks: right in every size, and they say nothing.

    python -m benchmarks.gpu.checkpoints voxcpm2 [--directory data/gpu_checkpoints]

The files are those of a release: `config.json`, `model.safetensors` in bf16, `audiovae.pth` in fp32 with
weight norm, and a tokenizer (the small one of the tests; every id that it gives is within the vocabulary).
Weights are drawn as for training, so activations stay within what bf16 holds, and the stop head never says
stop: clips end where a benchmark wants them to. VoxCPM2 takes 5 GB on disk. "tiny" is a VoxCPM2 for tests on
a CPU.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from engine.weights import export_state, released_tensors
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.vae.audio_vae import AudioVAE

DIRECTORY = Path("data/gpu_checkpoints")
TOKENIZER = Path(__file__).parents[2] / "tests" / "parity" / "tiny_v2"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
INIT_STD = 0.02
ROPE_RANGE = {32: (1.00044, 49.85), 64: (0.9978, 31.02)}
"""First and last of the released LongRoPE factors, by how many there are; between them, a geometric row."""


def _lm(hidden: int, ffn: int, layers: int, head_dim: int) -> dict[str, Any]:
    first, last = ROPE_RANGE[head_dim // 2]
    factors = [first * (last / first) ** (i / (head_dim // 2 - 1)) for i in range(head_dim // 2)]
    config = {
        "bos_token_id": 1, "eos_token_id": 2, "hidden_size": hidden, "intermediate_size": ffn,
        "max_position_embeddings": 32768, "num_attention_heads": 16, "num_hidden_layers": layers,
        "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "rope_theta": 10000, "vocab_size": 73448,
        "use_mup": False, "scale_emb": 12, "dim_model_base": 256, "scale_depth": 1.4,
        "rope_scaling": {
            "type": "longrope", "original_max_position_embeddings": 32768,
            "short_factor": factors, "long_factor": factors,
        },
    }  # fmt: skip
    return config | ({"kv_channels": head_dim} if hidden != 16 * head_dim or head_dim == 128 else {})


def _local(layers: int, head_dim: int | None = None) -> dict[str, Any]:
    sizes = {"hidden_dim": 1024, "ffn_dim": 4096, "num_heads": 16, "num_layers": layers}
    return sizes | ({"kv_channels": head_dim} if head_dim else {})


def _config(architecture: str, lm: dict[str, Any], local: dict[str, Any], **own: Any) -> dict[str, Any]:
    flow = {"sigma_min": 1e-6, "solver": "euler", "t_scheduler": "log-norm", "inference_cfg_rate": 2.0}
    return {
        "architecture": architecture, "lm_config": lm, "encoder_config": local,
        "dit_config": local | {"cfm_config": flow}, "feat_dim": 64, "scalar_quantization_scale": 9,
        "device": "cuda", "dtype": "bfloat16",
    } | own  # fmt: skip


def _tiny() -> dict[str, Any]:
    config = json.loads((TOKENIZER / "config.json").read_text())
    return config | {"max_length": 256, "dtype": "bfloat16"}


def shape_config(shape: str) -> dict[str, Any]:
    """The `config.json` of "voxcpm-0.5b", "voxcpm1.5", "voxcpm2" or "tiny"."""
    if shape == "tiny":
        return _tiny()
    if shape == "voxcpm-0.5b":
        return _config(
            "voxcpm", _lm(1024, 4096, 24, 64), _local(4), patch_size=2, residual_lm_num_layers=6,
            scalar_quantization_latent_dim=256, max_length=4096,
            audio_vae_config={
                "encoder_dim": 128, "encoder_rates": [2, 5, 8, 8], "latent_dim": 64,
                "decoder_dim": 1536, "decoder_rates": [8, 8, 5, 2], "sample_rate": 16000,
            },
        )  # fmt: skip
    if shape == "voxcpm1.5":
        return _config(
            "voxcpm", _lm(1024, 4096, 24, 64), _local(8), patch_size=4, residual_lm_num_layers=8,
            scalar_quantization_latent_dim=256, max_length=8192,
            audio_vae_config={
                "encoder_dim": 64, "encoder_rates": [2, 3, 6, 7, 7], "latent_dim": 64,
                "decoder_dim": 2048, "decoder_rates": [7, 7, 6, 3, 2], "sample_rate": 44100,
            },
        )  # fmt: skip
    return _config(
        "voxcpm2", _lm(2048, 6144, 28, 128), _local(12, 128), patch_size=4, residual_lm_num_layers=8,
        residual_lm_no_rope=True, scalar_quantization_latent_dim=512, max_length=8192,
        audio_vae_config={
            "encoder_dim": 128, "encoder_rates": [2, 5, 8, 8], "latent_dim": 64,
            "decoder_dim": 2048, "decoder_rates": [8, 6, 5, 2, 2, 2], "sample_rate": 16000,
            "out_sample_rate": 48000, "sr_bin_boundaries": [20000, 30000, 40000],
        },
    )  # fmt: skip


SHAPES = ("voxcpm-0.5b", "voxcpm1.5", "voxcpm2", "tiny")


def with_layers(config: dict[str, Any], layers: int) -> dict[str, Any]:
    """The same widths with so many layers in each of the four stacks."""
    stacks = {"lm_config": "num_hidden_layers", "encoder_config": "num_layers", "dit_config": "num_layers"}
    shallow = {name: config[name] | {field: layers} for name, field in stacks.items()}
    return config | shallow | {"residual_lm_num_layers": layers}


def make_checkpoint(
    shape: str, directory: Path = DIRECTORY, seed: int = 0, layers: int | None = None
) -> Path:
    """The checkpoint of a shape under `directory`, written unless it is there already.

    layers: of each stack; None: as many as the shape has.
    """
    target = directory / shape
    config = shape_config(shape)
    if layers is not None:
        config = with_layers(config, layers)
    written = target / "config.json"
    if written.is_file() and json.loads(written.read_text()) == config:
        return target
    target.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    generator = torch.Generator(device).manual_seed(seed)
    parsed = VoxCPMConfig.from_dict(config)
    for name in TOKENIZER_FILES:
        shutil.copy(TOKENIZER / name, target)
    save_file(dict(model_weights(parsed, generator)), target / "model.safetensors")
    torch.save({"state_dict": vae_weights(parsed, generator)}, target / "audiovae.pth")
    written.write_text(json.dumps(config, indent=1) + "\n")  # last: it says that the rest is whole
    return target


def model_weights(config: VoxCPMConfig, generator: torch.Generator) -> Iterator[tuple[str, Tensor]]:
    """Released name -> bf16 tensor on the CPU."""
    with torch.device("meta"):
        model = VoxCPMModel(config)
    for name, tensor in released_tensors(model):
        values = torch.empty(tensor.shape, device=generator.device)
        yield name, _initial(name, values, generator).bfloat16().cpu()


def _initial(name: str, values: Tensor, generator: torch.Generator) -> Tensor:
    """Weights as before training, but a stop head whose two logits are far apart, "go on" above."""
    if "norm" in name:
        return values.fill_(1.0)
    if name == "stop_proj.bias":
        return values.fill_(2.0)
    if name.endswith(".bias"):
        return values.zero_()
    values.normal_(0.0, INIT_STD, generator=generator)
    if name == "stop_head.weight":
        values.abs_()[1].neg_()
    return values


def vae_weights(config: VoxCPMConfig, generator: torch.Generator) -> dict[str, Tensor]:
    """State of the audio VAE in fp32, convolutions as weight-norm pairs, as released."""
    torch.manual_seed(generator.initial_seed())
    state: dict[str, Tensor] = {}
    for name, tensor in export_state(AudioVAE(config.audio_vae_config)).items():
        if name.endswith(".weight") and tensor.ndim == 3:
            stem = name[: -len("weight")]
            norm = tensor.flatten(1).norm(dim=1).view(-1, 1, 1)
            state |= {f"{stem}weight_g": norm, f"{stem}weight_v": tensor}
        elif name.endswith("scale_embed.weight"):
            state[name] = 1 + INIT_STD * torch.randn(tensor.shape)
        elif name.endswith("_embed.weight"):
            state[name] = INIT_STD * torch.randn(tensor.shape)
        else:
            state[name] = tensor
    return state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shapes", nargs="+", choices=SHAPES)
    parser.add_argument("--directory", type=Path, default=DIRECTORY)
    arguments = parser.parse_args()
    for shape in arguments.shapes:
        began = time.perf_counter()
        path = make_checkpoint(shape, arguments.directory)
        size = sum(file.stat().st_size for file in path.iterdir())
        print(f"{path}: {size / 1e9:.2f} GB, {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
