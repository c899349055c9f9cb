"""The last part of a step, patches -> VAE -> one output, beside the language models of the next step.

The next patch needs the last one, not its audio. So a patch program hands its patches over, and while they
become audio on a stream of their own the next program already runs:

    step n:       language models, flow matching | hand over
    step n + 1:                                  | language models, flow matching | hand over
    audio:                                         decode n, fetch n              | decode n + 1, ...

Decodes run one after the other, so they share their workspace and the decoder's states. Programs of the same
number of rows share one decode. The step's kernels go first, so that audio fills what they leave idle instead
of keeping them waiting: with 64 streams on an H200, 15.8 ms a step instead of 16.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from engine.device.cuda_graphs import Compute, GraphRecorder
from engine.device.side_stream import HandOver
from engine.device.staging import HostCopy, Readback
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.vae.waveform_streams import WaveformStreams

_HANDED_BESIDE_PATCHES = 3


class PatchShape(NamedTuple):
    """Patches to make and decode together, and whether some of them may begin a stream."""

    rows: int
    begins: bool


class WaveformPrograms:
    """Decodes of the given shapes at fixed addresses.

    Args:
        recorder: for these alone: they run at the same time as the graphs of others.
        report: is told what part is recorded, 0 to 1.

    Attributes:
        handed: [rows, P * D + 3] fp32, where a step leaves what is to be decoded, see `hand_over`.
    """

    def __init__(
        self,
        shapes: Iterable[PatchShape],
        streams: WaveformStreams,
        config: VoxCPMConfig,
        recorder: GraphRecorder,
        report: Callable[[float], None] = lambda share: None,
    ) -> None:
        self._streams = streams
        self._patch = (config.patch_size, config.feat_dim)
        self._size = config.patch_size * config.feat_dim
        ordered = sorted(set(shapes), reverse=True)
        handed = torch.zeros(
            ordered[0].rows, self._size + _HANDED_BESIDE_PATCHES, device=streams.latents.device
        )
        handed[:, -2:] = streams.spare_slot
        self.handed = handed
        self._hand_over = HandOver(handed, streams.side)
        with streams.side.on():
            width = self._size + config.patch_samples + 2
            self._readback = Readback(torch.zeros(len(handed), width, device=handed.device))
        self._launch: dict[PatchShape, Compute] = {}
        for done, shape in enumerate(ordered, start=1):
            with streams.side.on():
                self._launch[shape] = recorder.record(partial(self.compute, shape))
            report(done / len(ordered))

    def hand_over(self, patches: Tensor, stops: Tensor, slots: Tensor, begins: Tensor | None) -> None:
        """The end of a patch program, capturable.

        Args:
            patches: [N, P, D] fp32.
            stops: [N] integers, passed on.
            slots: [N] int64.
            begins: [N] int64, the slots among them whose stream begins here, the spare slot for others;
                None when none begins.
        """
        beside = torch.stack((stops, slots, slots if begins is None else begins), dim=1)
        torch.cat([patches.flatten(1), beside.float()], dim=1, out=self.handed[: len(patches)])

    @torch.inference_mode()
    def launch(self, shape: PatchShape, rows: int) -> HostCopy:
        """Decode what was handed over, and fetch the first `rows` rows of the output of `compute`."""
        self._hand_over.send(shape.rows)
        with self._streams.side.on():
            self._launch[shape]()
            return self._readback.take(rows)

    @torch.inference_mode()
    def compute(self, shape: PatchShape) -> None:
        """The decode itself; each output row is latents, audio, stop decision, peak of the audio."""
        handed = self._hand_over.target[: shape.rows]
        latents, decoder = handed[:, : self._size], self._streams.decoder
        stops = handed[:, -3:-2]
        slots, begins = handed[:, -2:].long().unbind(1)
        if shape.begins:
            decoder.reset(begins)
        audio = decoder.decode(latents.unflatten(1, self._patch).contiguous(), slots)
        peaks = torch.linalg.vector_norm(audio, ord=torch.inf, dim=1, keepdim=True)
        torch.cat([latents, audio, stops, peaks], dim=1, out=self._readback.source[: shape.rows])
