"""A whole checkpoint, and how its file is read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from models.config_fields import ConfigError, build, check_sizes, section
from models.voxcpm.config.audio_vae import AudioVAEConfig
from models.voxcpm.config.transformer import LocalTransformerConfig, RopeScaling, TransformerConfig

ARCHITECTURES = ("voxcpm", "voxcpm2")
_LOCAL_SIZES = ("hidden_dim", "ffn_dim", "num_heads", "num_layers", "kv_channels")
_VAE_SIZES = (
    "encoder_dim", "encoder_rates", "latent_dim", "decoder_dim", "decoder_rates", "sample_rate",
    "out_sample_rate", "cond_dim",
)  # fmt: skip
_OWN_SIZES = (
    "patch_size", "residual_lm_num_layers", "scalar_quantization_latent_dim", "scalar_quantization_scale",
    "max_length",
)  # fmt: skip


@dataclass(frozen=True)
class FlowMatchingConfig:
    """Flow-matching settings as files state them; speech takes its guidance from the request."""

    sigma_min: float = 1e-6
    solver: str = "euler"
    t_scheduler: str = "log-norm"
    inference_cfg_rate: float = 2.0

    def __post_init__(self) -> None:
        if self.solver != "euler":
            raise ConfigError(f"dit_config.cfm_config.solver {self.solver!r} is not supported, only 'euler'")


@dataclass(frozen=True)
class VoxCPMConfig:
    """A whole checkpoint. Derived properties name what differs between the generations."""

    lm_config: TransformerConfig
    encoder_config: LocalTransformerConfig
    dit_config: LocalTransformerConfig
    audio_vae_config: AudioVAEConfig
    architecture: str = "voxcpm"
    patch_size: int = 2
    feat_dim: int = 64
    residual_lm_num_layers: int = 6
    residual_lm_no_rope: bool = False
    scalar_quantization_latent_dim: int = 256
    scalar_quantization_scale: int = 9
    cfm_config: FlowMatchingConfig = field(default_factory=FlowMatchingConfig)
    mean_mode: bool = False
    max_length: int = 4096
    dtype: str = "bfloat16"

    def __post_init__(self) -> None:
        check_sizes(self.lm_config, "num_hidden_layers", "vocab_size", where="lm_config.")
        check_sizes(self.lm_config.rope_scaling, "original_max_position_embeddings", where="rope_scaling.")
        for name in ("encoder_config", "dit_config"):
            check_sizes(getattr(self, name), *_LOCAL_SIZES, where=f"{name}.")
        check_sizes(self.audio_vae_config, *_VAE_SIZES, where="audio_vae_config.")
        check_sizes(self, *_OWN_SIZES)
        if self.architecture not in ARCHITECTURES:
            raise ConfigError(f"architecture {self.architecture!r} is not one of {', '.join(ARCHITECTURES)}")
        if self.feat_dim != self.audio_vae_config.latent_dim:
            raise ConfigError(
                f"feat_dim {self.feat_dim} differs from "
                f"audio_vae_config.latent_dim {self.audio_vae_config.latent_dim}"
            )

    @property
    def is_v2(self) -> bool:
        return self.architecture == "voxcpm2"

    @property
    def concat_residual(self) -> bool:
        """The residual LM's input is a projection of a concatenation (VoxCPM2), not a sum."""
        return self.is_v2

    @property
    def two_condition_tokens(self) -> bool:
        """The DiT sees two condition tokens and a time token (VoxCPM2), not one fused token."""
        return self.is_v2

    @property
    def supports_reference(self) -> bool:
        return self.is_v2

    @property
    def prompt_context_patches(self) -> int:
        """Prompt patches decoded before the first generated one, so that the waveform joins smoothly."""
        return 3 if self.is_v2 else 2

    @property
    def patch_samples(self) -> int:
        """Output samples per patch."""
        return self.patch_size * self.audio_vae_config.output_hop_length

    @property
    def patch_seconds(self) -> float:
        return self.patch_samples / self.audio_vae_config.output_sample_rate

    def residual_transformer(self) -> TransformerConfig:
        return dataclasses.replace(
            self.lm_config,
            num_hidden_layers=self.residual_lm_num_layers,
            vocab_size=0,
            no_rope=self.residual_lm_no_rope,
        )

    def encoder_transformer(self) -> TransformerConfig:
        return self._local_transformer(self.encoder_config)

    def dit_transformer(self) -> TransformerConfig:
        return self._local_transformer(self.dit_config)

    def _local_transformer(self, local: LocalTransformerConfig) -> TransformerConfig:
        return dataclasses.replace(
            self.lm_config,
            hidden_size=local.hidden_dim,
            intermediate_size=local.ffn_dim,
            num_attention_heads=local.num_heads,
            num_hidden_layers=local.num_layers,
            kv_channels=local.kv_channels,
            vocab_size=0,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> VoxCPMConfig:
        """Read the contents of a released `config.json`.

        Raises ConfigError naming the field that is missing or impossible.
        """
        architecture = data.get("architecture", "voxcpm")
        lm = dict(section(data, "lm_config"))
        rope = build(RopeScaling, section(lm, "rope_scaling"), "lm_config.rope_scaling")
        lm["rope_scaling"] = rope
        dit = section(data, "dit_config")
        own = {f.name for f in dataclasses.fields(cls)}
        values = {key: value for key, value in data.items() if key in own}
        values.update(
            architecture=architecture,
            lm_config=build(TransformerConfig, lm, "lm_config"),
            encoder_config=build(LocalTransformerConfig, section(data, "encoder_config"), "encoder_config"),
            dit_config=build(LocalTransformerConfig, dit, "dit_config"),
            cfm_config=build(FlowMatchingConfig, _given(dit, "cfm_config"), "dit_config.cfm_config"),
            audio_vae_config=_vae_config(_given(data, "audio_vae_config"), architecture),
            mean_mode=_mean_mode(data, dit),
        )
        return build(cls, values, "config")

    def to_dict(self) -> dict[str, Any]:
        """The contents of a `config.json` in the released layout; `from_dict` reads it back."""
        data = dataclasses.asdict(self)
        vae = data["audio_vae_config"]
        del vae["odd_stride_padding"]
        data["dit_config"]["cfm_config"] = data.pop("cfm_config")
        data["dit_config"]["dit_mean_mode"] = data.pop("mean_mode")
        return data


def _given(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object that may be left out."""
    return section(data, name) if data.get(name) else {}


def _mean_mode(data: Mapping[str, Any], dit: Mapping[str, Any]) -> bool:
    """Files spell this switch in three ways; the published loader honours `dit_mean_mode` alone."""
    return bool(dit.get("dit_mean_mode", data.get("dit_mean_mode", False)))


def _vae_config(data: Mapping[str, Any], architecture: str) -> AudioVAEConfig:
    defaults: dict[str, Any] = {"odd_stride_padding": architecture == "voxcpm"}
    if architecture == "voxcpm2":
        defaults.update(
            decoder_dim=2048,
            decoder_rates=(8, 6, 5, 2, 2, 2),
            out_sample_rate=48000,
            sr_bin_boundaries=(20000, 30000, 40000),
        )
    return build(AudioVAEConfig, {**defaults, **data}, "audio_vae_config")
