"""VoxCPM: text to speech, autoregressive over patches of audio latents.

`from models.voxcpm import VoxCPM` gives the engine as a Python object; the import itself is light.

api.py            that object
speech_stream.py  what its `generate` returns
pool/             several devices behind that object
engine.py         requests in, patches of audio out
loading.py        an engine loaded and warmed up, over one rank or several
options.py        what may be chosen when an engine is built
description.py    what an engine says of the model it serves
runner.py         one call computes one step of a mixed batch
config/           a checkpoint's `config.json`
checkpoint.py     a checkpoint on disk, and its loading
model.py          the network, but for the audio VAE
flow_matching.py  its solver: noise to a patch of latents
noise.py          the noise a patch starts from
kv_sizing.py      how many blocks of KV cache there are
adapters.py       what of the model an adapter can change
merging.py        a checkpoint with an adapter merged into it
parity.py         the model beside the published package
requests/         how a request becomes a sequence, and when its clip ends
vae/              waveform to latents and back, at once and as a stream
steps/            what runs in a step
programs/         steps at fixed addresses, recorded as CUDA graphs
parallel/         the model shared out among processes
fused/            the network's form on a GPU, kernel by kernel
watch/            what counts as speech that went wrong
finetuning/       how a voice is learnt from recordings
training/         how the bundled voice is trained from nothing
bundled/          that voice
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.cpu.cpus import bound_shape_caches, give_way_while_waiting

give_way_while_waiting()
bound_shape_caches()

if TYPE_CHECKING:
    from models.voxcpm.api import VoxCPM

__all__ = ["VoxCPM"]


def __getattr__(name: str) -> Any:
    if name == "VoxCPM":
        from models.voxcpm.api import VoxCPM

        return VoxCPM
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
