"""Attention over the paged KV cache: one interface, one backend per file.

backend.py          the interface
selection.py        which backend serves a device; measure.py: how long one takes
sdpa.py             any device: pages gathered for PyTorch's attention
halved.py           decodes in bf16 on a CPU
paged.py            what the backends share whose kernels follow block tables
metadata.py         what such kernels are told of a step, at fixed addresses
triton_backend/     Triton, for any block size
flash.py            flash-attn
torch_varlen.py     PyTorch's own `varlen_attn`
whole_contexts.py   chunks of prompts by kernels that take contexts in one piece
streamed.py         keys and values that all live on the host
"""

from engine.attention.backend import AttentionBackend, AttentionBatch, PagedAttention, StepShape
from engine.attention.selection import select_backend

__all__ = ["AttentionBackend", "AttentionBatch", "PagedAttention", "StepShape", "select_backend"]
