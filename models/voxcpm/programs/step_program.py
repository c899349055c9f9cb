"""One step of VoxCPM at fixed addresses and of a fixed shape, so that a CUDA graph can hold all of it.

    last patches and prompt positions -> embeddings -> language models -> flow matching -> patches

A program has room for `shape.attention.num_decodes` sequences that go on from their last patch, and for
`num_chunks` chunks of prompts, each of which ends in a first patch. What a batch leaves unused is padding,
whose results go to the spare slot; so does the patch of a chunk that is not the end of its prompt. Nothing of
a step visits the host but its inputs, one copy in, and its results, one copy out. The patches become audio
and results beside the next step (`models.voxcpm.programs.waveform_programs`):

    program.fill(decodes=[row, row], chunks=[])
    launched = program.launch(num_steps=10)       # the device works, the host goes on
    for result in launched.results(): ...         # latents, audio, stop decision of each row
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from engine.attention import AttentionBackend, AttentionBatch, PagedAttention, StepShape
from engine.kv_cache.pool import KVPool
from engine.staging import HostCopy, Staging
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.programs.waveform_programs import DecodeShape, WaveformPrograms
from models.voxcpm.prompt import key_patches
from models.voxcpm.waveform_streams import WaveformStreams

_ALIGNMENT = 64  # bytes


@dataclass(frozen=True)
class ProgramShape:
    """What a program has room for. `chunk_audio`: prompt positions may be audio, not text alone."""

    attention: StepShape
    num_steps: int
    """Of the flow solver, the same for all rows, where nobody asks for another."""
    chunk_audio: bool = False

    @property
    def num_rows(self) -> int:
        """Sequences that get a patch."""
        return self.attention.num_decodes + self.attention.num_chunks

    @property
    def decode(self) -> DecodeShape:
        """Of its patches to audio: chunks may begin streams."""
        return DecodeShape(self.num_rows, self.attention.num_chunks > 0)


class ProgramRow(NamedTuple):
    """One sequence of a step, as the host sees it."""

    start: int
    keys: list[int | bytes]
    """Of the positions to compute: one for a decode, the rest of the prompt for a chunk."""
    block_table: list[int]
    slot: int
    noise: np.ndarray | None = None
    """float32 [P, D], temperature included; None where the patch is not wanted."""
    cfg_value: float = 1.0
    fresh: bool = False
    """Of a chunk: its stream begins with this patch, whatever its slot holds."""


class ProgramResult(NamedTuple):
    """One row's patch: latents float32 [P, D], audio float32 [patch_samples], and whether it is the last."""

    latents: np.ndarray
    audio: np.ndarray
    stop: bool
    peak: float
    """Largest magnitude of the audio; NaN where latents are not finite."""


class Launched:
    """A step that is under way."""

    def __init__(self, outputs: HostCopy, rows: list[int], patch: tuple[int, int]) -> None:
        self._outputs, self._rows, self._patch = outputs, rows, patch
        self._results: list[ProgramResult] | None = None

    def results(self) -> list[ProgramResult]:
        """The rows that were filled in, in order; waits for the device."""
        if self._results is None:
            self._results = self._read(self._outputs.wait())
            self._outputs.give_back()
        return self._results

    def _read(self, values: np.ndarray) -> list[ProgramResult]:
        split = self._patch[0] * self._patch[1]
        latents, audio = values[:, :split].reshape(-1, *self._patch), values[:, split:-2]
        results = patch_results(latents, audio, values[:, -2], values[:, -1])
        return [results[row] for row in self._rows]


def patch_results(
    latents: np.ndarray, audio: np.ndarray, stops: np.ndarray, peaks: np.ndarray
) -> list[ProgramResult]:
    """Of latents [N, P, D], audio [N, samples], stops and peaks [N]; the results hold copies."""
    finite = np.isfinite(latents).all(axis=(1, 2))
    rows = zip(latents, audio, (stops != 0).tolist(), np.where(finite, peaks, np.nan).tolist(), strict=True)
    return [ProgramResult(row.copy(), samples.copy(), stop, peak) for row, samples, stop, peak in rows]


class StepProgram:
    """See the module. Programs that share `streams` or `waveforms` must not run at the same time."""

    def __init__(
        self,
        shape: ProgramShape,
        model: VoxCPMModel,
        solver: FlowSolver,
        streams: WaveformStreams,
        backend: AttentionBackend,
        pool: KVPool,
        waveforms: WaveformPrograms,
    ) -> None:
        self.shape = shape
        self._model, self._solver, self._streams, self._backend = model, solver, streams, backend
        config = model.config
        self.patch = (config.patch_size, config.feat_dim)
        self._dtype = model.base_lm.norm.weight.dtype
        self._device = streams.latents.device
        self._metadata = backend.buffers(shape.attention)
        self._attention = PagedAttention(backend, pool, self._metadata)
        self._storage, self._inputs = _allocate(_fields(shape, self.patch), self._device)
        self._staging = Staging(self._storage)
        self._hosts = [
            {name: view.numpy() for name, view in _views(host, _fields(shape, self.patch)).items()}
            for host in self._staging.hosts
        ]
        self._waveforms = waveforms
        self._filled: list[int] = []
        self._launch: Callable[[], None] = self.compute
        self.fill([])

    def use(self, launch: Callable[[], None]) -> None:
        """Let `launch`, a recording of `compute`, run in its place."""
        self._launch = launch

    def fill(self, decodes: Rows[ProgramRow], chunks: Rows[ProgramRow] = ()) -> None:
        """Lay a batch into the inputs. Raises EngineError when it does not fit."""
        rows = [*decodes, *chunks]
        first_chunk = self.shape.attention.num_decodes
        self._filled = [*range(len(decodes)), *range(first_chunk, first_chunk + len(chunks))]
        batch = AttentionBatch(
            [row.start for row in rows], [len(row.keys) for row in rows], [row.block_table for row in rows]
        )
        self._backend.plan(batch, out=self._metadata)
        host = self._hosts[self._staging.take()]
        host["slots"][:] = self._streams.spare_slot
        for place, row in zip(self._filled, rows, strict=True):
            host["slots"][place] = row.slot
            if row.noise is not None:
                host["noise"][place] = row.noise
                host["cfg_values"][place] = row.cfg_value
        host["positions"][: len(decodes)] = [row.start for row in decodes]
        if self.shape.attention.num_chunks:
            self._fill_chunks(host, chunks)
        self._staging.send()

    def _fill_chunks(self, host: dict[str, np.ndarray], rows: Rows[ProgramRow]) -> None:
        decodes, begin = self.shape.attention.num_decodes, 0
        host["last"][:] = decodes  # what rows without a chunk compute goes to the spare slot
        host["fresh"][:] = self._streams.spare_slot
        for chunk, row in enumerate(rows):
            end = begin + len(row.keys)
            host["positions"][decodes + begin : decodes + end] = np.arange(row.start, row.start + end - begin)
            host["last"][chunk] = decodes + end - 1
            if row.fresh:
                host["fresh"][decodes + chunk] = row.slot
            host["token_ids"][begin:end] = [0 if isinstance(key, bytes) else key for key in row.keys]
            if self.shape.chunk_audio:
                is_audio = np.array([isinstance(key, bytes) for key in row.keys])
                host["is_audio"][begin:end] = is_audio
                patches = key_patches([key for key in row.keys if isinstance(key, bytes)], *self.patch)
                host["audio"][begin:end][is_audio] = patches
            begin = end

    @torch.inference_mode()
    def launch(self, num_steps: int) -> Launched:
        """Compute what was filled in; returns before the device is done.

        A number of solver steps that is not the program's own is computed unrecorded, by kernels that were
        launched before.
        """
        if num_steps == self.shape.num_steps:
            self._launch()
        else:
            self.compute(num_steps)
        num_rows = max(self._filled, default=-1) + 1
        return Launched(self._waveforms.launch(self.shape.decode, num_rows), self._filled, self.patch)

    @torch.inference_mode()
    def compute(self, num_steps: int | None = None) -> None:
        """The step itself up to its patches: tensors in, tensors out, no word with the host."""
        inputs, model, latents = self._inputs, self._model, self._streams.latents
        slots = inputs["slots"]
        if self.shape.attention.num_chunks:
            latents.index_fill_(0, inputs["fresh"], 0.0)
        last = latents[slots]
        embeds, audio_embeds, mask = self._embed(last[: self.shape.attention.num_decodes])
        hidden, residual = model.run_language_models(
            embeds, audio_embeds, mask, inputs["positions"], self._attention
        )
        if self.shape.attention.num_chunks:
            decodes = self.shape.attention.num_decodes
            hidden, residual = (
                torch.cat([part[:decodes], part[inputs["last"]]]) for part in (hidden, residual)
            )
        stops = model.stop_logits(hidden).argmax(-1)
        mu = model.dit_condition(hidden, residual)
        guidance = inputs["cfg_values"][:, None, None]
        patches = self._solver.solve(
            inputs["noise"], mu, last.to(self._dtype), num_steps or self.shape.num_steps, guidance
        )
        latents[slots] = patches
        self._waveforms.hand_over(patches, stops, slots, inputs.get("fresh"))

    def _embed(self, last: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Embeddings of all positions, the same with zeros at text, and which are audio (None: all)."""
        model, inputs = self._model, self._inputs
        decodes = model.encode_patches(last.to(self._dtype)) if len(last) else None
        if not self.shape.attention.num_chunk_tokens:
            return decodes, decodes, None
        embeds = model.embed_text(inputs["token_ids"]).to(self._dtype)
        audio = torch.zeros_like(embeds)
        mask = torch.zeros_like(inputs["token_ids"], dtype=torch.bool)[:, None]
        if self.shape.chunk_audio:
            mask = inputs["is_audio"][:, None]
            audio = torch.where(mask, model.encode_patches(inputs["audio"].to(self._dtype)), audio)
            embeds = torch.where(mask, audio, embeds)
        if decodes is None:
            return embeds, audio, mask
        always = torch.ones_like(mask[:1]).expand(len(decodes), 1)
        return torch.cat([decodes, embeds]), torch.cat([decodes, audio]), torch.cat([always, mask])


def _fields(shape: ProgramShape, patch: tuple[int, int]) -> dict[str, tuple[torch.dtype, tuple[int, ...]]]:
    rows, chunks, tokens = shape.num_rows, shape.attention.num_chunks, shape.attention.num_chunk_tokens
    fields: dict[str, tuple[torch.dtype, tuple[int, ...]]] = {
        "slots": (torch.int64, (rows,)),
        "positions": (torch.int64, (shape.attention.num_tokens,)),
        "noise": (torch.float32, (rows, *patch)),
        "cfg_values": (torch.float32, (rows,)),
    }
    if tokens:
        fields |= {"last": (torch.int64, (chunks,)), "fresh": (torch.int64, (rows,))}
        fields |= {"token_ids": (torch.int64, (tokens,))}
    if shape.chunk_audio:
        fields |= {"is_audio": (torch.bool, (tokens,)), "audio": (torch.float32, (tokens, *patch))}
    return fields


def _allocate(fields: dict[str, Any], device: torch.device) -> tuple[Tensor, dict[str, Tensor]]:
    """One tensor of bytes on the device, and the fields as views of it."""
    total = sum(_padded(dtype.itemsize * int(np.prod(size))) for dtype, size in fields.values())
    storage = torch.zeros(total, dtype=torch.uint8, device=device)
    return storage, _views(storage, fields)


def _views(storage: Tensor, fields: dict[str, Any]) -> dict[str, Tensor]:
    views, begin = {}, 0
    for name, (dtype, size) in fields.items():
        num_bytes = dtype.itemsize * int(np.prod(size))
        views[name] = storage[begin : begin + num_bytes].view(dtype).view(size)
        begin += _padded(num_bytes)
    return views


def _padded(num_bytes: int) -> int:
    return -(-num_bytes // _ALIGNMENT) * _ALIGNMENT
