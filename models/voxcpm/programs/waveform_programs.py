"""The last part of a step, patches -> VAE -> one output, beside the language models of the next step.

The next patch needs the last one, not its audio. So a patch program hands its patches over, and while they
become audio on a stream of their own the next program already runs:

    step n:       language models, flow matching | hand over
    step n + 1:                                  | language models, flow matching | hand over
    audio:                                         decode n, fetch n              | decode n + 1, ...

Decodes run one after the other, so they share their workspace and the decoder's states. Programs of the same
number of rows share one decode. The step's kernels go first, so that audio fills what they leave idle instead
of keeping them waiting: with 64 streams on an H200, 15.8 ms a step instead of 16.3.

Rows with a decoder of their own, that of an adapter, are decoded behind all others, by a decode that is told
where the weights of each row are. The first decode takes them for padding, so that the others keep every bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from engine.device.cuda_graphs import Compute, GraphRecorder
from engine.device.side_stream import HandOver
from engine.device.staging import HostCopy, Readback
from engine.programs.inputs import Inputs
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.vae.streaming_vae import StreamingDecoder
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
        adapted: whether rows may have decoders of their own.

    Attributes:
        handed: [rows + 1, P * D + 3] fp32, where a step leaves what is to be decoded, see `hand_over`; the
            last row is nobody's.
    """

    def __init__(
        self,
        shapes: Iterable[PatchShape],
        streams: WaveformStreams,
        config: VoxCPMConfig,
        recorder: GraphRecorder,
        report: Callable[[float], None] = lambda share: None,
        adapted: bool = False,
    ) -> None:
        self._streams = streams
        self._patch = (config.patch_size, config.feat_dim)
        self._size = config.patch_size * config.feat_dim
        ordered = sorted(set(shapes), reverse=True)
        self._nobody = ordered[0].rows
        handed = torch.zeros(
            self._nobody + 1, self._size + _HANDED_BESIDE_PATCHES, device=streams.latents.device
        )
        handed[:, -2:] = streams.spare_slot
        self.handed = handed
        self._hand_over = HandOver(handed, streams.side)
        with streams.side.on():
            width = self._size + config.patch_samples + 2
            self._readback = Readback(torch.zeros(len(handed), width, device=handed.device))
            self._slots = handed[:, -2].long()
            of_each = (torch.int64, (self._nobody,))
            self._own = Inputs({"rows": of_each, "ways": of_each}, handed.device)
        self._sizes = sorted({shape.rows for shape in ordered}) if adapted else []
        self._launch: dict[PatchShape, Compute] = {}
        self._launch_own: dict[int, Compute] = {}
        count = len(ordered) + len(self._sizes)
        for done, shape in enumerate(ordered, start=1):
            with streams.side.on():
                self._launch[shape] = recorder.record(partial(self.compute, shape))
            report(done / count)
        for done, size in enumerate(reversed(self._sizes), start=1 + len(ordered)):
            with streams.side.on():
                self._launch_own[size] = recorder.record(partial(self.compute_own, size))
            report(done / count)

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
    def launch(self, shape: PatchShape, decoders: Sequence[StreamingDecoder | None]) -> HostCopy:
        """Decode what was handed over, and fetch as many rows of the output of `compute` as `decoders` names.

        decoders: of each row its own, None where the model's serves it.
        """
        self._hand_over.send(shape.rows)
        with self._streams.side.on():
            if any(decoders):
                self._launch_adapted(shape, decoders)
            else:
                self._launch[shape]()
            return self._readback.take(len(decoders))

    def _launch_adapted(self, shape: PatchShape, decoders: Sequence[StreamingDecoder | None]) -> None:
        handed, count = self._hand_over.target[: shape.rows], len(decoders) - decoders.count(None)
        self._send_own(decoders)
        self._slots[: shape.rows].copy_(handed[:, -2])
        if count < len(decoders):
            own = self._hand_over.target[:, -2]
            own.index_fill_(0, self._own["rows"], self._streams.spare_slot)
            self._launch[shape]()
        elif shape.begins:
            self._streams.decoder.reset(handed[:, -1].long())
        self._launch_own[next(size for size in self._sizes if size >= count)]()

    def _send_own(self, decoders: Sequence[StreamingDecoder | None]) -> None:
        """Which rows have decoders of their own, and the ways to these."""
        host, way_to = self._own.take(), self._streams.decoder.way_to
        own = [(row, way_to(decoder)) for row, decoder in enumerate(decoders) if decoder is not None]
        host["rows"][:], host["ways"][:] = self._nobody, 0
        host["rows"][: len(own)], host["ways"][: len(own)] = zip(*own, strict=True)
        self._own.send()

    @torch.inference_mode()
    def compute(self, shape: PatchShape) -> None:
        """The decode itself; each output row is latents, audio, stop decision, peak of the audio."""
        handed = self._hand_over.target[: shape.rows]
        latents, decoder = handed[:, : self._size], self._streams.decoder
        slots, begins = handed[:, -2:].long().unbind(1)
        if shape.begins:
            decoder.reset(begins)
        audio = decoder.decode(latents.unflatten(1, self._patch).contiguous(), slots)
        torch.cat(self._output(handed, audio), dim=1, out=self._readback.source[: shape.rows])

    @torch.inference_mode()
    def compute_own(self, size: int) -> None:
        """The decode of up to so many rows that have decoders of their own."""
        rows, ways = self._own["rows"][:size], self._own["ways"][:size]
        handed, slots = self._hand_over.target[rows], self._slots[rows]
        latents = handed[:, : self._size].unflatten(1, self._patch).contiguous()
        audio = self._streams.decoder.decode(latents, slots, ways)
        self._readback.source.index_copy_(0, rows, torch.cat(self._output(handed, audio), dim=1))

    def _output(self, handed: Tensor, audio: Tensor) -> list[Tensor]:
        peaks = torch.linalg.vector_norm(audio, ord=torch.inf, dim=1, keepdim=True)
        return [handed[:, : self._size], audio, handed[:, -3:-2], peaks]
