"""Which sequences are refused: those that could not run even alone."""

from __future__ import annotations

from engine.config import EngineConfig
from engine.errors import RequestError
from engine.sequence import Sequence


def check_admissible(sequence: Sequence, config: EngineConfig) -> None:
    """Refuses what an engine with this `config` could not run even alone.

    Raises:
        RequestError: naming the limit.
    """
    if not sequence.token_ids:
        raise RequestError("the prompt is empty", "prompt", "empty_prompt")
    if not all(issubclass(kind, int | bytes) for kind in set(map(type, sequence.token_ids))):
        raise RequestError("prompt tokens must be int or bytes", "prompt", "invalid_token")
    if sequence.max_new_tokens < 1:
        raise RequestError(
            f"max_new_tokens must be at least 1, got {sequence.max_new_tokens}",
            "max_new_tokens",
            "out_of_range",
        )
    needed = sequence.max_total_tokens
    parts = (
        f"a prompt of {sequence.num_prompt_tokens} and {sequence.max_new_tokens} new tokens "
        f"need {needed} positions"
    )
    if needed > config.max_model_len:
        raise RequestError(f"{parts}, max_model_len is {config.max_model_len}", "max_new_tokens", "too_long")
    capacity = config.num_blocks * config.block_size
    if needed > capacity:
        raise RequestError(f"{parts}, the KV cache holds {capacity}", "max_new_tokens", "too_long")
