"""The bundled voice's shape and the numbers of its training, in one place.

`voice_config()` is the released `config.json` layout, VoxCPM2 architecture at 11 M parameters plus an
audio VAE of 9 M that hears 16 kHz and speaks 24 kHz; `tiny_config()` is the same in miniature, to run every
stage on a CPU in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.training.speech.flite import VOICES as FLITE_VOICES
from models.voxcpm.training.speech.teachers import Speaker

HEAD_DIM = 64
MOST_POSITIONS = 1024
DEFAULT_VOICE = "heart"
TEACHER_WEIGHTS = {
    "heart": 0.38,
    "joe": 0.19,
    "stranger of heart": 0.17,
    "stranger of joe": 0.12,
    "slt": 0.01,
    "rms": 0.01,
    "stranger of slt": 0.05,
    "stranger of rms": 0.07,
}
"""Share of utterances by speaker; a stranger is a speaker made from a teacher (see speech/synthesis.py)."""
VALIDATION_SPEAKERS = (
    Speaker("heart"),
    Speaker("joe"),
    Speaker("heart", 0.86, 0.62),
    Speaker("joe", 1.1, 1.5),
)
NAMED_VOICES = {
    "default": (Speaker("heart"), "A clear, friendly woman", ("clear", "friendly")),
    "walter": (Speaker("joe"), "A calm man, low voice", ("calm", "low")),
    "ruth": (Speaker("heart", formants=0.95, pitch=0.95), "A woman, deeper voice", ("deep",)),
}
"""Name in a checkpoint -> who speaks its reference recording, the voice's description, and its tags.

The default voice speaks without one too, but keeps its pitch better from sentence to sentence with it.
"""


def _language_model(hidden: int, heads: int, ffn: int, layers: int) -> dict[str, Any]:
    factors = [1.0] * (HEAD_DIM // 2)
    return {
        "bos_token_id": 1,
        "eos_token_id": 2,
        "hidden_size": hidden,
        "intermediate_size": ffn,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": 2,
        "kv_channels": HEAD_DIM,
        "max_position_embeddings": MOST_POSITIONS,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "rope_scaling": {
            "type": "longrope",
            "short_factor": factors,
            "long_factor": factors,
            "original_max_position_embeddings": MOST_POSITIONS,
        },
        "vocab_size": 128,
        "use_mup": False,
        "scale_emb": 1,
        "scale_depth": 1.0,
        "dim_model_base": 256,
    }


def _config(lm: dict[str, Any], residual: int, local: dict[str, int], vae: dict[str, Any]) -> dict[str, Any]:
    """`config.json` of a checkpoint. The DiT has the LM's width, heads and ffn."""
    heads = lm["num_attention_heads"]
    return {
        "architecture": "voxcpm2",
        "lm_config": lm,
        "patch_size": 2,
        "feat_dim": vae["latent_dim"],
        "scalar_quantization_latent_dim": 128,
        "scalar_quantization_scale": 9,
        "residual_lm_num_layers": residual,
        "residual_lm_no_rope": True,
        "encoder_config": {
            "hidden_dim": local["encoder_hidden"],
            "ffn_dim": local["encoder_ffn"],
            "num_heads": 4,
            "num_layers": local["encoder_layers"],
            "kv_channels": HEAD_DIM,
        },
        "dit_config": {
            "hidden_dim": lm["hidden_size"],
            "ffn_dim": lm["intermediate_size"],
            "num_heads": heads,
            "num_layers": local["dit_layers"],
            "kv_channels": HEAD_DIM,
            "dit_mean_mode": False,
            "cfm_config": {"sigma_min": 1e-6, "solver": "euler", "t_scheduler": "log-norm"}
            | {"inference_cfg_rate": 2.0},
        },
        "audio_vae_config": {
            **vae,
            "depthwise": False,
            "sample_rate": 16000,
            "out_sample_rate": 24000,
            "use_noise_block": False,
            "sr_bin_boundaries": None,
        },
        "max_length": MOST_POSITIONS,
        "device": "cuda",
        "dtype": "bfloat16",
    }


def voice_config() -> VoxCPMConfig:
    """The bundled voice."""
    local = {"encoder_hidden": 192, "encoder_ffn": 512, "encoder_layers": 2, "dit_layers": 4}
    vae = {
        "encoder_dim": 16,
        "encoder_rates": [2, 4, 5, 4, 4],
        "latent_dim": 64,
        "decoder_dim": 640,
        "decoder_rates": [4, 4, 5, 4, 3],
    }
    return VoxCPMConfig.from_dict(_config(_language_model(256, 4, 768, 6), 2, local, vae))


def tiny_config() -> VoxCPMConfig:
    """The bundled model's layout in miniature."""
    local = {"encoder_hidden": 32, "encoder_ffn": 64, "encoder_layers": 1, "dit_layers": 1}
    vae = {
        "encoder_dim": 4,
        "encoder_rates": [2, 4, 5, 4, 4],
        "latent_dim": 8,
        "decoder_dim": 64,
        "decoder_rates": [4, 4, 5, 4, 3],
    }
    return VoxCPMConfig.from_dict(_config(_language_model(64, 2, 96, 1), 1, local, vae))


@dataclass(frozen=True)
class VAERecipe:
    """Stage 1 trains the whole VAE, stage 2 the decoder alone; batch sizes are per GPU.

    most_latent_noise: deviations of noise that the decoder learns to bear; adversarial_from: share of stage 2
    after which the discriminators take part, in a warm start 0; judge_warmup_steps: how long they
    learn while the decoder stands still; adversarial_ratio: their gradient's norm over that of the mel
    loss, reached adversarial_ramp_steps later; judge_learning_rate: of the discriminators, constant;
    most_hours: of speech kept in device memory; least_steps: of each stage, even when its time is over.
    """

    batch_size: int = 32
    crop_frames: int = 16
    learning_rate: float = 4e-4
    decoder_learning_rate: float = 4e-4
    mel_weight: float = 15.0
    kl_weight: float = 0.01
    warmup_steps: int = 1000
    most_latent_noise: float = 0.2
    adversarial_from: float = 0.6
    adversarial_ratio: float = 0.5
    judge_warmup_steps: int = 1500
    adversarial_ramp_steps: int = 1000
    judge_learning_rate: float = 6e-4
    ema_decay: float = 0.999
    validate_every: int = 1000
    most_hours: float = 40.0
    least_steps: int = 0


@dataclass(frozen=True)
class LMRecipe:
    """Flat batches of `tokens` positions; at most `audio_rows` of them audio, `flow_rows` fed to the DiT.

    most_feedback_noise: deviations of noise on the patches fed back, since generated ones are not perfect;
    references: whether the model takes any; default_reference_share: how often there is a reference where the
    default voice or a prompt would do without; prompt_share: documents that continue another recording, of at
    most longest_prompt patches; space_token: between the texts of the two; sentence_share: documents that are
    sentences and not random words, late_sentence_share: the same in the last third; least_steps: even when
    the time is over.
    """

    tokens: int = 32768
    documents: int = 450
    audio_rows: int = 24576
    flow_rows: int = 8192
    learning_rate: float = 1.5e-3
    weight_decay: float = 0.05
    warmup_steps: int = 500
    stop_weight: float = 0.3
    condition_dropout: float = 0.1
    most_feedback_noise: float = 0.3
    references: bool = True
    default_reference_share: float = 0.5
    prompt_share: float = 0.5
    longest_prompt: int = 150
    space_token: int = 3
    longest_document: int = 1000
    sentence_share: float = 0.75
    late_sentence_share: float = 0.9
    least_steps: int = 0


@dataclass(frozen=True)
class Recipe:
    """Everything a run needs besides its folders and its time budget in seconds.

    hours: of speech in all; validation_sentences: held-out sentences that judge the VAE, and that the
    language model speaks when it is done; teacher_weights, validation_speakers, named_voices: who speaks.
    """

    config: VoxCPMConfig = field(default_factory=voice_config)
    vae: VAERecipe = field(default_factory=VAERecipe)
    lm: LMRecipe = field(default_factory=LMRecipe)
    hours: float = 120.0
    validation_sentences: int = 8
    teacher_weights: dict[str, float] = field(default_factory=TEACHER_WEIGHTS.copy)
    validation_speakers: tuple[Speaker, ...] = VALIDATION_SPEAKERS
    named_voices: dict[str, tuple[Speaker, str, tuple[str, ...]]] = field(default_factory=NAMED_VOICES.copy)
    seed: int = 1

    def for_warm_start(self) -> Recipe:
        """Lower peaks of the rates, and discriminators from the start: the weights are good already."""
        rate = 0.25 * self.vae.decoder_learning_rate
        vae = replace(self.vae, decoder_learning_rate=rate, adversarial_from=0.0)
        return replace(self, vae=vae, lm=replace(self.lm, learning_rate=0.7 * self.lm.learning_rate))


def tiny_recipe() -> Recipe:
    """Sizes for a run of every stage on a CPU, by flite's voices alone."""
    vae = VAERecipe(
        batch_size=2,
        crop_frames=8,
        warmup_steps=2,
        judge_warmup_steps=1,
        adversarial_ramp_steps=2,
        validate_every=3,
        least_steps=4,
    )
    lm = LMRecipe(tokens=768, documents=8, audio_rows=640, flow_rows=128, warmup_steps=2, least_steps=12)
    voices = {name: (Speaker(name), "of flite", ()) for name in FLITE_VOICES}
    return Recipe(
        tiny_config(),
        vae,
        lm,
        hours=0.01,
        validation_sentences=1,
        teacher_weights=dict.fromkeys(FLITE_VOICES, 0.25),
        validation_speakers=tuple(map(Speaker, FLITE_VOICES)),
        named_voices=voices,
    )


def recipe_named(name: str, warm_start: bool = False) -> Recipe:
    """The recipe called "voice" or "tiny", gentler for a warm start."""
    recipe = tiny_recipe() if name == "tiny" else Recipe()
    return recipe.for_warm_start() if warm_start else recipe
