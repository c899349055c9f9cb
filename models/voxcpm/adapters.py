"""What of VoxCPM an adapter can change: both language models, the DiT, and the projections between them.

The published package trains the same layers. Local encoder, audio VAE and stop head stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.layers.low_rank import LowRank
from models.lora.adapter import Adapter
from models.lora.rows import LoadedAdapter
from models.transformer.adapted import Size, stack_sizes, stack_weights
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.model import DIT_STACK, PROJECTIONS, VoxCPMModel

LANGUAGE_MODELS = ("base_lm", "residual_lm")


def adaptable(config: VoxCPMConfig) -> dict[str, Size]:
    """Released name -> size of every layer that an adapter may have."""
    hidden, dit_hidden = config.lm_config.hidden_size, config.dit_config.hidden_dim
    projections = {
        "enc_to_lm_proj": (hidden, config.encoder_config.hidden_dim),
        "lm_to_dit_proj": (dit_hidden, hidden),
        "res_to_dit_proj": (dit_hidden, hidden),
        "fusion_concat_proj": (hidden, 2 * hidden),
    }
    sizes = stack_sizes(config.lm_config, "base_lm.")
    sizes |= stack_sizes(config.residual_transformer(), "residual_lm.")
    sizes |= stack_sizes(config.dit_transformer(), f"{DIT_STACK}.")
    return sizes | {
        name: size
        for name, size in projections.items()
        if name != "fusion_concat_proj" or config.concat_residual
    }


def load_adapter(model: VoxCPMModel, adapter: Adapter) -> LoadedAdapter:
    """An adapter in the form of `model`, whose layers are plain or packed."""
    return loaded(model, dict(adapter.scaled()), adapter.digest)


def loaded(model: VoxCPMModel, layers: Mapping[str, LowRank], digest: str = "") -> LoadedAdapter:
    """Layers, with the scale in their `up`, in the form of `model`. Gradients flow back to them."""
    like = model.base_lm.norm.weight
    modules = {}
    for name in (*LANGUAGE_MODELS, DIT_STACK):
        prefix = f"{name}."
        pieces = {key.removeprefix(prefix): layer for key, layer in layers.items() if key.startswith(prefix)}
        if pieces:
            modules[name] = stack_weights(model.get_submodule(name), pieces)
    for name in PROJECTIONS:
        if name in layers:
            modules[name] = [tensor.to(like) for tensor in layers[name]]
    return LoadedAdapter(digest, modules, like.device)
