"""The paged key/value store of one device: one tensor, allocated once, addressed by block number.

Block b of layer l holds keys `pool.tensor[l, 0, b]` and values `pool.tensor[l, 1, b]`, each [block_size,
heads, head_dim]. Who owns which block is the business of `block_manager.py`; the pool only sizes and
holds memory. A pool of 256 blocks of 16 positions with 12 layers, 2 heads of 64 in fp32 takes 48 MiB.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.errors import EngineError


class KVPool:
    """Keys and values of `num_layers` attention layers in `num_blocks` blocks.

    Attributes:
        tensor: [num_layers, 2, num_blocks, block_size, num_kv_heads, head_dim].

    Raises ValueError for a dimension below 1, EngineError where the device has not so much memory.
    """

    def __init__(
        self,
        num_layers: int,
        num_blocks: int,
        block_size: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        shape = (num_layers, 2, num_blocks, block_size, num_kv_heads, head_dim)
        if min(shape) < 1:
            raise ValueError(f"every dimension of a KV pool must be at least 1, got {shape}")
        try:
            self.tensor = torch.zeros(shape, dtype=dtype, device=device)
        except RuntimeError as error:
            size = num_blocks * bytes_per_block(num_layers, block_size, num_kv_heads, head_dim, dtype)
            problem = f"the KV cache of {num_blocks} blocks takes {size / (1 << 30):.2f} GiB"
            raise EngineError(
                f"{problem}, which {device} has not; lower kv_blocks or max_model_len"
            ) from error
        self._layers = self.tensor.unbind(0)

    @property
    def num_layers(self) -> int:
        return self.tensor.shape[0]

    @property
    def num_blocks(self) -> int:
        return self.tensor.shape[2]

    @property
    def block_size(self) -> int:
        return self.tensor.shape[3]

    def layer(self, index: int) -> Tensor:
        """The cache of one layer, a view [2, num_blocks, block_size, num_kv_heads, head_dim]."""
        return self._layers[index]


def bytes_per_block(
    num_layers: int, block_size: int, num_kv_heads: int, head_dim: int, dtype: torch.dtype
) -> int:
    """Bytes that one block takes over all layers, keys and values together."""
    return 2 * num_layers * block_size * num_kv_heads * head_dim * dtype.itemsize


def blocks_for_sequences(num_sequences: int, max_model_len: int, block_size: int) -> int:
    """Blocks with which `num_sequences` of full length run at once, so that nothing is ever preempted."""
    return num_sequences * -(-max_model_len // block_size)
