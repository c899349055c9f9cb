"""What may be chosen when the engine of a text model is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from engine.attention.selection import BACKENDS
from engine.config import BringBack, Graphs
from engine.errors import OptionsError
from engine.kv_cache.sizing import HOST_SHARE
from models.bounds import Bounds, check_choices, check_known, check_numbers, check_switches

_COUNTS = (
    "max_num_seqs", "max_model_len", "block_size", "kv_blocks", "max_num_batched_tokens",
    "max_prefill_tokens", "threads",
)  # fmt: skip
BATCHED_TOKENS, BATCHED_TOKENS_OF_CUDA = 2048, 16384
PREFILL_TOKENS, PREFILL_TOKENS_OF_CUDA = 512, 2048
"""A CPU computes some hundred positions of a small model in a second. Nobody is heard during a step, and one
that takes minutes counts as a device that hangs."""
_BOUNDS = dict.fromkeys(_COUNTS, Bounds(1, whole=True)) | {
    "kv_host_gib": Bounds(0),
    "kv_host_share": Bounds(0, 1, above=True),
    "gpu_memory_utilization": Bounds(0, 1, above=True),
    "gpu_kv_blocks": Bounds(0, whole=True),
}
_CHOICES = {
    "graphs": get_args(Graphs),
    "kv_bring_back": get_args(BringBack),
    "attention_backend": ("auto", *BACKENDS),
}
NANO_VLLM_NAMES = {
    "kvcache_block_size": "block_size",
    "num_kvcache_blocks": "kv_blocks",
    "enable_cpu_offload": "kv_offload",
    "num_gpu_blocks": "gpu_kv_blocks",
}
"""What nano-vllm, and forks of it that keep keys and values on the host, call some of the options."""
_CHOSEN_BY_ITSELF = -1
"""As numbers of blocks, nano-vllm's None."""


@dataclass(frozen=True)
class TextOptions:
    """Sizes and switches of one engine.

    Attributes:
        max_num_seqs: answers that are written at once.
        max_model_len: positions of the longest sequence; None takes the model's, or less where there is room
            for less.
        block_size: positions in a block of the KV cache.
        kv_blocks: blocks of the KV cache; None takes as many as there is room for, up to `max_num_seqs`
            sequences of full length.
        kv_host_gib: memory of the host for blocks that the device forgets; None takes, beside a GPU, up to
            `kv_host_share` of what is available.
        kv_bring_back: see `engine.config.EngineConfig`.
        max_num_batched_tokens: positions in a step; None is 16384 on CUDA, 2048 elsewhere.
        max_prefill_tokens: positions of prompts in a step that also decodes; None is 2048 on CUDA, 512
            elsewhere.
        gpu_memory_utilization: share of a GPU's memory that may be used in all.
        kv_offload: all keys and values live on the host (`engine.attention.streamed`), in `kv_host_gib` or,
            without one, twice `kv_host_share` (half) of what is available. Steps are not recorded then.
        gpu_kv_blocks: blocks of one layer at a time that pass through the device then, 2 at least.
        graphs: "auto" records steps as CUDA graphs where there is CUDA, "off" never does, "static" runs the
            same programs unrecorded, on any device with Triton.
        threads: of a CPU; None takes what `engine.cpu.cpus.thread_limit` finds for one engine.

    Raises:
        OptionsError: naming the option that is out of range.
    """

    max_num_seqs: int = 64
    max_model_len: int | None = None
    block_size: int = 64
    kv_blocks: int | None = None
    kv_host_gib: float | None = 0.0
    kv_host_share: float = HOST_SHARE
    kv_bring_back: BringBack = "auto"
    max_num_batched_tokens: int | None = None
    max_prefill_tokens: int | None = None
    gpu_memory_utilization: float = 0.9
    enable_prefix_caching: bool = True
    kv_offload: bool = False
    gpu_kv_blocks: int | None = None
    attention_backend: str = "auto"
    graphs: Graphs = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        check_numbers(self, _BOUNDS)
        check_choices(self, _CHOICES)
        check_switches(self)

    def batched_tokens(self, device: str) -> int:
        """`max_num_batched_tokens` on a device of this type, and no fewer than sequences."""
        usual = BATCHED_TOKENS_OF_CUDA if device == "cuda" else BATCHED_TOKENS
        return max(self.max_num_batched_tokens or usual, self.max_num_seqs)

    def prefill_tokens(self, device: str) -> int:
        """`max_prefill_tokens` on a device of this type."""
        return self.max_prefill_tokens or (PREFILL_TOKENS_OF_CUDA if device == "cuda" else PREFILL_TOKENS)


def text_options(**given: Any) -> TextOptions:
    """Options by their names here or in nano-vllm. Raises OptionsError naming one that there is not."""
    options: dict[str, Any] = {}
    for name, value in given.items():
        own = NANO_VLLM_NAMES.get(name, name)
        if own != name and own in given:
            raise OptionsError(f"{own} is given twice, also as {name}")
        options[own] = None if own != name and value == _CHOSEN_BY_ITSELF else value
    check_known(options, TextOptions)
    return TextOptions(**options)
