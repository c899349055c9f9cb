"""What the KV cache was good for since the engine began."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class CacheFigures:
    """Totals. The engine's thread counts, others may read.

    Attributes:
        device_positions: positions of admitted sequences whose keys and values were on the device.
        host_positions: those that were brought back from the host.
        computed_positions: those that had to be computed, the tokens that an admission begins with included.
        stored_blocks, brought_blocks: copied to the host and back.
        dropped_blocks: forgotten, since all that lay on the host was worth more.
        stall_seconds: how long the engine had nothing to compute but waited for blocks on their way.
        block_bytes: of one block; 0 without a second tier.
    """

    device_positions: int = 0
    host_positions: int = 0
    computed_positions: int = 0
    stored_blocks: int = 0
    brought_blocks: int = 0
    dropped_blocks: int = 0
    stall_seconds: float = 0.0
    block_bytes: int = 0

    @property
    def stored_bytes(self) -> int:
        """Bytes copied to the host."""
        return self.stored_blocks * self.block_bytes

    @property
    def brought_bytes(self) -> int:
        """Bytes copied back from the host."""
        return self.brought_blocks * self.block_bytes
