"""Makes golden activations with the published package, for checkpoints of any shape.

`random_checkpoint` writes a small checkpoint in the released layout from a config; `record` runs the
published model on it and returns what `models.voxcpm.parity` compares with.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from benchmarks.shared.published import load_published
from models.voxcpm.parity import GoldenMode

HERE = Path(__file__).parent
TEXT = "hello world, 你好世界 again."
PROMPT_TEXT = "the 今天 thing."


def small_config(architecture: str, **changes: Any) -> dict[str, Any]:
    """The config of a committed tiny checkpoint with some values changed, "section.key" for nested ones."""
    source = HERE / ("tiny_v2" if architecture == "voxcpm2" else "tiny_v1") / "config.json"
    config = json.loads(source.read_text())
    for path, value in changes.items():
        *sections, key = path.split(".")
        target = config
        for section in sections:
            target = target[section]
        target[key] = value
    head_dim = config["lm_config"].get("kv_channels") or (
        config["lm_config"]["hidden_size"] // config["lm_config"]["num_attention_heads"]
    )
    scaling = config["lm_config"]["rope_scaling"]
    scaling["short_factor"] = [1.0 + 0.05 * i for i in range(head_dim // 2)]
    scaling["long_factor"] = [1.0 + 0.5 * i for i in range(head_dim // 2)]
    return config


def random_checkpoint(directory: Path, config: dict[str, Any], seed: int = 0) -> Path:
    """Write a checkpoint with random weights that the published package can load."""
    from benchmarks.shared.published import import_published

    import_published()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(HERE / "tiny_v2" / name, directory)
    torch.manual_seed(seed)
    torch.save({"state_dict": _published_vae(config).state_dict()}, directory / "audiovae.pth")
    save_file({}, directory / "model.safetensors")
    model = load_published(directory)
    weights = {}
    for name, tensor in model.state_dict().items():
        if name.startswith("audio_vae."):
            continue
        spread = 0.5 / max(1.0, tensor.shape[-1]) ** 0.5 if tensor.ndim > 1 else 0.1
        centre = 1.0 if "norm" in name else 0.0
        weights[name] = centre + spread * 2 * torch.randn(tensor.shape)
    save_file(weights, directory / "model.safetensors")
    return directory


def _published_vae(config: dict[str, Any]) -> torch.nn.Module:
    if config["architecture"] == "voxcpm2":
        from voxcpm.modules.audiovae.audio_vae_v2 import AudioVAE, AudioVAEConfig
    else:
        from voxcpm.modules.audiovae.audio_vae import AudioVAE, AudioVAEConfig
    vae = AudioVAE(AudioVAEConfig(**config["audio_vae_config"]))
    for name, parameter in vae.named_parameters():
        if "alpha" not in name:
            parameter.data += 0.02 * torch.randn(parameter.shape)
    return vae


class Recorder:
    """Hooks into a published model that note every activation the goldens hold."""

    def __init__(self, model: Any, seed: int) -> None:
        self.model = model
        self.notes: dict[str, list[torch.Tensor]] = {}
        self.generator = torch.Generator().manual_seed(seed)
        model.feat_decoder.forward = self._solve
        model.lm_to_dit_proj.register_forward_pre_hook(lambda m, args: self._note("lm_hidden", args[0]))
        model.res_to_dit_proj.register_forward_pre_hook(
            lambda m, args: self._note("residual_hidden", args[0])
        )
        model.stop_head.register_forward_hook(lambda m, args, out: self._note("stop_logits", out))

    def _note(self, name: str, value: torch.Tensor) -> None:
        self.notes.setdefault(name, []).append(value.detach().clone())

    def _solve(
        self,
        mu: torch.Tensor,
        n_timesteps: int,
        patch_size: int,
        cond: torch.Tensor,
        cfg_value: float,
        **_: Any,
    ) -> torch.Tensor:
        flow = self.model.feat_decoder
        noise = torch.randn((1, flow.in_channels, patch_size), generator=self.generator)
        for name, value in (("mu", mu), ("cond", cond), ("noise", noise)):
            self._note(name, value)
        grid = torch.linspace(1, 0, n_timesteps + 1)
        grid = grid + (torch.cos(torch.pi / 2 * grid) - 1 + grid)
        return flow.solve_euler(noise, t_span=grid, mu=mu, cond=cond, cfg_value=cfg_value)

    def tensors(self) -> dict[str, torch.Tensor]:
        return {name: torch.cat(values) for name, values in self.notes.items()}


@torch.inference_mode()
def record(
    checkpoint: Path,
    mode: str,
    *,
    steps: int,
    cfg_value: float,
    patches: int = 8,
    prepare: Callable[[Any], Any] | None = None,
) -> GoldenMode:
    """Run the published model in one mode until it stops or has made `patches` patches.

    prepare: is given the model before that.
    """
    model = load_published(checkpoint)
    if prepare:
        prepare(model)
    recorder = Recorder(model, seed=1)
    torch.manual_seed(2)
    prompt_wav, ref_wav = 0.3 * torch.randn(1, 1234), 0.3 * torch.randn(1, 1701)
    prompt_feat, ref_feat = _encode(model, prompt_wav, "left"), _encode(model, ref_wav, "right")
    tokens, text_mask, audio_mask, feat = _inputs(model, mode, prompt_feat, ref_feat)
    result = model._inference(
        tokens,
        text_mask,
        feat,
        audio_mask,
        min_len=2,
        max_len=patches,
        inference_timesteps=steps,
        cfg_value=cfg_value,
        streaming=False,
    )
    latents = next(result)[0]
    context_len = latents.shape[-1] // model.patch_size - len(recorder.notes["noise"])
    samples = model.patch_size * _hop(model)
    own = latents[..., context_len * model.patch_size :]
    tensors = recorder.tensors() | {
        "tokens": tokens, "text_mask": text_mask, "audio_mask": audio_mask, "feat": feat, "latents": own,
        "prompt_wav": prompt_wav, "ref_wav": ref_wav, "prompt_feat": prompt_feat, "ref_feat": ref_feat,
        "wav_full": model.audio_vae.decode(latents)[:, 0, context_len * samples :],
        "wav_no_prompt_context": model.audio_vae.decode(own)[:, 0],
    }  # fmt: skip
    tensors["wav_stream_overlap3"] = _overlap(model, latents, samples)[:, context_len * samples :]
    stops = tensors["stop_logits"].argmax(-1).tolist()
    spec = {
        "text": TEXT, "prompt_text": PROMPT_TEXT, "min_len": 2,
        "cfg_value": cfg_value, "inference_timesteps": steps,
        "modes": {mode: {"context_len": context_len, "stop_argmax": stops}},
    }  # fmt: skip
    return GoldenMode(mode, spec, tensors)


def _hop(model: Any) -> int:
    return getattr(model, "_decode_chunk_size", model.chunk_size)


def _encode(model: Any, wav: torch.Tensor, side: str) -> torch.Tensor:
    patch = model.patch_size * model.chunk_size
    missing = -wav.shape[1] % patch
    padded = torch.nn.functional.pad(wav, (missing, 0) if side == "left" else (0, missing))
    latents = model.audio_vae.encode(padded, model.audio_vae.sample_rate)
    return latents.view(model.audio_vae.latent_dim, -1, model.patch_size).permute(1, 2, 0).contiguous()


def _inputs(model: Any, mode: str, prompt: torch.Tensor, reference: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """(tokens, text_mask, audio_mask, feat) as the published package lays them out."""
    text = (PROMPT_TEXT if "continuation" in mode else "") + TEXT
    parts: list[tuple[torch.Tensor, torch.Tensor | None]] = []
    if mode.startswith("ref"):
        parts += [
            (torch.tensor([103]), None),
            (torch.zeros(len(reference)), reference),
            (torch.tensor([104]), None),
        ]
    parts.append((torch.tensor([*model.text_tokenizer(text), 101]), None))
    if "continuation" in mode:
        parts.append((torch.zeros(len(prompt)), prompt))
    blank = torch.zeros(1, model.patch_size, model.audio_vae.latent_dim)
    tokens = torch.cat([ids for ids, _ in parts]).long()[None]
    feat = torch.cat([blank.expand(len(ids), -1, -1) if f is None else f for ids, f in parts])[None]
    audio = torch.cat([torch.full((len(ids),), int(f is not None)) for ids, f in parts])[None]
    return tokens, 1 - audio, audio, feat


def _overlap(model: Any, latents: torch.Tensor, samples: int) -> torch.Tensor:
    size, count = model.patch_size, latents.shape[-1] // model.patch_size
    chunks = []
    for i in range(count):
        window = latents[..., max(0, i - 2) * size : (i + 1) * size]
        chunks.append(model.audio_vae.decode(window)[:, 0, -samples:])
    return torch.cat(chunks, dim=1)
