"""How the tokens of an answer are chosen, and when it ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from numbers import Integral, Real
from typing import Any

from engine.errors import RequestError
from models.bounds import Bounds, check_switch

MOST_TOP_LOGPROBS = 20
MOST_STOP_STRINGS = 16
MOST_SEED = 2**64 - 1
LEAST_TEMPERATURE, MOST_TEMPERATURE = 1e-20, 1e20
"""Logits divided by less, or by more where tokens are barred, may be no fp32 numbers; the likeliest token has
all of the probability then, or all tokens have the same."""
LEAST_PENALTY, MOST_PENALTY = 1e-5, 1e5
"""Of `repetition_penalty`, for the same reason: beyond these it changes no more than at them."""
MOST_BIAS = 1e6
LEAST_BIAS = -1e18
"""But for minus infinity, which bars a token. Divided by a temperature, less may be that, too."""
RECOMMENDED = {
    "temperature": Bounds(0),
    "top_k": Bounds(-1, whole=True),
    "top_p": Bounds(0, 1, above=True),
    "min_p": Bounds(0, 1),
    "repetition_penalty": Bounds(0, above=True),
}
"""What a checkpoint may recommend."""
_MAY_BE_NONE = ("seed", "logprobs")
_BOUNDS = RECOMMENDED | {
    "max_tokens": Bounds(1, whole=True),
    "presence_penalty": Bounds(-2, 2),
    "frequency_penalty": Bounds(-2, 2),
    "logprobs": Bounds(0, MOST_TOP_LOGPROBS, whole=True),
    "seed": Bounds(0, MOST_SEED, whole=True),
}


@dataclass(frozen=True)
class SamplingParams:
    """The defaults sample from the model's own distribution.

    Attributes:
        temperature: divides logits; 0 takes the likeliest token.
        max_tokens, min_tokens: the most and the least tokens of the answer.
        top_k: draws from so many likeliest tokens; 0 or, as vLLM has it, -1 from all.
        top_p: draws from the likeliest tokens that together reach this share.
        min_p: draws from tokens that are at least this likely, relative to the likeliest.
        repetition_penalty: divides the positive logits of tokens that occur in prompt or answer, multiplies
            the negative ones (arXiv:1909.05858).
        presence_penalty, frequency_penalty: subtracted from logits of tokens of the answer, once and for each
            time.
        logit_bias: token id -> what is added to its logit.
        bad_words: token ids in a row that never come, each a tuple.
        seed: same seed, same prompt, same answer; None draws one. Where others run beside it, sums are
            rounded otherwise: of tokens drawn at temperature 1 one in 47,000 was another, on a CPU.
        stop, stop_token_ids: strings and tokens that end the answer and are no part of it.
        ignore_eos: the model's own end tokens do not end the answer.
        logprobs: how many likeliest tokens to tell of each position; None tells nothing.

    Raises:
        RequestError: naming the field that is out of range.
    """

    temperature: float = 1.0
    max_tokens: int = 64
    ignore_eos: bool = False
    min_tokens: int = 0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: dict[int, float] = field(default_factory=dict)
    bad_words: tuple[tuple[int, ...], ...] = ()
    seed: int | None = None
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    logprobs: int | None = None

    def __post_init__(self) -> None:
        stop = _listed("stop", (self.stop,) if isinstance(self.stop, str) else self.stop)
        words = _listed("bad_words", self.bad_words)
        object.__setattr__(self, "stop", stop)
        object.__setattr__(self, "stop_token_ids", _token_ids("stop_token_ids", self.stop_token_ids))
        object.__setattr__(self, "bad_words", tuple(_token_ids("bad_words", word) for word in words))
        for name, bounds in (_BOUNDS | {"min_tokens": Bounds(0, self.max_tokens, whole=True)}).items():
            value = getattr(self, name)
            if not bounds.hold(value) and not (value is None and name in _MAY_BE_NONE):
                raise RequestError(f"{name} must be {bounds}, got {value!r}", name, "out_of_range")
        check_switch("ignore_eos", self.ignore_eos, of_request=True)
        if self.temperature < LEAST_TEMPERATURE:
            object.__setattr__(self, "temperature", 0.0)
        object.__setattr__(self, "temperature", min(self.temperature, MOST_TEMPERATURE))
        object.__setattr__(self, "top_k", max(self.top_k, 0))
        penalty = min(max(self.repetition_penalty, LEAST_PENALTY), MOST_PENALTY)
        object.__setattr__(self, "repetition_penalty", penalty)
        object.__setattr__(self, "logit_bias", _biases(self.logit_bias))
        if len(stop) > MOST_STOP_STRINGS or not all(isinstance(one, str) and one for one in stop):
            raise RequestError(f"stop takes at most {MOST_STOP_STRINGS} strings, none empty", "stop")
        if not all(self.bad_words):
            raise RequestError("bad_words has one without tokens", "bad_words")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0


def _listed(name: str, values: Any) -> tuple[Any, ...]:
    """Raises RequestError for one value, or a text, where there may be several."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise RequestError(f"{name} must be a list, got {values!r}", name)
    return tuple(values)


def _token_ids(name: str, ids: Any) -> tuple[int, ...]:
    """Raises RequestError for anything else; which ids there are the model knows."""
    found = _listed(name, ids)
    strange = [token for token in found if not _is_number(token, Integral)]
    if strange:
        raise RequestError(f"{name} has {strange[0]!r}, which is no token id", name)
    return tuple(map(int, found))


def _biases(given: Any) -> dict[int, float]:
    """Biases of token ids, as far as fp32 goes. Raises RequestError for all else, and for too large ones."""
    name = "logit_bias"
    if not isinstance(given, Mapping):
        raise RequestError(f"{name} must be a mapping of token ids to numbers, got {given!r}", name)
    biases = dict(zip(_token_ids(name, given), given.values(), strict=True))
    strange = [bias for bias in biases.values() if not (_is_number(bias, Real) and bias <= MOST_BIAS)]
    if strange:
        raise RequestError(f"{name} has {strange[0]!r}, at most {MOST_BIAS:g} is added", name)
    return {token: bias if bias == -inf else max(bias, LEAST_BIAS) for token, bias in biases.items()}


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
