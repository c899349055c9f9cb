"""One answer as attempts put it together, token by token.

Tokens are all the state there is: the next worker is sent those that were committed, reads them as if it had
written them, and goes on with the very next one, also in the middle of a word, of a character of several
bytes or of what may become a stop string. The text that each worker says is what became certain with its
tokens, so the pieces of all of them in a row are the text of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.answers.order import AnswerOrder
from gateway.slots.pool import Lease
from gateway.workers.client import FrameStream, StreamBroken
from worker.protocol import (
    CACHE_SALT,
    AnyModel,
    Frame,
    StartTextRequest,
    TextModelDescription,
    TokenFacts,
)

_ENDINGS = ("stop", "length")
_MOST_BYTES_PER_TOKEN = 1024
"""Of text; no vocabulary has longer tokens."""


@dataclass(frozen=True)
class Written:
    """What came with one frame: text that is certain now, and the tokens it came with."""

    text: str
    tokens: int
    facts: tuple[TokenFacts, ...] = ()


class Answer:
    """A `gateway.streams.relay.Piece`. `hand_on` gets each piece once it is committed."""

    more_follows = False

    def __init__(self, order: AnswerOrder, hand_on: Callable[[Written], None]) -> None:
        self.order = order
        self.tokens: list[int] = []
        """Tokens that were committed."""
        self.prompt_tokens = 0
        """Known once a worker took it."""
        self.thinking = False
        """It begins within a thought, which the prompt opened; known with `prompt_tokens`."""
        self.model: TextModelDescription | None = None
        """The model that writes, or that of the worker that is being asked."""
        self.taken = False
        """A worker took it: from then on it belongs to the model."""
        self.finish_reason: str | None = None
        self._hand_on = hand_on
        self._text_bytes = 0

    @property
    def committed(self) -> int:
        """How many tokens were committed."""
        return len(self.tokens)

    async def prepare(self, model: AnyModel) -> None:
        """Raises StreamBroken for a model that does not write."""
        if not isinstance(model, TextModelDescription):
            raise StreamBroken("model", "the worker changed its model")
        if not self.taken:
            self.model = model

    def start(self, lease: Lease) -> StartTextRequest:
        """The request for what is missing of the answer."""
        order = self.order
        return StartTextRequest(
            request_id=f"{lease.ticket.id}-{lease.epoch}",
            attempt=lease.epoch,
            seed=order.seed,
            prompt=order.prompt,
            prompt_ids=order.prompt_ids,
            messages=order.messages,
            template_options=order.template_options,
            sampling=order.sampling.model_copy(update={"max_tokens": order.most_tokens}),
            resume_ids=tuple(self.tokens),
            cache_salt=order.cache_salt if CACHE_SALT in lease.worker.model.features else None,
        )

    def accepted(self, model: AnyModel | None, stream: FrameStream) -> None:
        """An answer stays with the model it was begun with. Raises StreamBroken."""
        if not isinstance(model, TextModelDescription) or model.revision != stream.model_revision:
            raise StreamBroken("model", "the worker changed its model")
        if self.taken and self.model.revision != model.revision:
            raise StreamBroken("model", "the worker serves another model than the one that began the answer")
        if not 0 < (stream.prompt_tokens or 0) <= model.max_model_len:
            raise StreamBroken("corrupt", "the worker says of no prompt how long it is")
        self.model, self.taken = model, True
        self.prompt_tokens, self.thinking = stream.prompt_tokens, stream.thinking

    def take(self, frame: Frame, stream: FrameStream, lease: Lease) -> bool:
        """Commit tokens, then hand their text on."""
        if frame.last and (frame.finish_reason not in _ENDINGS or not frame.tokens):
            raise stream.failed(frame)
        if frame.latents:
            raise StreamBroken("corrupt", "speech came instead of text")
        self._check(frame)
        self.tokens.extend(frame.tokens)
        self._text_bytes += len(frame.text.encode())
        if frame.last:
            self.finish_reason = frame.finish_reason
        if frame.tokens:
            self._hand_on(Written(frame.text, len(frame.tokens), frame.facts))
        return True

    def _check(self, frame: Frame) -> None:
        """A worker is believed within these bounds. Raises StreamBroken."""
        order, model = self.order, self.model
        tokens = len(self.tokens) + len(frame.tokens)
        if tokens > min(order.most_tokens, model.max_model_len):
            raise StreamBroken("corrupt", "the worker writes more than it was told")
        if any(token >= model.vocab_size for token in frame.tokens):
            raise StreamBroken("corrupt", "a token is none of the model's")
        if self._text_bytes + len(frame.text) > _MOST_BYTES_PER_TOKEN * tokens:
            raise StreamBroken("corrupt", "there is more text than tokens make")
        asked = order.sampling.logprobs
        if len(frame.facts) != (len(frame.tokens) if asked is not None else 0):
            raise StreamBroken("corrupt", "probabilities were told that nobody asked for, or not told")
        if any(len(fact.top) > (asked or 0) for fact in frame.facts):
            raise StreamBroken("corrupt", "more probabilities were told than asked for")
