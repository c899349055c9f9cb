"""How far bf16 is from fp32: ours beside the published package's own bf16 run, teacher-forced.

    python -m benchmarks.gpu.accuracy                                  golden checkpoints, on the CPU too
    python -m benchmarks.gpu.accuracy --shape voxcpm2 --device cuda    and random weights of a released shape

Both see the same tokens, the same earlier patches and the same noise, so errors do not feed on themselves.
The fp32 truth is what the published package recorded for the golden checkpoints, and for a random one our own
fp32 run, which agrees with the published one to 1e-5 where both were run (`models.voxcpm.parity`). An error
is the norm of the difference over the norm of the truth. Latents are those that the solver makes of the true
conditions. Hidden states pass a quantiser, so bf16 now and then flips a whole quantum, in either run; single
modes therefore scatter, and the verdict is on the mean square over all of them. Exits 1 when for some tensor
ours is the larger by more than a tenth.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor

from benchmarks.gpu.arithmetic import machine_rates
from benchmarks.gpu.checkpoints import DIRECTORY, SHAPES, make_checkpoint
from benchmarks.gpu.device import device_of
from benchmarks.shared.published import DEFAULT_DIRECTORY, load_published, reason_missing
from engine.attention import AttentionBatch, PagedAttention, select_backend
from engine.kv_cache.pool import KVPool
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.parity import GoldenMode, load_golden
from models.voxcpm.requests.prompt import build_sequence, key_patches

GOLDEN = Path(__file__).parents[2] / "tests" / "parity"
RESULTS = Path(__file__).parents[1] / "results" / "gpu_accuracy.json"
MARGIN = 1.1
BLOCK_SIZE = 16
Tensors = dict[str, Tensor]


@dataclass
class Case:
    """One sequence, of which the last `len(noise)` positions make patches.

    Attributes:
        ids [T], features [T, P, D], is_audio [T]: the sequence.
        noise [n, P, D]: what the solver starts from.
        truth: fp32 values by name.
    """

    name: str
    ids: Tensor
    features: Tensor
    is_audio: Tensor
    noise: Tensor
    steps: int
    cfg_value: float
    truth: Tensors = dataclasses.field(default_factory=dict)

    def to(self, device: torch.device) -> Case:
        moved = {
            field.name: value.to(device)
            for field in dataclasses.fields(self)
            if isinstance(value := getattr(self, field.name), Tensor)
        }
        truth = {name: value.to(device) for name, value in self.truth.items()}
        return dataclasses.replace(self, truth=truth, **moved)


def golden_case(checkpoint: Checkpoint, golden: GoldenMode) -> Case:
    """A mode of a golden checkpoint, prompt and golden patches in one sequence."""
    n, config = golden.num_patches, checkpoint.config
    text = (golden.prompt_text or "") + golden.spec["text"]
    keys = build_sequence(
        checkpoint.tokenizer.encode(text),
        reference=None if golden.reference is None else golden.reference.numpy(),
        prompt=None if golden.prompt is None else golden.prompt.numpy(),
        generated=golden.patches[: n - 1].numpy(),
    )
    is_audio = np.array([isinstance(key, bytes) for key in keys])
    features = np.zeros((len(keys), config.patch_size, config.feat_dim), np.float32)
    features[is_audio] = key_patches([key for key in keys if isinstance(key, bytes)], *features.shape[1:])
    tensors = golden.tensors
    truth = {name: tensors[name] for name in ("lm_hidden", "residual_hidden", "mu", "stop_logits")}
    return Case(
        golden.name,
        torch.tensor([0 if isinstance(key, bytes) else key for key in keys]),
        torch.from_numpy(features),
        torch.from_numpy(is_audio),
        tensors["noise"].transpose(1, 2).contiguous(),
        golden.spec["inference_timesteps"],
        float(golden.spec["cfg_value"]),
        truth | {"latents": golden.patches},
    )


def random_case(checkpoint: Checkpoint, patches: int = 8, text: int = 40, seed: int = 0) -> Case:
    """Text, then patches of noise, with the truth by `checkpoint`, which is in fp32."""
    config, generator = checkpoint.config, torch.Generator().manual_seed(seed)
    length = text + patches
    is_audio = torch.arange(length) > text
    ids = torch.randint(3, 100, (length,), generator=generator).masked_fill(is_audio, 0)
    ids[text] = 101
    shape = (config.patch_size, config.feat_dim)
    features = torch.randn(length, *shape, generator=generator) * is_audio[:, None, None]
    noise = torch.randn(patches, *shape, generator=generator)
    case = Case("random", ids, features, is_audio, noise, 10, 2.0).to(checkpoint.device)
    return dataclasses.replace(case, truth=our_values(checkpoint, case))


@torch.inference_mode()
def our_values(checkpoint: Checkpoint, case: Case) -> Tensors:
    """What our model makes of a case, in the precision of the checkpoint, through the paged attention."""
    model, n, device = checkpoint.model, len(case.noise), checkpoint.device
    lm, length = checkpoint.config.lm_config, len(case.ids)
    heads = lm.num_attention_heads, lm.num_key_value_heads
    backend = select_backend("auto", device, checkpoint.dtype, lm.head_dim, BLOCK_SIZE, heads)
    blocks = -(-length // BLOCK_SIZE)
    layout = (model.num_kv_layers, blocks, BLOCK_SIZE, heads[1], lm.head_dim)
    pool = KVPool(*layout, checkpoint.dtype, device)
    metadata = backend.plan(AttentionBatch([0], [length], [list(range(blocks))]))
    features = case.features.to(checkpoint.dtype)
    hidden, residual = model.lm_hidden_states(
        case.ids,
        features,
        case.is_audio,
        torch.arange(length, device=device),
        PagedAttention(backend, pool, metadata),
    )
    hidden, residual = hidden[-n:], residual[-n:]
    mu = model.dit_condition(hidden, residual)
    true_mu = case.truth.get("mu", mu.flatten(1)).view_as(mu).to(checkpoint.dtype)
    guidance = torch.full((n, 1, 1), case.cfg_value, device=device)
    solver = FlowSolver(model.dit, checkpoint.config.mean_mode)
    latents = solver.solve(case.noise, true_mu, features[-n:], case.steps, guidance)
    return {
        "lm_hidden": hidden, "residual_hidden": residual, "mu": mu.flatten(1),
        "stop_logits": model.stop_logits(hidden), "latents": latents,
    }  # fmt: skip


@torch.inference_mode()
def published_values(model: Any, case: Case) -> Tensors:
    """The same by the published model, as its `_inference` goes, in its precision."""
    n, dtype = len(case.noise), model.stop_proj.weight.dtype
    audio = case.is_audio[None, :, None].to(dtype)
    features = case.features[None].to(dtype)
    embedded = model.enc_to_lm_proj(model.feat_encoder(features))
    lm_config = model.config.lm_config
    scale = lm_config.scale_emb if lm_config.use_mup else 1.0
    combined = (1 - audio) * model.base_lm.embed_tokens(case.ids[None]) * scale + audio * embedded
    encoded, _ = model.base_lm(inputs_embeds=combined, is_causal=True)
    encoded = model.fsq_layer(encoded) * audio + encoded * (1 - audio)
    joins = hasattr(model, "fusion_concat_proj")
    own = audio * embedded
    inputs = model.fusion_concat_proj(torch.cat((encoded, own), dim=-1)) if joins else encoded + own
    residual, _ = model.residual_lm(inputs_embeds=inputs, is_causal=True)
    hidden, residual = encoded[0, -n:], residual[0, -n:]
    first, second = model.lm_to_dit_proj(hidden), model.res_to_dit_proj(residual)
    noise = case.noise.transpose(1, 2).to(dtype)
    with mock.patch.object(torch, "randn", lambda *shape, **options: noise):
        latents = model.feat_decoder(
            mu=case.truth["mu"].to(dtype), patch_size=model.patch_size, n_timesteps=case.steps,
            cond=features[0, -n:].transpose(1, 2).contiguous(), cfg_value=case.cfg_value,
        )  # fmt: skip
    return {
        "lm_hidden": hidden, "residual_hidden": residual,
        "mu": torch.cat((first, second), dim=-1) if joins else first + second,
        "stop_logits": model.stop_head(model.stop_actn(model.stop_proj(hidden))),
        "latents": latents.transpose(1, 2),
    }  # fmt: skip


def errors(values: Tensors, truth: Tensors) -> dict[str, float]:
    """Norm of the difference over the norm of the truth, and the share of stop decisions that differ."""
    found = {
        name: float((values[name].double() - true.double()).norm() / true.double().norm())
        for name, true in truth.items()
    }
    decisions = (values["stop_logits"].argmax(-1) != truth["stop_logits"].argmax(-1)).double()
    return found | {"other_stops": float(decisions.mean())}


def compare(
    name: str, directory: Path, cases: list[Case], device: torch.device, published: Path | None
) -> dict[str, Any]:
    """Errors of both for all cases of a checkpoint, printed side by side."""
    checkpoint = load_checkpoint(directory, str(device), dtype=torch.bfloat16)
    cases = [case.to(device) for case in cases]
    ours = {case.name: errors(our_values(checkpoint, case), case.truth) for case in cases}
    theirs: dict[str, dict[str, float]] = {}
    if published is not None:
        model = load_published(directory, published, str(device), torch.bfloat16)
        theirs = {case.name: errors(published_values(model, case), case.truth) for case in cases}
    for mode, found in ours.items():
        for tensor, error in found.items():
            other = f"{theirs[mode][tensor]:10.5f}" if theirs else "         -"
            print(f"{name:12} {mode:17} {tensor:16} ours {error:10.5f}  published {other}", flush=True)
    return {"ours": ours, "published": theirs}


def verdict(results: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Root mean square of each tensor's error over all modes of all checkpoints, of both."""
    pooled: dict[str, dict[str, float]] = {}
    for side in ("ours", "published"):
        rows = [row for found in results.values() for row in found[side].values()]
        for name in rows[0] if rows else ():
            squares = [row[name] ** 2 for row in rows]
            pooled.setdefault(name, {})[side] = float(np.sqrt(np.mean(squares)))
    return pooled


def worse(pooled: dict[str, dict[str, float]]) -> list[str]:
    """Tensors whose error is larger with us by more than `MARGIN`."""
    return [
        name
        for name, error in pooled.items()
        if name != "other_stops" and error["ours"] > MARGIN * error.get("published", float("inf"))
    ]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--shape", choices=SHAPES, help="random weights of this shape too")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where checkpoints are made")
    parser.add_argument(
        "--published", type=Path, default=DEFAULT_DIRECTORY, help="where its wheel is unpacked"
    )
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--no-save", action="store_true")
    arguments = parser.parse_args(argv)
    device = device_of(arguments.device)
    reason = reason_missing(arguments.published)
    published = None if reason else arguments.published
    if reason:
        print(f"{reason}: ours alone", flush=True)
    results = {}
    for name in ("tiny_v1", "tiny_v2"):
        exact = load_checkpoint(GOLDEN / name, "cpu", dtype=torch.float32)
        cases = [golden_case(exact, golden) for golden in load_golden(GOLDEN / name / "golden")]
        results[name] = compare(name, GOLDEN / name, cases, device, published)
    if arguments.shape:
        directory = make_checkpoint(arguments.shape, arguments.directory)
        case = random_case(load_checkpoint(directory, str(device), dtype=torch.float32))
        results[arguments.shape] = compare(arguments.shape, directory, [case], device, published)
    pooled = verdict(results)
    for tensor, error in pooled.items():
        print(f"all modes  {tensor:16} {json.dumps(error)}", flush=True)
    if not arguments.no_save:
        about = {"device": str(device), "torch": torch.__version__, **machine_rates(device)}
        document = {"machine": about, "all_modes": pooled, "checkpoints": results}
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    if worse(pooled):
        print(f"further from fp32 than the published package: {worse(pooled)}", flush=True)
    return 1 if worse(pooled) else 0


if __name__ == "__main__":
    sys.exit(main())
