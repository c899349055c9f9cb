"""Configuration of a VoxCPM checkpoint, as its `config.json` states it.

One set of dataclasses serves VoxCPM-0.5B, VoxCPM1.5 and VoxCPM2; the generations differ only in
values (`VoxCPMConfig.concat_residual`, `two_condition_tokens`, ...), never in code. Example:

    config = VoxCPMConfig.from_dict(json.loads(Path("config.json").read_text()))
    config.dit_transformer().num_attention_heads

checkpoint.py   the whole, and how its file is read
transformer.py  sizes of the language models, the local encoder and the DiT
audio_vae.py    sizes of the audio VAE
"""

from models.voxcpm.config.audio_vae import AudioVAEConfig
from models.voxcpm.config.checkpoint import VoxCPMConfig
from models.voxcpm.config.transformer import RopeScaling, TransformerConfig

__all__ = ["AudioVAEConfig", "RopeScaling", "TransformerConfig", "VoxCPMConfig"]
