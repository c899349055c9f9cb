"""The limits of one engine, checked where they are set and not where they would hurt.

With `max_num_seqs=8`, `max_num_batched_tokens=2048` and `max_prefill_tokens=256`, a step serves up to 8
decodes and beside them 256 positions of prompts, so that a newcomer with a long prompt cannot make the
running streams stutter; more only where their listeners have enough to play meanwhile. A step without decodes
may use the whole 2048.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

BringBack = Literal["auto", "always"]
Graphs = Literal["auto", "off", "static"]
"""Whether a model's runner records steps as CUDA graphs; "static": not, though it runs the same programs."""


@dataclass(frozen=True)
class EngineConfig:
    """Limits of an engine; all counts are of tokens (positions) unless they say otherwise.

    Attributes:
        num_blocks: blocks of the KV cache.
        block_size: positions per block.
        max_model_len: positions that one sequence may come to need.
        max_num_seqs: sequences running at once.
        max_num_batched_tokens: positions computed by one step, decodes included.
        max_prefill_tokens: positions of prompts computed by one step that also decodes, unless every listener
            is so far ahead that it may take longer.
        prefill_tokens_per_decode: where a step has many decodes, so many positions beside each, if that is
            more; what a step gets longer by then stays a share of its length.
        max_decodes: decodes in one step, None for every running sequence. Where more run, those that are
            furthest ahead of their listeners wait.
        max_step_seconds: time for the decodes of a step, by the measured pace of earlier ones. Those wait for
            whom there is no time, unless their listeners would run dry before the step after this one.
        enable_prefix_caching: share blocks between sequences with the same beginning.
        look_ahead: what decodes has the block of its next token before the step that yields it, as long as
            blocks are free, so that a runner can begin the step after it.
        bring_back: what lies in the second tier of the cache, where the runner has one: "always", or "auto",
            where copying is faster than computing, by the measured pace of both.

    Raises:
        ValueError: a limit below 1 (a time of 0), or fewer batched tokens than sequences (some stream would
            starve).
    """

    num_blocks: int
    block_size: int
    max_model_len: int
    max_num_seqs: int = 16
    max_num_batched_tokens: int = 2048
    max_prefill_tokens: int = 512
    prefill_tokens_per_decode: int = 0
    enable_prefix_caching: bool = True
    max_decodes: int | None = None
    max_step_seconds: float | None = None
    look_ahead: bool = False
    bring_back: BringBack = "auto"

    def __post_init__(self) -> None:
        for name in (
            "num_blocks",
            "block_size",
            "max_model_len",
            "max_num_seqs",
            "max_num_batched_tokens",
            "max_prefill_tokens",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.max_decodes is not None and self.max_decodes < 1:
            raise ValueError(f"max_decodes must be at least 1, got {self.max_decodes}")
        if self.max_step_seconds is not None and not self.max_step_seconds > 0:
            raise ValueError(f"max_step_seconds must be above 0, got {self.max_step_seconds}")
        if self.bring_back not in get_args(BringBack):
            raise ValueError(
                f"bring_back must be one of {', '.join(get_args(BringBack))}, got {self.bring_back!r}"
            )
        if self.max_num_batched_tokens < self.max_num_seqs:
            raise ValueError(
                f"max_num_batched_tokens {self.max_num_batched_tokens} is below max_num_seqs "
                f"{self.max_num_seqs}: a step could not serve every running sequence"
            )
