"""What of VoxCPM an adapter can change: language models, DiT, the projections between them, and the decoder.

The published package trains the same layers but for the audio VAE's decoder. Local encoder, the VAE's encoder
and the stop head stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torch import Tensor

from engine.layers.low_rank import LowRank
from models.lora.adapter import Adapter
from models.lora.layout import Kind, SlotShape, rank_with_room
from models.lora.rows import LoadedAdapter
from models.transformer.adapted import Size, product_parts, stack_sizes, stack_weights
from models.transformer.stack import OUTPUT, PRODUCTS, QKV
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.model import DIT_STACK, PROJECTIONS, VoxCPMModel
from models.voxcpm.vae.adapted_decoder import adaptable_convolutions

if TYPE_CHECKING:
    from engine.scheduling.scheduler import Scheduler
    from models.lora.bank import AdapterBank
    from models.lora.early_copies import EarlyCopies
    from models.voxcpm.options import AdapterRoom

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
    sizes |= {
        name: size
        for name, size in projections.items()
        if name != "fusion_concat_proj" or config.concat_residual
    }
    return sizes | adaptable_convolutions(config.audio_vae_config)


def products(config: VoxCPMConfig) -> dict[str, list[dict[str, Size]]]:
    """By module that an adapter may change: its products in turn, as released name -> size of each part."""
    stacks = {
        "base_lm": config.lm_config,
        "residual_lm": config.residual_transformer(),
        DIT_STACK: config.dit_transformer(),
    }
    found = {
        module: [
            {f"{module}.layers.{place}.{name}": size for name, size in parts.items()}
            for place in range(shape.num_hidden_layers)
            for parts in product_parts(shape)
        ]
        for module, shape in stacks.items()
    }
    return found | {name: [{name: size}] for name, size in adaptable(config).items() if name in PROJECTIONS}


def slot_shape(config: VoxCPMConfig, room: AdapterRoom) -> SlotShape:
    """Slots for adapters of all layers, or of q, k, v and o, as the published package trains by default."""
    kinds = {
        (module, number % PRODUCTS)
        for module, numbered in products(config).items()
        for number in range(len(numbered))
        if room.layers == "all" or (module not in PROJECTIONS and number % PRODUCTS in (QKV, OUTPUT))
    }
    return SlotShape(rank_with_room(room.rank), frozenset(kinds))


def product_weights(model: VoxCPMModel) -> dict[Kind, Tensor]:
    """The weights of all `products` of a model of fused layers, as its steps read them."""
    from models.transformer.fused import fused_weights

    found = {
        (name, number): weight
        for name in (*LANGUAGE_MODELS, DIT_STACK)
        for number, weight in enumerate(fused_weights(model.get_submodule(name)))
    }
    projections = products(model.config).keys() & set(PROJECTIONS)
    return found | {(name, 0): model.get_submodule(name).weight for name in projections}


def make_bank(model: VoxCPMModel, room: AdapterRoom) -> AdapterBank:
    """Slots on the device of `model`, in its type. Raises RequestError where it has no room for them."""
    from models.lora.bank import AdapterBank

    config, like = model.config, model.base_lm.norm.weight
    bank = AdapterBank(products(config), like.dtype, like.device, room.slots, product_weights(model))
    bank.reserve(slot_shape(config, room))
    bank.renew()
    return bank


def make_early_copies(bank: AdapterBank | None, scheduler: Scheduler) -> EarlyCopies | None:
    """For the sequences of `scheduler`; None where adapters are not in slots."""
    if bank is None:
        return None
    from models.lora.early_copies import EarlyCopies

    return EarlyCopies(bank, scheduler)


def load_adapter(model: VoxCPMModel, adapter: Adapter) -> LoadedAdapter:
    """An adapter in the form of `model`, whose layers are plain or packed. Raises AdapterError."""
    return loaded(model, dict(adapter.scaled(model.base_lm.norm.weight.dtype)), adapter.digest)


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
