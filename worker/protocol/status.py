"""What a worker says of itself: its state, its model, its slots; and how it makes itself known to a gateway.

A gateway asks for the status (`GET /health`). A worker that dials in sends it unasked, once a second, inside
a `Registration`; the gateway holds a lease on it that lasts `REGISTRATION_LEASE_SECONDS` from each one, so a
worker that falls silent is out after three seconds. Imported through `worker.protocol`.
"""

from __future__ import annotations

import ipaddress
import math
from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from worker.protocol.bounds import (
    MAX_TOKENS,
    MAX_VOICES,
    Build,
    Count,
    Id,
    Label,
    Name,
    SampleRate,
    Seconds,
    Slots,
    Step,
    Words,
)
from worker.protocol.frames import HEADER_BYTES, MAX_FRAME_BYTES

REGISTRATION_PATH = "/api/registrations"
REGISTRATION_SECONDS = 1.0
"""Between two registrations."""
REGISTRATION_LEASE_SECONDS = 3.0
_MOST_LATENT_BYTES = 1 << 18
"""For a second of audio: a gateway keeps those of the part of a clip that is spoken. VoxCPM's take 6400."""


class WorkerState(StrEnum):
    """What a worker says of itself. The gateway adds DOWN for a worker that says nothing."""

    LOADING = "LOADING"
    IDLE = "IDLE"
    BUSY = "BUSY"
    """At least one slot is used; there may be room for more."""
    DRAINING = "DRAINING"
    """Open requests are finished, new ones are refused."""
    ERROR = "ERROR"
    """Loading failed or the engine died; `WorkerStatus.error` says why."""


class VoiceDescription(BaseModel):
    """`models.speech.VoiceInfo` as JSON."""

    model_config = ConfigDict(frozen=True)

    name: Name
    language: Label = ""
    description: Words = ""
    tags: Annotated[tuple[Label, ...], Field(max_length=16)] = ()


class ModelDescription(BaseModel):
    """The speech model that a worker serves: `models.speech.ModelInfo` as JSON."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    kind: Literal["speech"] = "speech"
    name: Name
    revision: Name
    sample_rate: SampleRate
    patch_samples: Annotated[int, Field(ge=1, le=MAX_FRAME_BYTES)]
    patch_size: Annotated[int, Field(ge=1, le=MAX_FRAME_BYTES)]
    latent_dim: Annotated[int, Field(ge=1, le=MAX_FRAME_BYTES)]
    reference_sample_rate: SampleRate
    languages: Annotated[tuple[Label, ...], Field(max_length=256)] = ()
    voices: Annotated[tuple[Name, ...], Field(max_length=MAX_VOICES)] = ()
    voice_details: Annotated[tuple[VoiceDescription, ...], Field(max_length=MAX_VOICES)] = ()
    features: Annotated[tuple[Label, ...], Field(max_length=64)] = ()
    max_text_characters: Annotated[int, Field(ge=1, le=10**7)]
    part_characters: Annotated[int, Field(ge=1, le=10**7)] | None = None
    max_prompt_seconds: Seconds | None = None
    default_cfg_value: Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]
    default_inference_timesteps: Annotated[int, Field(ge=0, le=10_000)]

    @model_validator(mode="after")
    def _patch_fits_into_a_frame(self) -> Self:
        frame_bytes = HEADER_BYTES + 2 * self.patch_samples + 4 * self.patch_size * self.latent_dim
        if frame_bytes > MAX_FRAME_BYTES:
            raise ValueError(f"a patch takes {frame_bytes} bytes, at most {MAX_FRAME_BYTES} are allowed")
        if 4 * self.patch_size * self.latent_dim > _MOST_LATENT_BYTES * self.patch_seconds:
            raise ValueError(f"latents take at most {_MOST_LATENT_BYTES} bytes for a second of audio")
        return self

    @property
    def patch_seconds(self) -> float:
        """Seconds of audio per patch."""
        return self.patch_samples / self.sample_rate

    def continues(self, seconds: float) -> bool:
        """Whether the model takes a prompt of this length."""
        return "prompt" in self.features and seconds <= (self.max_prompt_seconds or math.inf)


class TextModelDescription(BaseModel):
    """The text model that a worker serves: `models.text.TextModelInfo` as JSON."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    kind: Literal["text"]
    name: Name
    revision: Name
    vocab_size: Annotated[int, Field(ge=1, le=2**31 - 1)]
    max_model_len: Annotated[int, Field(ge=1, le=MAX_TOKENS)]
    features: Annotated[tuple[Label, ...], Field(max_length=64)] = ()


def _kind_of(model: Any) -> str:
    """Workers of older versions say none, and speak."""
    said = model.get("kind", "speech") if isinstance(model, dict) else getattr(model, "kind", None)
    return said if isinstance(said, str) else ""


AnyModel = Annotated[
    Annotated[ModelDescription, Tag("speech")] | Annotated[TextModelDescription, Tag("text")],
    Discriminator(_kind_of),
]


class Counters(BaseModel):
    """Totals since the process started."""

    requests: Count = 0
    patches: Count = 0
    audio_seconds: Seconds = 0.0
    tokens: Count = 0
    errors: Count = 0
    cancelled: Count = 0
    kv_device_positions: Count = 0
    """Positions of requests that the cache had on the device when they were let in, or let in again."""
    kv_host_positions: Count = 0
    """Positions whose keys and values came back from the host."""
    kv_computed_positions: Count = 0
    """Positions that were computed."""
    kv_stored_bytes: Count = 0
    """Copied to the host."""
    kv_brought_bytes: Count = 0
    """Copied back."""
    kv_dropped_blocks: Count = 0
    """For which the host had no room."""
    kv_stall_seconds: Seconds = 0.0
    """In which there was nothing to compute but blocks were on their way."""


class LoadingProgress(BaseModel):
    """How far loading is; `progress` runs from 0 to 1 within the stage."""

    stage: Words
    progress: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class WorkerStatus(BaseModel):
    """`GET /health`, and the answer of `POST /drain` and `POST /resume`."""

    worker_id: Id
    boot_id: Id
    """New for every process: tells a restarted worker from one that was only unreachable."""
    state: WorkerState
    slots_total: Slots
    slots_used: Slots
    slots_paused: Slots = 0
    """Used slots whose request is paused: an engine with no others is right to stand still."""
    model: AnyModel | None = None
    device: Name
    pid: Count
    build: Build = ""
    step: Step
    """Engine steps so far. Standing still while an open request is not paused means that the engine hangs."""
    uptime_seconds: Seconds
    memory_bytes: Count
    device_memory_bytes: Count | None = None
    counters: Counters = Field(default_factory=Counters)
    supervised: bool = False
    """Somebody starts it again when it ends."""
    traced: bool = False
    """It tells traces, and wants to hear to which one a request belongs."""
    loading: LoadingProgress | None = None
    error: Words | None = None


def is_loopback(host: str) -> bool:
    """Whether an address, or the name localhost, means this machine alone; IPv4 in IPv6 counts too."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def check_base_url(url: str) -> str:
    """`url` without a slash at its end. Raises ValueError for anything but scheme, host and port."""
    parts = urlsplit(url.rstrip("/"))
    if "@" in parts.netloc:  # logs and operators are told of URLs
        raise ValueError("a base URL has no user and password: who may connect knows worker_secret")
    wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query
    if wrong or parts.port == 0:  # asking for a port that is none raises too
        raise ValueError(f"not a base URL such as http://host:22400: {url}")
    return url.rstrip("/")


class Registration(BaseModel):
    """`POST /api/registrations` at a gateway: here I am, at `url`. The answer is a `RegistrationLease`."""

    url: Annotated[str, Field(max_length=300), AfterValidator(check_base_url)]
    """Where the gateway reaches this worker."""
    status: WorkerStatus
    leaving: bool = False
    """The process ends: the lease is over, without waiting for its end."""


class RegistrationLease(BaseModel):
    """The gateway counts on the worker for so long."""

    worker_id: str
    """What the gateway calls it: its own id, unless another worker has it."""
    lease_seconds: float
