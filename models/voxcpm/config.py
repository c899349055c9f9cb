"""Configuration of a VoxCPM checkpoint, as its `config.json` states it.

One set of dataclasses serves VoxCPM-0.5B, VoxCPM1.5 and VoxCPM2; the generations differ only in
values (`VoxCPMConfig.concat_residual`, `two_condition_tokens`, ...), never in code. Example:

    config = VoxCPMConfig.from_dict(json.loads(Path("config.json").read_text()))
    config.dit_transformer().num_attention_heads
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.layers.rotary import LongRope
from models.config_fields import ConfigError, build, check_sizes, section

ARCHITECTURES = ("voxcpm", "voxcpm2")
_SIZES = (
    "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads",
    "max_position_embeddings", "kv_channels",
)  # fmt: skip
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
class RopeScaling:
    """LongRoPE factors, one per pair of head dimensions."""

    short_factor: tuple[float, ...]
    long_factor: tuple[float, ...]
    original_max_position_embeddings: int
    type: str = "longrope"


@dataclass(frozen=True)
class TransformerConfig:
    """A MiniCPM-4 transformer stack (Llama layout: RMSNorm, GQA, SwiGLU, no biases).

    `kv_channels` is the head dimension; where a file leaves it out it is hidden_size / heads.
    """

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    max_position_embeddings: int
    rope_scaling: RopeScaling
    vocab_size: int = 0
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    kv_channels: int | None = None
    use_mup: bool = True
    scale_emb: float = 1.0
    scale_depth: float = 1.0
    dim_model_base: int = 256
    bos_token_id: int = 1
    eos_token_id: int = 2
    no_rope: bool = False

    def __post_init__(self) -> None:
        check_sizes(self, *_SIZES)
        if self.num_attention_heads % self.num_key_value_heads:
            raise ConfigError(
                f"num_attention_heads {self.num_attention_heads} is not a multiple of "
                f"num_key_value_heads {self.num_key_value_heads}"
            )
        for name in ("short_factor", "long_factor"):
            factors = getattr(self.rope_scaling, name)
            if not self.no_rope and len(factors) != self.head_dim // 2:
                raise ConfigError(
                    f"rope_scaling.{name} has {len(factors)} values, "
                    f"head_dim {self.head_dim} needs {self.head_dim // 2}"
                )

    @property
    def head_dim(self) -> int:
        return self.kv_channels or self.hidden_size // self.num_attention_heads

    @property
    def qk_norm(self) -> bool:
        return False

    def rotary(self) -> LongRope | None:
        """See `models.transformer.stack.StackShape`."""
        if self.no_rope:
            return None
        scaling = self.rope_scaling
        return LongRope(
            head_dim=self.head_dim,
            base=self.rope_theta,
            max_position=self.max_position_embeddings,
            original_max_position=scaling.original_max_position_embeddings,
            short_factor=scaling.short_factor,
            long_factor=scaling.long_factor,
        )

    @property
    def embedding_scale(self) -> float:
        return self.scale_emb if self.use_mup else 1.0

    @property
    def residual_scale(self) -> float:
        return self.scale_depth / math.sqrt(self.num_hidden_layers) if self.use_mup else 1.0


@dataclass(frozen=True)
class LocalTransformerConfig:
    """The local encoder's or the DiT's own sizes; the rest comes from the LM's config."""

    hidden_dim: int = 1024
    ffn_dim: int = 4096
    num_heads: int = 16
    num_layers: int = 4
    kv_channels: int | None = None


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
class AudioVAEConfig:
    """Shape of the audio VAE. `odd_stride_padding`: how the first generation pads strided convolutions."""

    encoder_dim: int = 128
    encoder_rates: tuple[int, ...] = (2, 5, 8, 8)
    latent_dim: int = 64
    decoder_dim: int = 1536
    decoder_rates: tuple[int, ...] = (8, 8, 5, 2)
    depthwise: bool = True
    sample_rate: int = 16000
    out_sample_rate: int | None = None
    use_noise_block: bool = False
    sr_bin_boundaries: tuple[int, ...] | None = None
    cond_type: str = "scale_bias"
    cond_dim: int = 128
    cond_out_layer: bool = False
    odd_stride_padding: bool = False

    def __post_init__(self) -> None:
        if self.use_noise_block:
            raise ConfigError(
                "audio_vae_config.use_noise_block is not supported: its output is not deterministic"
            )

    @property
    def hop_length(self) -> int:
        """Input samples per latent frame."""
        return math.prod(self.encoder_rates)

    @property
    def output_hop_length(self) -> int:
        """Output samples per latent frame."""
        return math.prod(self.decoder_rates)

    @property
    def output_sample_rate(self) -> int:
        return self.out_sample_rate or self.sample_rate


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
