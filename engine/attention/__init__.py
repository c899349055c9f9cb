"""Attention over the paged KV cache: one interface, one implementation per file."""

from engine.attention.backend import AttentionBackend, AttentionBatch, PagedAttention, StepShape
from engine.attention.selection import select_backend

__all__ = ["AttentionBackend", "AttentionBatch", "PagedAttention", "StepShape", "select_backend"]
