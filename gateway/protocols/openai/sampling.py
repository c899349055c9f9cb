"""How the tokens of an answer are chosen: what the bodies of chats and of completions have in common."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from gateway.answers.order import AnswerOrder, seed_of_choice
from gateway.bounds import at_most
from gateway.errors import BY_LIST, LIST, NO_LIST, ApiError
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.lenient import Lenient
from gateway.requests import MAX_SEED, Name, Text, random_seed
from gateway.settings import GatewaySettings
from worker.protocol import MAX_TOKENS, MOST_STOP_CHARACTERS, MOST_STOP_STRINGS, ChatMessage, Sampling

_PLAIN = (
    *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty"),
    *("frequency_penalty", "min_tokens", "ignore_eos"),
)
_TOKEN_BITS = 31
StopString = Annotated[Text, Field(min_length=1, max_length=MOST_STOP_CHARACTERS)]
StopStrings = Annotated[list[StopString], Field(max_length=MOST_STOP_STRINGS)]
TokenCount = Annotated[int, Field(ge=1, le=MAX_TOKENS)]


class StreamOptions(BaseModel):
    """What a stream tells beside its text."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False
    """Count the tokens in a last event of its own."""
    include_queue: bool = False
    """While the answer or its speech waits for its turn, tell its place in line in events without choices."""


class SamplingFields(Lenient):
    """OpenAI's fields, and those of other servers that its SDK sends as `extra_body`."""

    model_config = ConfigDict(
        extra="allow",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        protected_namespaces=(),
    )  # the docstrings stand in the description of the API

    model: Name | None = None
    """Which text model writes; left out, or "default": any."""
    n: Annotated[int, Field(ge=1, le=128)] = 1
    """Answers to each prompt."""
    stream: bool = False
    """Send the answer while it is written, as server-sent events."""
    stream_options: StreamOptions | None = None
    """What the stream tells beside the text."""
    max_tokens: TokenCount | None = None
    """The most tokens of each answer."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """0 takes the likeliest token; left out: what the model recommends, else 1."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Draw of the likeliest tokens that together reach this share."""
    top_k: Annotated[int, Field(ge=-1, le=1 << _TOKEN_BITS)] | None = None
    """Draw of so many likeliest tokens; 0 or -1: of all."""
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    """Draw of tokens at least this likely, relative to the likeliest."""
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    """Subtracted from tokens that the answer has already."""
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    """Subtracted from tokens once for each time that the answer has them."""
    repetition_penalty: Annotated[float, Field(gt=0, le=10)] | None = None
    """Divides the scores of tokens that prompt or answer have already."""
    logit_bias: Annotated[dict[str, float], Field(max_length=1024), at_most(1024)] | None = None
    """Token ids, and what is added to their scores, from -100 to 100."""
    stop: Annotated[Annotated[StopString, NO_LIST] | Annotated[StopStrings, LIST], BY_LIST] | None = None
    """Strings that end an answer and are no part of it."""
    stop_token_ids: Annotated[list[int], Field(max_length=256)] = Field(default_factory=list)
    """Tokens that end an answer and are no part of it."""
    min_tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)] | None = None
    """The least tokens of each answer."""
    ignore_eos: bool | None = None
    """Go on where the model ends the answer by itself."""
    seed: Annotated[int, Field(ge=-(2**63), le=MAX_SEED)] | None = None
    """Same seed, same request, same answer; left out: drawn at random."""
    priority: Literal["interactive", "default", "bulk"] | None = None
    """Class in the queue."""
    cache_salt: Annotated[Text, Field(min_length=1, max_length=256)] | None = None
    """Requests with another one share no cached beginning with this; those of other clients never do."""

    @field_validator("logit_bias")
    @classmethod
    def _of_tokens(cls, biases: dict[str, float] | None) -> dict[str, float] | None:
        for token, bias in (biases or {}).items():
            if not (token.isascii() and token.isdecimal() and int(token) < 1 << _TOKEN_BITS):
                raise ValueError("its keys are token ids")
            if not -100 <= bias <= 100:
                raise ValueError("a bias is from -100 to 100")
        return biases

    @field_validator("stop_token_ids")
    @classmethod
    def _token_ids(cls, ids: list[int]) -> list[int]:
        if not all(0 <= token < 1 << _TOKEN_BITS for token in ids):
            raise ValueError("holds a number that is no token id")
        return ids

    @property
    def ignored(self) -> dict[str, str]:
        """A header that names the fields which nothing was done with."""
        return ignored_fields(self.model_extra)

    @property
    def wanted_model(self) -> str | None:
        """None for any."""
        return None if self.model == "default" else self.model

    @property
    def counts_usage(self) -> bool:
        """Whether a stream ends with its usage."""
        return self.stream_options is not None and self.stream_options.include_usage

    @property
    def tells_queue(self) -> bool:
        """Whether a stream tells its place in line."""
        return self.stream_options is not None and self.stream_options.include_queue

    @property
    def most_tokens_field(self) -> str:
        """The field by which a client says it, where there are several."""
        return "max_tokens"

    def most_tokens(self) -> int | None:
        """The most tokens of each answer, as the client says."""
        value: int | None = getattr(self, self.most_tokens_field)
        return value

    def top_logprobs_wanted(self) -> int | None:
        """How many likeliest tokens are told; None for no probabilities."""
        raise NotImplementedError

    def refuse(self, reasons: dict[str, str]) -> None:
        """Raise ApiError for the first of these fields that asks for something that is not to be had."""
        for name, reason in reasons.items():
            if (self.model_extra or {}).get(name):
                raise ApiError(422, "not_supported", f"{name}: {reason}", param=name)

    def orders(self, inputs: list[dict[str, Any]], settings: GatewaySettings) -> list[AnswerOrder]:
        """One for each choice: `n` to each of the `inputs`. Raises ApiError for what exceeds a limit."""
        most, choices = settings.max_answer_tokens, len(inputs) * self.n
        if choices > settings.max_answer_choices:
            limit = settings.max_answer_choices
            message = f"n: {choices} answers are asked for, at most {limit} are given"
            raise ApiError(422, "invalid_value", message, param="n")
        asked = self.most_tokens()
        if asked is not None and asked > most:
            field = self.most_tokens_field
            raise ApiError(422, "invalid_value", f"{field} is at most {most}", param=field)
        if (self.min_tokens or 0) > (asked or most):
            message = f"min_tokens is greater than {self.most_tokens_field}"
            raise ApiError(422, "invalid_value", message, param="min_tokens")
        seed = random_seed() if self.seed is None else self.seed & MAX_SEED
        shared: dict[str, Any] = {
            "most_tokens": asked or most,
            "model": self.wanted_model,
            "sampling": self._sampling(),
        }
        return [
            AnswerOrder(seed=seed_of_choice(seed, number), **one, **shared)
            for one in inputs
            for number in range(self.n)
        ]

    def _sampling(self) -> Sampling:
        chosen = {name: value for name in _PLAIN if (value := getattr(self, name)) is not None}
        stop = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return Sampling(
            **chosen,
            logit_bias={int(token): float(bias) for token, bias in (self.logit_bias or {}).items()} or None,
            stop=tuple(stop),
            stop_token_ids=tuple(self.stop_token_ids),
            logprobs=self.top_logprobs_wanted(),
        )


def check_length(orders: list[AnswerOrder], settings: GatewaySettings, field: str) -> None:
    """Raise ApiError for an input that is too long; `field` holds it."""
    limit, longest = settings.max_prompt_characters, max(order.characters for order in orders)
    if longest > limit:
        message = f"{field} has about {longest} characters, at most {limit} are allowed"
        raise ApiError(422, "text_too_long", message, param=field)


def conversation(messages: list[tuple[str, str]]) -> dict[str, Any]:
    """An input of role and text each."""
    return {"messages": tuple(ChatMessage(role=role, content=text) for role, text in messages)}
