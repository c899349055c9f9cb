"""What may be chosen of a fine-tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from models.lora.adapter import MAX_RANK

Method = Literal["lora", "full"]
MOST_STEPS = 100_000
MOST_ALPHA, MOST_THREADS, MOST_SEED = 8 * MAX_RANK, 1024, 2**32 - 1
LEARNING_RATES: dict[Method, float] = {"lora": 1e-3, "full": 1e-4}
BATCH_POSITIONS = 1024
DEFAULT_STEPS, DEFAULT_RANK = 600, 32


@dataclass(frozen=True)
class FinetuneOptions:
    """What may be chosen; None is what suits base and method.

    Attributes:
        base: "bundled", a directory or a repository id.
        rank: of an adapter, and of what the decoder learns.
        alpha: the adapter's scale is alpha / rank; None is the rank.
        strength: how much of what an adapter learnt of language models and DiT is written; None is half of it
            where the decoder learns, too, else all.
        decoder: whether the audio VAE's decoder learns; None is what the base asks for (`adapt_decoder` of
            its generation_config.json).
        steps: at most; a run ends earlier when the held-out recordings get no better.
        batch_positions: positions that a step sees together.
        threads: of a CPU; None is as many as other programs leave, which moves the last bits of a result.

    Raises:
        ValueError: naming what is out of range.
    """

    base: str = "bundled"
    method: Method = "lora"
    rank: int = DEFAULT_RANK
    alpha: int | None = None
    strength: float | None = None
    decoder: bool | None = None
    steps: int = DEFAULT_STEPS
    learning_rate: float | None = None
    batch_positions: int = BATCH_POSITIONS
    device: str = "auto"
    threads: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise ValueError(f"method must be one of {', '.join(get_args(Method))}, got {self.method!r}")
        bounds = {
            "rank": (1, MAX_RANK),
            "alpha": (1, MOST_ALPHA),
            "steps": (1, MOST_STEPS),
            "batch_positions": (256, 65536),
            "threads": (1, MOST_THREADS),
            "seed": (0, MOST_SEED),
        }
        for name, (low, high) in bounds.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise ValueError(f"{name} must be between {low} and {high}, got {value}")
        if self.strength is not None and not 0 < self.strength <= 1:
            raise ValueError(f"strength must be above 0 and at most 1, got {self.strength}")
        if self.method == "full" and (self.alpha is not None or self.strength is not None):
            raise ValueError("alpha and strength are of adapters; method full has none")
        if self.learning_rate is not None and not 0 < self.learning_rate <= 0.1:
            raise ValueError(f"learning_rate must be above 0 and at most 0.1, got {self.learning_rate}")

    @property
    def rate(self) -> float:
        """The learning rate."""
        return self.learning_rate or LEARNING_RATES[self.method]
