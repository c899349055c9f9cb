"""Attention over the paged KV cache: one interface, one implementation per file."""

from engine.attention.backend import AttentionBackend, AttentionBatch, PagedAttention, select_backend

__all__ = ["AttentionBackend", "AttentionBatch", "PagedAttention", "select_backend"]
