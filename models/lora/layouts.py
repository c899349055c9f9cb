"""What the configuration files of adapters say: ranks, scales, which layers there are, names of tensors."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from models.bounds import Bounds
from models.lora.adapter import MAX_RANK, AdapterError
from models.transformer.adapted import Size

CONFIG_FILE, PEFT_CONFIG_FILE = "lora_config.json", "adapter_config.json"
DECODER_SWITCH = "enable_audio_vae_decoder"
DECODER_RANK, DECODER_ALPHA = "r_audio_vae_decoder", "alpha_audio_vae_decoder"
"""Of adapters that change the decoder, too; without them it has `r` and `alpha`. The package knows none."""
_DECODER_ROOT = "audio_vae."
DEFAULT_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj")
DEFAULT_RANK, DEFAULT_ALPHA, _PEFT_ALPHA = 8, 16, 8
"""What the package and PEFT take where a file says nothing."""
_FINITE = Bounds(-sys.float_info.max)
_PEFT_UNSERVED = (
    "use_dora",
    "fan_in_fan_out",
    "modules_to_save",
    "lora_bias",
    "megatron_config",
    "trainable_token_indices",
    "layer_replication",
    "alora_invocation_tokens",
    "arrow_config",
    "kasa_config",
    "monteclora_config",
    "use_bdlora",
    "use_qalora",
)
_PEFT_BEGINNINGS = (True, False, None, "gaussian", "eva", "orthogonal", "mica")
"""Values of `init_lora_weights` that leave the weights of the model. Others, as `pissa`, take from them what
the matrices begin with, unless PEFT was told to convert the adapter when it was saved."""
_PEFT_SOME_LAYERS = ("layers_to_transform", "layers_pattern", "exclude_modules", "target_parameters")


@dataclass(frozen=True)
class Layout:
    """How one adapter's tensors are to be read.

    key: a tensor's name -> (layer, "A" or "B"). expected: layers that have to be there; empty where the
    configuration does not tell. ranks, scales: of layers that differ from `rank` and `scale`.
    """

    key: re.Pattern[str]
    rank: int
    scale: float
    expected: frozenset[str] = frozenset()
    ranks: Mapping[str, int] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    base: str = ""
    base_digest: str = ""
    audio_vae_digest: str = ""

    def place(self, name: str) -> tuple[str, str] | None:
        """The layer that a tensor belongs to, and which of the two it is."""
        found = self.key.fullmatch(name)
        return (found["layer"], found["kind"]) if found else None

    def rank_of(self, layer: str) -> int:
        return self.ranks.get(layer, self.rank)


def package_layout(config: Mapping[str, Any], adaptable: Mapping[str, Size]) -> Layout:
    """Of the published package's `lora_config.json`. Raises AdapterError."""
    lora = config.get("lora_config", config)
    if not isinstance(lora, Mapping):
        raise AdapterError(f"lora_config of {CONFIG_FILE} is not an object")
    rank = _rank(lora.get("r", DEFAULT_RANK), "r")
    alpha = _number(lora.get("alpha", DEFAULT_ALPHA), "alpha")
    parts = {
        "enable_lm": ("target_modules_lm", ("base_lm.", "residual_lm.")),
        "enable_dit": ("target_modules_dit", ("feat_decoder.",)),
        "enable_proj": ("target_proj_modules", ("",)),
    }
    decoder = frozenset(layer for layer in adaptable if _of_decoder(layer))
    expected: set[str] = set(decoder) if lora.get(DECODER_SWITCH) else set()
    for switch, (targets, roots) in parts.items():
        if lora.get(switch):
            default = DEFAULT_TARGETS if switch != "enable_proj" else _projections(adaptable)
            names = _names(lora.get(targets, default), targets)
            expected |= {
                layer for layer in adaptable
                if layer.rpartition(".")[2] in names and _below(layer, roots)
            }  # fmt: skip
    if not expected:
        raise AdapterError(
            f"{CONFIG_FILE} enables nothing that this model has: {', '.join((*parts, DECODER_SWITCH))}"
        )
    of_decoder = expected & decoder
    decoder_rank = _rank(lora.get(DECODER_RANK, rank), DECODER_RANK)
    decoder_alpha = _number(lora.get(DECODER_ALPHA, alpha), DECODER_ALPHA)
    return Layout(
        re.compile(r"(?P<layer>.+)\.lora_(?P<kind>[AB])"),
        rank,
        alpha / rank,
        frozenset(expected),
        ranks=dict.fromkeys(of_decoder, decoder_rank),
        scales=dict.fromkeys(of_decoder, decoder_alpha / decoder_rank),
        base=str(config.get("base_model") or ""),
        base_digest=str(config.get("base_digest") or ""),
        audio_vae_digest=str(config.get("audio_vae_digest") or ""),
    )


def peft_layout(config: Mapping[str, Any], adaptable: Mapping[str, Size]) -> Layout:
    """Of PEFT's `adapter_config.json`. Raises AdapterError for more than LoRA, or for other layers."""
    if config.get("peft_type", "LORA") != "LORA":
        raise AdapterError(f"{PEFT_CONFIG_FILE} describes {config['peft_type']!r}, not LORA")
    unserved = [name for name in _PEFT_UNSERVED if config.get(name)]
    if config.get("bias", "none") != "none":
        unserved.append("bias")
    if (beginning := config.get("init_lora_weights", True)) not in _PEFT_BEGINNINGS:
        unserved.append(f"init_lora_weights {beginning!r}, which changes the model's own weights")
    if unserved:
        raise AdapterError(f"{PEFT_CONFIG_FILE} asks for what is not served: {', '.join(unserved)}")
    rank, alpha = _rank(config.get("r", DEFAULT_RANK), "r"), config.get("lora_alpha", _PEFT_ALPHA)
    alpha = _number(alpha, "lora_alpha")
    ranks = {
        layer: _rank(value, "rank_pattern")
        for layer, value in _patterned(config, "rank_pattern", adaptable).items()
    }
    alphas = _patterned(config, "alpha_pattern", adaptable)
    rooted = bool(config.get("use_rslora"))
    scales = {
        layer: _scale(_number(alphas.get(layer, alpha), "alpha_pattern"), ranks.get(layer, rank), rooted)
        for layer in ranks.keys() | alphas.keys()
    }
    return Layout(
        re.compile(r"(?:base_model\.model\.)?(?P<layer>.+)\.lora_(?P<kind>[AB])(?:\.default)?\.weight"),
        rank,
        _scale(alpha, rank, rooted),
        _peft_expected(config, adaptable),
        ranks,
        scales,
        base=str(config.get("base_model_name_or_path") or ""),
    )


def _peft_expected(config: Mapping[str, Any], adaptable: Mapping[str, Size]) -> frozenset[str]:
    targets = config.get("target_modules")
    if targets == "all-linear":
        layers = frozenset(layer for layer in adaptable if not _of_decoder(layer))
    elif targets is None or isinstance(targets, str):  # a regular expression
        return frozenset()
    else:
        names = _names(targets, "target_modules")
        layers = frozenset(layer for layer in adaptable if any(_ends_in(layer, name) for name in names))
    if not layers:
        raise AdapterError(f"target_modules of {PEFT_CONFIG_FILE} names no layer of this model")
    return frozenset() if any(config.get(name) for name in _PEFT_SOME_LAYERS) else layers


def _patterned(config: Mapping[str, Any], name: str, adaptable: Mapping[str, Size]) -> dict[str, Any]:
    """Values of `rank_pattern` and the like, per layer. Keys are ends of names, or whole names behind a `^`;
    the first that fits counts.

    PEFT also takes other regular expressions there. They are refused: a file from elsewhere would decide how
    long matching takes.
    """
    values = config.get(name) or {}
    if not isinstance(values, Mapping) or not all(re.fullmatch(r"\^?[\w.]+", key) for key in values):
        raise AdapterError(f"{name} of {PEFT_CONFIG_FILE} is not an object whose keys are names of layers")
    in_turn = reversed(values.items())
    return {layer: value for key, value in in_turn for layer in adaptable if _fits(layer, key)}


def _scale(alpha: float, rank: int, rooted: bool) -> float:
    return alpha / (math.sqrt(rank) if rooted else rank)


def _projections(adaptable: Mapping[str, Size]) -> tuple[str, ...]:
    return tuple(layer for layer in adaptable if "." not in layer)


def _of_decoder(layer: str) -> bool:
    return layer.startswith(_DECODER_ROOT)


def _below(layer: str, roots: tuple[str, ...]) -> bool:
    return any("." not in layer if not root else layer.startswith(root) for root in roots)


def _ends_in(layer: str, name: str) -> bool:
    return layer == name or layer.endswith(f".{name}")


def _fits(layer: str, key: str) -> bool:
    return layer == key[1:] if key.startswith("^") else _ends_in(layer, key)


def _names(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise AdapterError(f"{name} is not a list of names")
    return tuple(value)


def _rank(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_RANK:
        raise AdapterError(f"{name} is {value!r}, a rank is a number from 1 to {MAX_RANK}")
    return value


def _number(value: Any, name: str) -> float:
    if not _FINITE.hold(value):
        raise AdapterError(f"{name} is {value!r}, not a finite number")
    return float(value)
