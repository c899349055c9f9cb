"""What is asked of a text model, and what the answer is charged (`gateway/slots/line/charge.py`)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gateway.slots.line.charge import CHARACTERS_PER_TOKEN, charge
from gateway.slots.requirement import Requirement
from worker.protocol import ChatMessage, Sampling

CHAT = "chat"
"""The feature of a text model with a chat template."""
THINKING = "thinking"
"""The feature of one that can be told whether to think before it answers."""
_BEGINNING_CHARACTERS = 512
_EXPECTED_TOKENS = 256
"""Tokens of an answer, as long as it is not known."""


@dataclass(frozen=True)
class AnswerOrder:
    """One answer. What goes in is a text, token ids or a conversation."""

    most_tokens: int
    """The most tokens of the answer."""
    seed: int
    model: str | None = None
    prompt: str | None = None
    prompt_ids: tuple[int, ...] | None = None
    messages: tuple[ChatMessage, ...] | None = None
    template_options: dict[str, Any] = field(default_factory=dict)
    sampling: Sampling = field(default_factory=Sampling)
    """Without `max_tokens`."""
    cache_salt: str = ""
    """Of whose requests share what workers have cached of their beginnings."""

    @property
    def characters(self) -> int:
        """Characters of the prompt, each token counted as `CHARACTERS_PER_TOKEN`."""
        text = sum(len(message.content) for message in self.messages or ()) + len(self.prompt or "")
        return text + CHARACTERS_PER_TOKEN * len(self.prompt_ids or ())

    @cached_property
    def beginning(self) -> str:
        """Names what goes in by how it begins, which stays through a conversation: the worker that answered
        last has it in its cache.
        """
        turns = [f"{message.role}\n{message.content}" for message in (self.messages or ())[:2]]
        begun = "\n".join(turns) or (self.prompt or "")[:_BEGINNING_CHARACTERS]
        ids = (self.prompt_ids or ())[:_BEGINNING_CHARACTERS]
        return hashlib.blake2b(f"{self.cache_salt}\n{begun}\n{ids}".encode(), digest_size=16).hexdigest()

    @property
    def expected_seconds(self) -> float:
        """What it is charged until it is known how much was written."""
        prompt_tokens = 1 + self.characters // CHARACTERS_PER_TOKEN
        return charge(prompt_tokens, min(self.most_tokens, _EXPECTED_TOKENS))

    def requirement(self, revision: str | None = None, model: str | None = None) -> Requirement:
        """What a worker must offer."""
        features = frozenset() if self.messages is None else frozenset({CHAT})
        return Requirement(
            model or self.model,
            revision=revision,
            features=features,
            kind="text",
            affinity=self.beginning,
        )


def seed_of_choice(seed: int, number: int) -> int:
    """The seed of one of several answers to the same prompt; the first one has the request's own."""
    if number == 0:
        return seed
    digest = hashlib.blake2b(f"{seed}/{number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
