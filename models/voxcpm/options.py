"""What may be chosen when an engine is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from engine.attention.selection import BACKENDS
from engine.config import BringBack, Graphs
from engine.errors import OptionsError
from engine.kv_cache.sizing import HOST_SHARE
from models.bounds import Bounds, check_choices, check_numbers, check_switches
from models.lora.adapter import MAX_RANK
from models.speech import MOST_CHARACTERS
from models.voxcpm.requests.generation import MIN_STOP_INDEX

BATCHED_TOKENS, BATCHED_TOKENS_OF_CUDA = 2048, 4096
"""`max_num_batched_tokens` where nobody says; the largest language program takes as many as that."""

AdapterLayers = Literal["all", "attention"]
_COUNTS = (
    "max_num_seqs", "max_model_len", "block_size", "kv_blocks", "max_num_batched_tokens",
    "max_prefill_tokens", "max_decodes", "threads", "max_adapters", "adapter_slots",
)  # fmt: skip
_BOUNDS = dict.fromkeys(_COUNTS, Bounds(1, whole=True)) | {
    "kv_host_gib": Bounds(0),
    "kv_host_share": Bounds(0, 1, above=True),
    "typical_seconds": Bounds(0, above=True),
    "max_step_seconds": Bounds(0, above=True),
    "max_text_characters": Bounds(1, MOST_CHARACTERS, whole=True),
    "part_characters": Bounds(1, MOST_CHARACTERS, whole=True),
    "gpu_memory_utilization": Bounds(0, 1, above=True),
    "min_stop_index": Bounds(0, whole=True),
    "adapter_rank": Bounds(1, MAX_RANK, whole=True),
}
_CHOICES = {
    "kv_bring_back": get_args(BringBack),
    "graphs": get_args(Graphs),
    "attention_backend": ("auto", *BACKENDS),
    "adapter_layers": get_args(AdapterLayers),
}
DEFAULT_ADAPTER_RANK = 32
ADAPTER_SLOTS = 8
"""The `adapter_slots` of an engine that is loaded for a service or from Python."""


class AdapterRoom(NamedTuple):
    """Slots on a GPU, and what each has room for from the start."""

    slots: int
    rank: int
    layers: AdapterLayers


@dataclass(frozen=True)
class EngineOptions:
    """Sizes and switches of one engine.

    Attributes:
        max_num_seqs: requests that are spoken at once.
        max_model_len: positions of the longest request; None takes the model's.
        block_size: positions in a block of the KV cache.
        kv_blocks: blocks of the KV cache; None sizes it so that `max_num_seqs` sequences of `typical_seconds`
            of speech fit, and at least one of full length; on CUDA no more than fits into the free memory.
            Fewer than a full length takes make every sequence as short as that.
        kv_host_gib: memory of the host for blocks that the device forgets; None takes, beside a GPU, up to
            `kv_host_share` of what is available.
        kv_bring_back: see `engine.config.EngineConfig`.
        max_num_batched_tokens: positions in a step; None is 4096 on CUDA, 2048 elsewhere.
        max_prefill_tokens: positions of prompts in a step that streams take part in.
        max_decodes, max_step_seconds: streams in a step, and time for them; None is no limit.
        gpu_memory_utilization: share of a GPU's memory that may be used in all; with `kv_blocks` no bound.
        part_characters: longer text is spoken in parts; None leaves it to the checkpoint.
        graphs: "auto" records steps as CUDA graphs where there is CUDA, "off" never does, "static" runs the
            same programs unrecorded, on any device.
        silence_guard: end a clip that has gone silent.
        ratio_cap: end a clip that is longer than its text can reasonably need.
        min_stop_index: a clip ends only after the patch with this index.
        threads: of a CPU, at most; None takes `engine.cpu.cpus.thread_limit` of one engine.
        max_adapters: adapters that are loaded at once.
        adapter_slots: adapters that are on a GPU at once, while the others wait on the host; None takes none
            on a GPU.
        adapter_rank, adapter_layers: what a GPU computes for adapters of up to this rank (None: 32), of "all"
            layers (None) or of q, k, v and o ("attention"), is recorded at the start. What an adapter needs
            beyond that is recorded when the first request names it, while all streams wait.

    Raises:
        OptionsError: naming the option that is out of range.
    """

    max_num_seqs: int = 8
    max_model_len: int | None = None
    block_size: int = 16
    kv_blocks: int | None = None
    kv_host_gib: float | None = 0.0
    kv_host_share: float = HOST_SHARE
    kv_bring_back: BringBack = "auto"
    typical_seconds: float = 60.0
    max_num_batched_tokens: int | None = None
    max_prefill_tokens: int = 512
    max_decodes: int | None = None
    max_step_seconds: float | None = None
    max_text_characters: int = 4096
    gpu_memory_utilization: float = 1.0
    part_characters: int | None = None
    enable_prefix_caching: bool = True
    attention_backend: str = "auto"
    graphs: Graphs = "auto"
    silence_guard: bool = True
    ratio_cap: bool = True
    min_stop_index: int = MIN_STOP_INDEX
    threads: int | None = None
    max_adapters: int = 64
    adapter_slots: int | None = None
    adapter_rank: int | None = None
    adapter_layers: AdapterLayers | None = None

    def __post_init__(self) -> None:
        check_numbers(self, _BOUNDS)
        check_choices(self, _CHOICES)
        check_switches(self)
        for name in ("adapter_rank", "adapter_layers"):
            if getattr(self, name) is not None and self.adapter_slots is None:
                raise OptionsError(f"{name} needs adapter_slots, without which a GPU takes no adapters")

    @property
    def adapter_room(self) -> AdapterRoom | None:
        """What a GPU has for adapters; None where it takes none."""
        if self.adapter_slots is None:
            return None
        rank, layers = self.adapter_rank or DEFAULT_ADAPTER_RANK, self.adapter_layers or "all"
        return AdapterRoom(self.adapter_slots, rank, layers)

    def batched_tokens(self, device: str) -> int:
        """`max_num_batched_tokens` on a device of this type. Raises OptionsError."""
        tokens = self.max_num_batched_tokens
        if tokens is None:
            tokens = BATCHED_TOKENS_OF_CUDA if device == "cuda" else BATCHED_TOKENS
        if tokens < self.max_num_seqs:
            raise OptionsError(
                f"max_num_batched_tokens is {tokens} on {device}, below the {self.max_num_seqs} sequences "
                "(slots of a worker) that a step must be able to serve"
            )
        return tokens
