"""How a gateway opens a request: `StartRequest` for speech, `StartTextRequest` for text.

Imported through `worker.protocol`, which says what follows.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, model_validator

from telemetry.traceparent import TRACEPARENT_PATTERN
from worker.protocol.adapters import AdapterUse
from worker.protocol.bounds import MAX_TOKENS, Label, TokenId
from worker.protocol.frames import REQUEST_ID_PATTERN
from worker.protocol.latents import Latents
from worker.protocol.slot_messages import SlotClaim

RequestId = Annotated[str, Field(pattern=rf"^{REQUEST_ID_PATTERN}\z", strict=True)]
Unsigned32 = Annotated[int, Field(ge=0, le=2**32 - 1, strict=True)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]

MOST_STOP_STRINGS = 16
MOST_STOP_CHARACTERS = 1000
"""The most characters of a stop string."""


class Start(BaseModel):
    """What every request says.

    `attempt` counts the workers tried; every frame repeats it, which fences off a worker given up before.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    request_id: RequestId
    attempt: Unsigned32 = 1
    seed: Seed
    claim: SlotClaim | None = None
    """Said by a gateway that talks about slots (`worker.protocol.slot_messages`)."""
    adapter: AdapterUse | None = None
    """Said where the model has the feature "adapters", by who has seen to it that the worker gets it."""
    traceparent: Annotated[str, Field(pattern=rf"^{TRACEPARENT_PATTERN}\z", strict=True)] | None = None
    """The span of the gateway that the request is a part of. Said to a worker that is `traced`."""


class StartRequest(Start):
    """Opens a request for speech. With `resume_latents` of n patches, the first AUDIO frame is number n."""

    type: Literal["start"] = "start"
    text: str
    language: Label | None = None
    """Code of the language of the text. Said where the model has the feature "language", if it is known."""
    instructions: str | None = None
    """How to speak. Said where the model has the feature "instructions", and no prompt is given."""
    voice: str = "default"
    prompt_text: str | None = None
    prompt_latents: Latents | None = None
    reference_latents: Latents | None = None
    cfg_value: StrictFloat | None = None
    inference_timesteps: StrictInt | None = None
    temperature: StrictFloat | None = None
    min_seconds: StrictFloat | None = None
    max_seconds: StrictFloat | None = None
    resume_latents: Latents | None = None
    resume_silence: tuple[Unsigned32, Unsigned32, Unsigned32] | None = None
    """Of the patches of `resume_latents`: how many are silent, how many at the end are silent in a row, and
    how many there are audible in a row. None where all are audible.
    """
    watch: bool | None = None
    """Tell flaws of the speech, and silent patches. Said where the model is `WATCHED`."""


class ChatMessage(BaseModel):
    """One turn of a conversation."""

    model_config = ConfigDict(extra="forbid")

    role: Label
    content: str


class Sampling(BaseModel):
    """How tokens are chosen, as `models.llm.SamplingParams` names it; None leaves its default."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    temperature: StrictFloat | None = None
    top_p: StrictFloat | None = None
    top_k: StrictInt | None = None
    min_p: StrictFloat | None = None
    repetition_penalty: StrictFloat | None = None
    presence_penalty: StrictFloat | None = None
    frequency_penalty: StrictFloat | None = None
    logit_bias: dict[TokenId, StrictFloat] | None = None
    stop: Annotated[
        tuple[Annotated[str, Field(max_length=MOST_STOP_CHARACTERS)], ...],
        Field(max_length=MOST_STOP_STRINGS),
    ] = ()
    stop_token_ids: Annotated[tuple[TokenId, ...], Field(max_length=256)] = ()
    min_tokens: StrictInt | None = None
    max_tokens: StrictInt | None = None
    """None: as many as the model has room for."""
    ignore_eos: StrictBool | None = None
    logprobs: StrictInt | None = None
    """How many likeliest tokens to tell of each position; None tells nothing."""


class StartTextRequest(Start):
    """Opens a request for text. With `resume_ids` of n tokens, the first TEXT frame is number n.

    What goes in is a text, token ids or a conversation.
    """

    type: Literal["start_text"] = "start_text"
    prompt: str | None = None
    prompt_ids: Annotated[tuple[TokenId, ...], Field(max_length=MAX_TOKENS)] | None = None
    messages: tuple[ChatMessage, ...] | None = None
    template_options: dict[str, Any] = Field(default_factory=dict)
    """For the model's chat template, such as `enable_thinking`."""
    sampling: Sampling = Field(default_factory=Sampling)
    resume_ids: Annotated[tuple[TokenId, ...], Field(max_length=MAX_TOKENS)] = ()
    """Tokens of the answer that were written before."""
    cache_salt: Annotated[str, Field(max_length=64)] | None = None
    """Requests with another one share no cached prefix with it. Said where the model has the feature
    "cache_salt".
    """

    @model_validator(mode="after")
    def _one_input(self) -> Self:
        given = [value for value in (self.prompt, self.prompt_ids, self.messages) if value is not None]
        if len(given) != 1:
            raise ValueError("one of prompt, prompt_ids and messages is given")
        return self
