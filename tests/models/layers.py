"""Layers of a decoder that engines of one checkpoint share, within a test's process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from models.voxcpm.vae.audio_vae import AudioVAE
from models.voxcpm.vae.streaming_layers import WindowState
from models.voxcpm.vae.streaming_vae import StreamingDecoder


def built_once() -> Callable[[StreamingDecoder, AudioVAE], list[WindowState]]:
    """In place of `StreamingDecoder._build_layers`: layers remember nothing themselves, and TorchScript takes
    a third of a second for them, most of what an engine of a small checkpoint costs."""
    build = StreamingDecoder._build_layers
    built = WeakKeyDictionary[AudioVAE, tuple[Any, list[WindowState]]]()

    def build_once(decoder: StreamingDecoder, vae: AudioVAE) -> list[WindowState]:
        if vae not in built:
            states = build(decoder, vae)
            built[vae] = decoder._chain, states
        decoder._chain, states = built[vae]
        return [WindowState(state.length, state.channels) for state in states]

    return build_once
