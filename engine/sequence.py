"""One request as the engine sees it: its tokens, its blocks, how far it has been computed.

`token_ids` holds the prompt followed by everything generated so far; text tokens are ints, audio latent
patches are bytes, and together they are the key under which computed blocks can be shared.

The append convention: a step computes keys and values for the tokens it is given and returns one *new* token,
which is appended to `token_ids` but not computed. Its own keys and values are computed by the next step. A
sequence of 10 tokens that is decoding therefore has 9 computed positions; the step computes position 9, and
10 positions need `ceil(10 / block_size)` blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class SequenceStatus(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"


@dataclass(eq=False)
class Sequence:
    """The single source of truth for one request.

    Attributes:
        request_id: unique among the unfinished sequences of an engine.
        token_ids: prompt and generated tokens, ints or bytes.
        max_new_tokens: how many tokens may be generated; a resumed request counts earlier ones as prompt.
        payload: belongs to the model glue; the engine passes it through.
        salt: everything besides tokens that changes keys and values (model revision, adapter, dtype).
        block_table: block numbers, position p lives in block `block_table[p // block_size]`.
        num_prompt_tokens: length of the prompt, fixed at creation.
        num_computed_tokens: positions whose keys and values are in the cache.
        num_cached_tokens: how many of those the latest admission took from the prefix cache.
        stopped: the model said so, or a limit was reached; no further step runs.
        finish_reason: why it ended, None while it lives.
    """

    request_id: str
    token_ids: list[int | bytes]
    max_new_tokens: int
    payload: Any = None
    salt: bytes = b""
    block_table: list[int] = field(default_factory=list)
    num_prompt_tokens: int = field(init=False)
    num_computed_tokens: int = 0
    num_cached_tokens: int = 0
    status: SequenceStatus = SequenceStatus.WAITING
    stopped: bool = False
    finish_reason: str | None = None

    def __post_init__(self) -> None:
        self.token_ids = list(self.token_ids)
        self.num_prompt_tokens = len(self.token_ids)

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def num_new_tokens(self) -> int:
        """Tokens generated so far."""
        return len(self.token_ids) - self.num_prompt_tokens

    @property
    def num_uncomputed_tokens(self) -> int:
        """Positions that still need keys and values; exactly 1 while decoding."""
        return len(self.token_ids) - self.num_computed_tokens

    @property
    def max_total_tokens(self) -> int:
        """Positions that the sequence can come to need: the last generated token is never computed."""
        return self.num_prompt_tokens + self.max_new_tokens - 1
