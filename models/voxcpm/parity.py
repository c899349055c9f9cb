"""Compares this implementation with golden activations of the published VoxCPM package.

    python -m models.voxcpm.parity CHECKPOINT GOLDEN_DIR [--tolerance 1e-4]

GOLDEN_DIR holds `golden.json` and one `golden_<mode>.safetensors` per mode of conditioning. For each
mode one JSON line tells the relative error of every tensor: the input sequence, the encoder's latents,
the network teacher-forced on the golden latents, a free run through the engine on the golden noise,
and the audio of full and streamed decode. Exits 1 when one of them is past the tolerance.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from models.speech import SpeechOutput, SpeechRequest
from models.transformer.stack import Attention
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.requests.prompt import build_sequence, key_patches
from models.voxcpm.vae.audio_encoding import AudioEncoder
from models.voxcpm.vae.streaming_vae import StreamingDecoder

PROMPT_MODES = {"continuation", "ref_continuation"}
REFERENCE_MODES = {"reference", "ref_continuation"}
OVERLAP_PATCHES = 3


@dataclass
class GoldenMode:
    """One mode of one checkpoint: what went in, and what the published package made of it."""

    name: str
    spec: dict[str, Any]
    tensors: dict[str, Tensor]

    @property
    def num_patches(self) -> int:
        return len(self.tensors["noise"])

    @property
    def patches(self) -> Tensor:
        """Golden latents [n, P, D]."""
        latents = self.tensors["latents"][0]
        return latents.unflatten(1, (self.num_patches, -1)).permute(1, 2, 0).contiguous()

    @property
    def prompt(self) -> Tensor | None:
        return self.tensors["prompt_feat"] if self.name in PROMPT_MODES else None

    @property
    def reference(self) -> Tensor | None:
        return self.tensors["ref_feat"] if self.name in REFERENCE_MODES else None

    @property
    def prompt_text(self) -> str | None:
        return self.spec["prompt_text"] if self.name in PROMPT_MODES else None


def load_golden(directory: Path) -> Iterator[GoldenMode]:
    spec = json.loads((directory / "golden.json").read_text(encoding="utf-8"))
    for name in spec["modes"]:
        yield GoldenMode(name, spec, load_file(directory / f"golden_{name}.safetensors"))


def relative_error(actual: Tensor | np.ndarray, expected: Tensor | np.ndarray) -> float:
    """Largest difference over the largest expected magnitude; infinite when the shapes differ."""
    actual, expected = torch.as_tensor(actual).double(), torch.as_tensor(expected).double()
    if actual.shape != expected.shape:
        return float("inf")
    if not expected.numel():
        return 0.0
    return float((actual - expected).abs().max() / expected.abs().max().clamp_min(1e-12))


def dense_causal_attention(num_layers: int) -> Attention:
    """Plain causal attention over one sequence without a cache: the simplest thing that can be right."""

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if not 0 <= layer < num_layers:
            raise ValueError(f"layer {layer} is not one of {num_layers}")
        q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return out[0].transpose(0, 1)

    return attend


def input_errors(checkpoint: Checkpoint, golden: GoldenMode) -> tuple[dict[str, float], list[int | bytes]]:
    """Sequence builder and tokenizer against tokens, masks and features; also returns the key stream."""
    text = (golden.prompt_text or "") + golden.spec["text"]
    keys = build_sequence(
        checkpoint.tokenizer.encode(text),
        reference=None if golden.reference is None else golden.reference.numpy(),
        prompt=None if golden.prompt is None else golden.prompt.numpy(),
    )
    config, is_audio = checkpoint.config, [isinstance(key, bytes) for key in keys]
    features = np.zeros((len(keys), config.patch_size, config.feat_dim), np.float32)
    if any(is_audio):
        features[is_audio] = key_patches([k for k in keys if isinstance(k, bytes)], *features.shape[1:])
    mine = {
        "tokens": np.array([[0 if isinstance(key, bytes) else key for key in keys]]),
        "text_mask": np.array([[int(not audio) for audio in is_audio]]),
        "audio_mask": np.array([[int(audio) for audio in is_audio]]),
        "feat": features[None],
    }
    return {name: relative_error(value, golden.tensors[name]) for name, value in mine.items()}, keys


def encoder_errors(checkpoint: Checkpoint, golden: GoldenMode) -> dict[str, float]:
    encoder = AudioEncoder(checkpoint)
    errors = {}
    for role, wav, feat in (("prompt", "prompt_wav", "prompt_feat"), ("reference", "ref_wav", "ref_feat")):
        if role == "reference" and not checkpoint.config.supports_reference:
            continue
        patches = encoder.encode(golden.tensors[wav][0].numpy(), encoder.sample_rate, role)
        errors[feat] = relative_error(patches, golden.tensors[feat])
    return errors


@torch.inference_mode()
def teacher_forced_errors(
    checkpoint: Checkpoint, golden: GoldenMode, keys: list[int | bytes]
) -> dict[str, float]:
    """One pass over prompt and golden latents, then the solver from the golden conditions."""
    model, config, tensors = checkpoint.model, checkpoint.config, golden.tensors
    n = golden.num_patches
    stream = keys + build_sequence([], generated=golden.patches[: n - 1].numpy())[1:]
    mask = torch.tensor([isinstance(key, bytes) for key in stream])
    ids = torch.tensor([0 if isinstance(key, bytes) else key for key in stream])
    features = torch.zeros(len(stream), config.patch_size, config.feat_dim)
    if mask.any():
        audio = key_patches([k for k in stream if isinstance(k, bytes)], config.patch_size, config.feat_dim)
        features[mask] = torch.from_numpy(audio.copy())
    lm, residual = model.lm_hidden_states(
        ids, features, mask, torch.arange(len(stream)), dense_causal_attention(model.num_kv_layers)
    )
    lm, residual = lm[-n:], residual[-n:]
    mu, cond = model.dit_condition(lm, residual), features[-n:]
    guidance = torch.full((n, 1, 1), float(golden.spec["cfg_value"]))
    steps = golden.spec["inference_timesteps"]
    solved = FlowSolver(model.dit, config.mean_mode).solve(
        tensors["noise"].transpose(1, 2),
        tensors["mu"].view_as(mu),
        tensors["cond"].transpose(1, 2),
        steps,
        guidance,
    )
    return {
        "lm_hidden": relative_error(lm, tensors["lm_hidden"]),
        "residual_hidden": relative_error(residual, tensors["residual_hidden"]),
        "mu": relative_error(mu.flatten(1), tensors["mu"]),
        "cond": relative_error(cond.transpose(1, 2), tensors["cond"]),
        "stop_logits": relative_error(model.stop_logits(lm), tensors["stop_logits"]),
        "latents_teacher_forced": relative_error(solved, golden.patches),
    }


def golden_request(
    checkpoint: Checkpoint, golden: GoldenMode, name: str = "golden", **changes: Any
) -> SpeechRequest:
    """What the published package was asked for; changes: fields of the request."""
    fields = {"seed": 0, "max_seconds": golden.num_patches * checkpoint.config.patch_seconds} | changes
    return SpeechRequest(
        name,
        golden.spec["text"],
        prompt_text=golden.prompt_text,
        prompt_latents=None if golden.prompt is None else golden.prompt.numpy(),
        reference_latents=None if golden.reference is None else golden.reference.numpy(),
        cfg_value=golden.spec["cfg_value"],
        inference_timesteps=golden.spec["inference_timesteps"],
        **fields,
    )


def free_run(checkpoint: Checkpoint, golden: GoldenMode) -> list[SpeechOutput]:
    """The golden request through the real engine, fed the golden noise."""
    noise = golden.tensors["noise"].transpose(1, 2).numpy()
    options = EngineOptions(
        max_num_seqs=2,
        silence_guard=False,
        ratio_cap=False,
        min_stop_index=golden.spec["min_len"],
        block_size=8,
    )
    engine = VoxCPMEngine(checkpoint, options, noise=lambda seed, index, *shape: noise[index])
    engine.add_request(golden_request(checkpoint, golden))
    outputs: list[SpeechOutput] = []
    while engine.has_unfinished():
        outputs += engine.step()
    return outputs


def free_run_errors(checkpoint: Checkpoint, golden: GoldenMode) -> dict[str, float]:
    outputs = free_run(checkpoint, golden)
    stops = golden.spec["modes"][golden.name]["stop_argmax"]
    expected = "stop" if stops[-1] == 1 and len(stops) - 1 > golden.spec["min_len"] else "length"
    audio = np.concatenate([output.audio for output in outputs])[None]
    return {
        "latents_free_running": relative_error(np.stack([o.latents for o in outputs]), golden.patches),
        "finish_reason": 0.0 if outputs[-1].finish_reason == expected else float("inf"),
        "wav_streamed": relative_error(audio, golden.tensors["wav_full"]),
    }


@torch.inference_mode()
def decode_errors(checkpoint: Checkpoint, golden: GoldenMode) -> dict[str, float]:
    """The VAE on the golden latents: whole, without context, as a stream, and in overlapping windows."""
    vae, samples = checkpoint.vae, checkpoint.config.patch_samples
    patches, context_len = golden.patches, golden.spec["modes"][golden.name]["context_len"]
    context = patches[:0] if golden.prompt is None else golden.prompt[len(golden.prompt) - context_len :]
    joined = torch.cat([context, patches])
    mine = {
        "wav_full": _decode(vae, joined)[:, context_len * samples :],
        "wav_no_prompt_context": _decode(vae, patches),
        "wav_stream_overlap3": _decode_windows(vae, joined, samples)[:, context_len * samples :],
    }
    errors = {name: relative_error(value, golden.tensors[name]) for name, value in mine.items()}
    stream = StreamingDecoder(vae, num_slots=2)
    slots = torch.tensor([1])
    for name, history in (("wav_stream_stateful", patches[:0]), ("wav_full", context)):
        if name in golden.tensors:
            stream.start(1, history)
            audio = torch.cat([stream.decode(patch[None], slots) for patch in patches], dim=1)
            errors[f"{name}_streamed"] = relative_error(audio, golden.tensors[name])
    return errors


def _decode(vae: torch.nn.Module, patches: Tensor) -> Tensor:
    """[n, P, D] -> [1, samples]."""
    return vae.decode(patches.flatten(0, 1).T[None])[0]


def _decode_windows(vae: torch.nn.Module, patches: Tensor, patch_samples: int) -> Tensor:
    windows = [patches[max(0, i + 1 - OVERLAP_PATCHES) : i + 1] for i in range(len(patches))]
    return torch.cat([_decode(vae, window)[:, -patch_samples:] for window in windows], dim=1)


def compare(checkpoint: Checkpoint, golden: GoldenMode) -> dict[str, float]:
    """Relative error of everything the golden file of one mode holds."""
    errors, keys = input_errors(checkpoint, golden)
    errors |= encoder_errors(checkpoint, golden)
    errors |= teacher_forced_errors(checkpoint, golden, keys)
    errors |= free_run_errors(checkpoint, golden)
    return errors | decode_errors(checkpoint, golden)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("golden_dir", type=Path)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    arguments = parser.parse_args(argv)
    checkpoint = load_checkpoint(arguments.checkpoint, device="cpu", dtype=torch.float32)
    passed = True
    for golden in load_golden(arguments.golden_dir):
        errors = compare(checkpoint, golden)
        worst = max(errors, key=lambda name: errors[name])
        ok = all(error <= arguments.tolerance for error in errors.values())
        passed &= ok
        print(
            json.dumps(
                {"mode": golden.name, "ok": ok, "worst": worst, "max_error": errors[worst], "errors": errors}
            )
        )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
