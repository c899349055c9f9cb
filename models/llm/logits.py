"""What changes the logits of an answer before a token is drawn: penalties, biases, tokens that are barred."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf

import numpy as np
import torch
from torch import Tensor

from engine.device.staging import upload
from engine.errors import RequestError
from models.llm.sampling_params import SamplingParams


class AnswerLogits:
    """The rules of one answer, which learn its tokens as they come.

    Args:
        end_ids: tokens that end this answer, forbidden before `params.min_tokens`.
        prompt: its tokens. vocab_size: tokens that have logits.

    Raises:
        RequestError: a token id that the model does not have, or rules by which none may come.
    """

    def __init__(
        self, params: SamplingParams, prompt: Sequence[int], end_ids: Sequence[int], vocab_size: int
    ) -> None:
        for name, ids in (
            ("logit_bias", params.logit_bias),
            ("stop_token_ids", params.stop_token_ids),
            ("bad_words", [token for word in params.bad_words for token in word]),
        ):
            strange = [token for token in ids if not 0 <= token < vocab_size]
            if strange:
                raise RequestError(f"{name} has {strange[0]}, the model has {vocab_size} tokens", name)
        self._params = params
        self.end_ids = [token for token in end_ids if 0 <= token < vocab_size]
        self._check_that_one_may_come(params, vocab_size)
        self._repeats = params.repetition_penalty != 1.0
        self._counted = bool(params.presence_penalty or params.frequency_penalty)
        self._seen = set(prompt) if self._repeats else set[int]()
        self._counts: Counter[int] = Counter()
        self._answer: list[int] = []

    def _check_that_one_may_come(self, params: SamplingParams, vocab_size: int) -> None:
        """First, and after whatever the bad words begin with."""
        always = {token for token, bias in params.logit_bias.items() if bias == -inf}
        if len(always) + len(self.end_ids) + len(params.bad_words) < vocab_size:
            return
        after: dict[tuple[int, ...], set[int]] = {(): always}
        for *before, last in params.bad_words:
            after.setdefault(tuple(before), set()).add(last)
        for before in after:
            barred = [after.get(before[start:], set()) for start in range(len(before) + 1)]
            ends = self.end_ids if len(before) < params.min_tokens else ()
            if len(set(ends).union(*barred)) == vocab_size:
                name = "bad_words" if params.bad_words else "logit_bias"
                raise RequestError(f"{name} bars every token that the model has", name)

    @property
    def changes(self) -> bool:
        """Whether `apply` does anything now."""
        params = self._params
        return bool(
            params.logit_bias
            or params.bad_words
            or self._seen
            or self._counts
            or len(self._answer) < params.min_tokens
        )

    def add(self, token: int) -> None:
        """The answer goes on with `token`."""
        self._answer.append(token)
        if self._counted:
            self._counts[token] += 1
        if self._repeats:
            self._seen.add(token)

    def apply(self, logits: Tensor) -> None:
        """Changes `logits` fp32 [V] in place."""
        params, device = self._params, logits.device
        if self._seen:
            seen = upload(np.array(sorted(self._seen)), device)
            found, penalty = logits[seen], params.repetition_penalty
            logits[seen] = torch.where(found > 0, found / penalty, found * penalty)
        if self._counts:
            ids = upload(np.array(list(self._counts)), device)
            counts = upload(np.array(list(self._counts.values()), np.float32), device)
            logits[ids] -= params.presence_penalty + params.frequency_penalty * counts
        if params.logit_bias:
            ids = upload(np.array(list(params.logit_bias)), device)
            logits[ids] += upload(np.array(list(params.logit_bias.values()), np.float32), device)
        barred = self._barred()
        if barred:
            logits[upload(np.array(barred), device)] = -torch.inf

    def _barred(self) -> list[int]:
        """Tokens that may not come next."""
        barred = list(self.end_ids) if len(self._answer) < self._params.min_tokens else []
        for *before, last in self._params.bad_words:
            if not before or self._answer[-len(before) :] == before:
                barred.append(last)
        return barred
