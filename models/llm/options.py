"""What may be chosen when the engine of a text model is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.config import BringBack
from engine.kv_cache.sizing import HOST_SHARE


@dataclass(frozen=True)
class TextOptions:
    """Sizes of one engine. max_model_len: None takes the model's, or less where there is room for less.

    kv_blocks: None takes as many as there is room for, up to `max_num_seqs` sequences of full length.
    kv_host_gib: memory of the host for blocks that the device forgets; None takes, beside a GPU, up to
    `kv_host_share` of what is available. kv_bring_back: see `engine.config.EngineConfig`.
    max_prefill_tokens: of a step that also decodes. gpu_memory_utilization: share of a GPU's memory that may
    be used in all. kv_offload: all keys and values live on the host (`engine.attention.streamed`), in
    `kv_host_gib` or, where that is 0, half of what is available; `gpu_kv_blocks` pass through the device, of
    one layer at a time, 2 at least; steps are not recorded then. graphs: "auto" records steps as CUDA graphs
    where there is CUDA, "off" never does,
    "static" runs the same programs unrecorded, on any device with Triton. threads: of a CPU; None takes
    what `engine.cpu.cpus.thread_limit` finds for one engine.
    """

    max_num_seqs: int = 64
    max_model_len: int | None = None
    block_size: int = 64
    kv_blocks: int | None = None
    kv_host_gib: float | None = 0.0
    kv_host_share: float = HOST_SHARE
    kv_bring_back: BringBack = "auto"
    max_num_batched_tokens: int = 16384
    max_prefill_tokens: int = 2048
    gpu_memory_utilization: float = 0.9
    enable_prefix_caching: bool = True
    kv_offload: bool = False
    gpu_kv_blocks: int | None = None
    attention_backend: str = "auto"
    graphs: Literal["auto", "off", "static"] = "auto"
    threads: int | None = None
