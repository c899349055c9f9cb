"""Every setting of a worker, in one typed object.

Sources (`sockets/setting_sources.py`), the later wins: `worker:` of a YAML file, files of secrets,
environment variables `VOXFLEET_WORKER_...` (upper-case field names), options of the command line.
`load_settings(config_file, port=22401)` takes them all; an option that is None was not given.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from sockets.guesses import check_secret
from sockets.setting_sources import SourcedSettings
from sockets.setting_words import each_problem, in_words
from telemetry import TelemetrySettings
from telemetry.settings import split_commas
from worker.protocol import HEARTBEAT_SECONDS, MAX_REQUEST_BYTES, check_base_url, is_loopback
from worker.protocol.bounds import MAX_SLOTS

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Bytes = Annotated[int, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]

KV_HOST_SHARE = 0.25
"""Share of the available memory for the second tier of the KV cache, of all workers of a machine."""


class SettingsError(ValueError):
    """A setting that cannot be used; the message names it and quotes no value."""


class WorkerSettings(TelemetrySettings, SourcedSettings):
    """One worker process: where it listens, what it serves, and its limits."""

    model_config = SettingsConfigDict(env_prefix="VOXFLEET_WORKER_", extra="forbid")

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 22400
    """0 takes any free port."""
    secret: SecretStr | None = None
    """What clients send as a bearer token. Without one, clients on this machine alone are served."""
    worker_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,64}\z")] = ""
    """Empty: "worker-" and the port."""
    gateway_urls: Annotated[list[str], NoDecode, BeforeValidator(split_commas)] = Field(default_factory=list)
    """Gateways to dial in at, once a second; a comma-separated string is split."""
    gateway_dns_url: str = ""
    """"http://", a name and a port: the worker dials in at each address of the name, and looks once a second
    which there are. For gateways that come and go, such as a headless Service of Kubernetes.
    """
    advertised_url: str = ""
    """Where gateways reach this worker. Empty: "http://", the host and the port."""

    model: str = "bundled"
    """"bundled", "synthetic", a directory, or a repository id of the Hugging Face hub: a speech model or a
    text model, as its `config.json` says.
    """
    device: str = "auto"
    """"cpu", "cuda", "cuda:1" for the second GPU and so on, or "auto"."""
    slots: Annotated[int, Field(ge=1, le=MAX_SLOTS)] = 4
    """Requests served at the same time."""
    workers_on_machine: Annotated[int, Field(ge=1, le=4096)] = 1
    """Workers that share the CPUs of this machine; each computes with its part of them."""
    step_ms: Annotated[float, Field(ge=0, le=60_000)] = 40.0
    """Synthetic model only: milliseconds that a step of the whole batch takes."""

    max_model_len: Count | None = None
    """Positions of the longest request: words, voice and patches together. Less leaves more of the memory to
    others. None: what the model has.
    """
    kv_blocks: Count | None = None
    """Blocks of the KV cache. None: for all slots, as far as memory allows."""
    kv_host_gib: Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["auto"] = 0.0
    """GiB of the host's memory for blocks that the device forgets, so that paused and preempted requests and
    voices come back without being computed again. auto: beside a GPU, what is worth it and available.
    """
    kv_bring_back: Literal["auto", "always"] = "auto"
    """When they come back: auto, where copying is faster than computing."""
    block_size: Count | None = None
    """Positions in a block of the KV cache. None: 16 for speech, 64 for text, 256 where `attention` wants
    that.
    """
    attention: Literal["auto", "sdpa", "triton", "flash", "torch_varlen"] = "auto"
    """How attention is computed; auto measures what there is. flash (the package flash-attn) and torch_varlen
    need a GPU and blocks of 256.
    """
    graphs: Literal["auto", "off", "static"] = "auto"
    """auto: steps are recorded as CUDA graphs where there is CUDA. off saves their memory, and is slower."""
    cpu_weights: Literal["auto", "float32", "bfloat16"] | None = None
    """Precision of weights on a CPU; bfloat16 halves their memory and the time to read them. auto: bfloat16
    where the model has it and the processor multiplies it. None: float32 for speech, auto for text.
    """
    max_num_batched_tokens: Count | None = None
    """Positions in one step; at least `slots`. None: 4096 on CUDA, 16384 for text; 2048 elsewhere."""
    max_prefill_tokens: Count | None = None
    """Positions of prompts in a step that streams take part in. None: 512, for text on CUDA 2048."""
    max_decodes: Count | None = None
    """Streams in one step; the others are ahead of their listeners and wait. None: all."""
    max_step_seconds: Seconds | None = None
    """Time for the streams of a step; those that are ahead of their listeners wait. None: no limit."""

    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    """Text models: share of a GPU's memory that weights and cache may take together."""
    kv_offload: bool = False
    """Text models: all keys and values live on the host, in `kv_host_gib` or half of what is available, and
    pass through the device a layer at a time: for contexts that it has no room for.
    """
    gpu_kv_blocks: Annotated[int, Field(ge=2)] | None = None
    """Blocks of one layer that pass through the device then. None: 257."""
    tensor_parallel_size: Annotated[int, Field(ge=1, le=64)] = 1
    """GPUs over which the model is shared out, beginning with `device`; on a CPU processes."""
    text_gather_seconds: Annotated[float, Field(ge=0, le=1)] = 0.02
    """Text models: tokens that follow each other more closely leave in one frame."""

    heartbeat_seconds: Seconds = HEARTBEAT_SECONDS
    max_request_bytes: Bytes = MAX_REQUEST_BYTES
    """Size of a message on the socket; a larger one closes it with 1009."""
    max_unsent_bytes: Bytes = 4 << 20
    """Frames of one request that may wait for the reader; beyond that the connection is cut."""
    send_timeout_seconds: Seconds = 10.0
    """How long the reader may take nothing of what waits for it."""
    max_audio_bytes: Bytes = 20 << 20
    """Size of an audio file to encode."""
    max_audio_seconds: Seconds = 60.0
    """Length of an audio file to encode."""
    max_adapter_memory_bytes: Bytes = 1 << 30
    """Memory of all adapters that are kept ready; the least recently used makes room."""
    adapter_slots: Annotated[int, Field(ge=0, le=1024)] | None = None
    """Adapters that are on a GPU at once; the others wait in the host's memory. 0: a GPU takes none. None: 8,
    or none with a `tensor_parallel_size` above 1.
    """
    adapter_rank: Annotated[int, Field(ge=1, le=128)] | None = None
    """The rank up to which a GPU is ready for adapters from the start; None: 32. The first request with an
    adapter that needs more has all others wait while steps are recorded.
    """
    adapter_layers: Literal["all", "attention"] | None = None
    """The layers that a GPU is ready for: all (None), or q, k, v and o alone, in a third of the memory."""
    step_timeout_seconds: Seconds = 120.0
    """A step of the engine that takes longer counts as a device that hangs; the state is ERROR meanwhile."""
    shutdown_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 3.0
    """How long open requests may take to finish after SIGTERM."""

    supervised: bool = False
    """Whoever started this process starts it again when it ends: it may be told to restart, and ends when its
    engine died or hangs.
    """

    log_format: Literal["auto", "json", "pretty"] = "auto"
    """auto: pretty on a terminal, else one JSON object per line."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @field_validator("device", mode="after")
    @classmethod
    def _known_device(cls, device: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda(:[0-9]+)?", device):
            raise ValueError("must be cpu, cuda or auto")
        return device

    @field_validator("graphs", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: Any) -> Any:
        """YAML reads `off` as false."""
        return "off" if value is False else value

    @field_validator("gateway_urls", mode="after")
    @classmethod
    def _base_urls(cls, urls: list[str]) -> list[str]:
        return [check_base_url(url) for url in urls]

    @field_validator("advertised_url", "gateway_dns_url", mode="after")
    @classmethod
    def _base_url(cls, url: str) -> str:
        return check_base_url(url) if url else ""

    @field_validator("gateway_dns_url", mode="after")
    @classmethod
    def _plain_http(cls, url: str) -> str:
        if url.startswith("https:"):
            raise ValueError("gateways are reached by their addresses, for which there are no certificates")
        return url

    @model_validator(mode="after")
    def _gateways_need_an_address(self) -> Self:
        dials_in = self.gateway_urls or self.gateway_dns_url
        if dials_in and not self.advertised_url and self.host in ("0.0.0.0", "::"):
            raise ValueError("listening on every address, gateways need to be told one: set advertised_url")
        return self

    @model_validator(mode="after")
    def _every_slot_fits_into_a_step(self) -> Self:
        if self.max_num_batched_tokens is not None and self.max_num_batched_tokens < self.slots:
            raise ValueError(
                f"max_num_batched_tokens {self.max_num_batched_tokens} is below slots {self.slots}: a step "
                "could not serve every stream"
            )
        return self

    def engine_options(self) -> dict[str, Any]:
        """The settings that were chosen, as fields of `models.voxcpm.options.EngineOptions`."""
        return self._chosen(
            "max_decodes", "max_step_seconds", "adapter_slots", "adapter_rank", "adapter_layers"
        )

    def text_options(self) -> dict[str, Any]:
        """The settings that were chosen, as fields of `models.llm.options.TextOptions`."""
        chosen = self._chosen("gpu_memory_utilization", "kv_offload", "gpu_kv_blocks")
        return chosen | (self._shared_host() if self.kv_offload and not self.kv_host_gib else {})

    def _chosen(self, *more: str) -> dict[str, Any]:
        """Options of every engine, and `more`. Imports PyTorch."""
        from engine.attention.selection import BLOCK_SIZES

        names = (
            "max_model_len", "kv_blocks", "block_size", "graphs", "max_num_batched_tokens",
            "max_prefill_tokens", "cpu_weights", "tensor_parallel_size", *more,
        )  # fmt: skip
        chosen = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.attention in BLOCK_SIZES:
            chosen.setdefault("block_size", BLOCK_SIZES[self.attention])
        return {**chosen, **self._second_tier(), "attention_backend": self.attention}

    def _second_tier(self) -> dict[str, Any]:
        """Options of the KV cache's second tier."""
        size = self._shared_host() if self.kv_host_gib == "auto" else {"kv_host_gib": self.kv_host_gib}
        return {**size, "kv_bring_back": self.kv_bring_back}

    def _shared_host(self) -> dict[str, Any]:
        """Workers of a machine share what is available."""
        return {"kv_host_gib": None, "kv_host_share": KV_HOST_SHARE / self.workers_on_machine}

    @model_validator(mode="after")
    def _open_network_needs_a_secret(self) -> Self:
        if self.secret is not None and not self.secret.get_secret_value():
            raise ValueError("secret is empty; leave it out to serve clients on this machine alone")
        if self.secret is not None:
            check_secret(self.secret.get_secret_value())
        if self.secret is None and not is_loopback(self.host):
            raise ValueError("listening beyond this machine needs a secret (VOXFLEET_WORKER_SECRET)")
        return self


def load_settings(config_file: Path | str | None = None, **options: Any) -> WorkerSettings:
    """Settings from file, environment and `options`. Raises SettingsError."""
    section = _read_section(Path(config_file)) if config_file is not None else {}
    try:
        return WorkerSettings.read(section, options)
    except ValidationError as error:
        raise SettingsError("; ".join(each_problem(error))) from None
    except (OSError, ValueError) as error:  # of the files of secrets, or the environment
        raise SettingsError(in_words(error)) from None


def _read_section(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    section = content.get("worker") or {} if isinstance(content, dict) else None
    if not isinstance(section, dict):
        raise SettingsError(f"{path}: the section `worker` is no mapping")
    return section
