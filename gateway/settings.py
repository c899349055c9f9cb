"""Every setting of the gateway, in one typed object.

Sources, the later wins: the `gateway:` section of a YAML file, environment variables `VOXFLEET_...`
(upper-case field names), the command line. `load_settings(config_file, port=9000)` takes all three; an option
that is None was not given. A wrong value is fatal; an unknown key of the file is reported by name and
ignored.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
import ssl
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import structlog
import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, InitSettingsSource, NoDecode, SettingsConfigDict
from pydantic_settings import PydanticBaseSettingsSource as Source

from gateway.slots.standing import Priority
from sockets.guesses import check_secret
from worker.protocol import check_base_url

logger = structlog.get_logger(__name__)

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Bytes = Annotated[int, Field(gt=0)]
REPOSITORY = Path(__file__).resolve().parent.parent
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
PRIVATE_NETWORKS = ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
"""Loopback, RFC 1918, RFC 4193."""
_WORKER_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
DATABASE_FILE = "voxfleet.db"
"""In `data_dir`, where no other database is named."""


def _sendable(secret: SecretStr) -> SecretStr:
    """Raises ValueError for what clients put into a header in different bytes, or not at all."""
    value = secret.get_secret_value()
    if not (value.isascii() and value.isprintable()):
        raise ValueError("what is sent in a header has printable ASCII characters only")
    return secret


HeaderSecret = Annotated[SecretStr, AfterValidator(_sendable)]


class ApiKey(BaseModel):
    """One entry of `api_keys`: a client that is known by name."""

    model_config = ConfigDict(extra="forbid")

    key: HeaderSecret
    """The key itself, or `sha256:` and the hexadecimal digest of it."""
    priority: Priority = Priority.INTERACTIVE
    """The highest class that its requests may ask for."""
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Its share of the audio when there is not enough for all, against 1 of everybody else."""
    max_streams: Annotated[int, Field(ge=0)] = 0
    """Requests it may have at once, waiting ones included; 0: any number."""

    @field_validator("key", mode="after")
    @classmethod
    def _hard_to_guess(cls, key: SecretStr) -> SecretStr:
        value = key.get_secret_value()
        if not value.startswith("sha256:"):
            check_secret(value)
        elif not _DIGEST.fullmatch(value):
            raise ValueError("sha256: must be followed by 64 hexadecimal digits")
        return key

    @property
    def digest(self) -> str:
        """SHA-256 of the key, hexadecimal."""
        value = self.key.get_secret_value()
        if value.startswith("sha256:"):
            return value.removeprefix("sha256:")
        return hashlib.sha256(value.encode()).hexdigest()


class GatewaySettings(BaseSettings):
    """Limits, deadlines and addresses of one gateway process."""

    model_config = SettingsConfigDict(env_prefix="VOXFLEET_", extra="forbid", validate_default=True)

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8006
    wyoming_port: Annotated[int, Field(ge=0, le=65535)] | None = None
    """TCP port for Home Assistant's Wyoming protocol, which knows no keys and no encryption; None: closed."""
    tls_certificate: Path | None = None
    """PEM file of a certificate and its chain. With it and `tls_key` the port speaks HTTPS and WSS alone."""
    tls_key: Path | None = None
    """PEM file of the certificate's private key, which needs no password."""
    worker_urls: Annotated[list[str], NoDecode] = Field(default_factory=list)
    """Base URLs of the workers; a comma-separated string is split."""
    worker_secret: HeaderSecret | None = None
    """Sent to workers as a bearer token."""
    worker_secrets: dict[str, HeaderSecret] = Field(default_factory=dict)
    """Secrets of single workers that dial in, `{id: secret}`, in the environment as JSON. Each is good for
    its own id alone, and nothing else is good for that id.
    """
    worker_networks: Annotated[list[str], NoDecode] = Field(default_factory=lambda: list(PRIVATE_NETWORKS))
    """Networks from which workers dial in, and in which the addresses lie that they give: by default loopback
    and private ones.
    """
    admin_token: HeaderSecret | None = None
    """What the admin API asks for. None: a token that is made at the first start and kept in `data_dir`."""
    metrics_token: HeaderSecret | None = None
    """What /metrics asks for; the admin token opens it too."""
    expose_metrics: bool = False
    """Serve /metrics to everybody."""
    api_keys: dict[str, ApiKey] = Field(default_factory=dict)
    """Clients known by name: `{name: {key, priority, weight, max_streams}}`, in the environment as JSON."""
    anonymous: bool = True
    """Serve clients without an API key too, each address being one client."""
    anonymous_priority: Priority = Priority.DEFAULT
    """The highest class that requests without a key may ask for."""
    anonymous_max_streams: Annotated[int, Field(ge=0)] = 0
    """Requests that one address may have at once without a key, waiting ones included; 0: any number."""
    trusted_proxies: Annotated[list[str], NoDecode] = Field(default_factory=list)
    """Networks of reverse proxies whose X-Forwarded-For tells one client from another."""
    allowed_origins: Annotated[list[str], NoDecode] = Field(default_factory=list)
    """Further origins, such as https://example.org, whose pages may use the service."""
    allowed_hosts: Annotated[list[str], NoDecode] = Field(default_factory=list)
    """Host names under which the service is reached: `tts.example.org`, `*.example.org`, `*` for any.
    Addresses, localhost, names without a dot and this machine's name are always right.
    """
    max_connections: Annotated[int, Field(gt=0)] = 20_000
    """Connections at once, three quarters of the open files that the process may have at most."""
    max_connections_per_address: Annotated[int, Field(ge=0)] = 0
    """The same of one address that is no trusted proxy; 0: half of all."""
    frontend_dir: Path = REPOSITORY / "frontend"
    data_dir: Path = Path("data")
    """Where voices, sessions, jobs and the database are kept."""
    database_url: SecretStr | None = None
    """postgresql://USER:PASSWORD@HOST/NAME, or sqlite:///PATH. None: a SQLite file in `data_dir`."""
    record_sessions: Literal["off", "ask", "all"] = "ask"
    """Whose sessions are recorded: nobody's, theirs who ask with `record`, or everybody's."""
    session_retention_days: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 90
    """How long a session, or a job, is kept from its beginning on; 0: for ever."""
    session_max_storage_gb: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 20
    """10^9 bytes of all sessions, and as many of all jobs; beyond them the least recently used go. 0: any
    number.
    """
    session_max_owner_gb: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 5
    """The same of one owner's, an API key or an address."""
    min_free_disk_gb: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1
    """10^9 bytes that recordings and voices leave free where `data_dir` is; 0: none."""
    provenance_note: bool = True
    """Files of generated speech, and HTTP answers with it, say who made it and that a model did."""
    watermark: bool = False
    """Mark all speech inaudibly (Perth); `voxfleet detect` finds it. Needs the extra `watermark`."""
    aligner: str = "auto"
    """Who listens to speech to tell when its words are said: a folder with a Whisper model for CTranslate2,
    `off`, or `auto`, the model of the extra `align` where that is installed. Otherwise times are estimated.
    """
    expose_openapi: bool = False
    """Serve /openapi.json."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    max_jobs: Annotated[int, Field(ge=0)] = 1000
    """Jobs that the service keeps, finished ones included."""
    max_jobs_per_owner: Annotated[int, Field(ge=0)] = 50
    """The same of one owner's, an API key or an address."""
    max_job_characters: Annotated[int, Field(gt=0)] = 1_000_000
    """Longest text of a job."""
    jobs_at_once: Annotated[int, Field(gt=0)] = 2
    """Jobs that a gateway works on at the same time, each on one slot at most."""

    max_queue: Annotated[int, Field(ge=0)] = 1000
    """Requests that may wait; more are refused with 429."""
    max_text_characters: Annotated[int, Field(gt=0)] = 100_000
    """Of a request whose audio comes while it is generated."""
    max_clip_characters: Annotated[int, Field(gt=0)] = 4096
    """Of one whose audio is sent as one whole file, which is in memory until it is complete."""
    max_audio_seconds: Seconds = 7200.0
    """Bound of `min_seconds` and `max_seconds` of a request, and of the speech of every clip."""
    max_clip_seconds: Seconds = 600.0
    """The same of a clip that is sent as one whole file."""
    max_body_bytes: Bytes = 1 << 20
    """Size of an HTTP body, but for uploads of audio."""
    max_voice_bytes: Bytes = 20 << 20
    """Size of the audio file of a voice."""
    max_encode_bytes: Bytes = 128 << 20
    """Size of a WAV file that a client has encoded in another format."""
    max_voices: Annotated[int, Field(ge=0)] = 1000
    """Custom voices that the service keeps."""
    voice_aliases: dict[str, str] = Field(default_factory=dict)
    """Further names of voices: `{alias: name or id}`, in the environment as JSON. Case does not matter."""
    lexicon_file: Path | None = None
    """How words are said, for everybody: a YAML or JSON file of words and what is said for them."""
    max_lexicons: Annotated[int, Field(ge=0)] = 1000
    """Clients whose lexicons the service keeps."""
    max_lexicon_entries: Annotated[int, Field(ge=0, le=10_000)] = 1000
    """Words in the lexicon of one client, and in the service's beside its file."""
    max_voices_per_owner: Annotated[int, Field(ge=0)] = 100
    """Custom voices of one client."""
    body_timeout_seconds: Seconds = 10.0
    """How long a body may take; for the upload of a voice, which gets two minutes, the longest silence in it.
    """
    max_message_bytes: Bytes = 1 << 20
    """Size of a WebSocket message of a client."""
    max_messages_per_second: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 20.0
    """Messages and pings of one WebSocket; more close it with 1008."""
    live_messages_per_second: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 200.0
    """The same for live sessions, whose text may come token by token."""
    live_session_seconds: Seconds = 3600.0
    """How long a live session may last."""
    live_idle_seconds: Seconds = 120.0
    """After so long without new text and speech, a live session that is not paused is warned, then closed."""
    live_pause_seconds: Seconds = 60.0
    """How long a paused live session keeps its slot."""
    live_slot_seconds: Seconds = 10.0
    """How long a live session with nothing to say keeps its slot."""
    live_flush_seconds: Seconds = 3.0
    """Text that stops in mid-sentence is spoken after so long; what may be a sentence after a tenth of it."""
    live_text_characters: Annotated[int, Field(gt=0)] = 8192
    """Appended text of a live session that nobody has begun to speak; more is refused."""

    queue_timeout_seconds: Seconds = 300.0
    """How long a request may wait for its first slot; refused at once when the wait would be longer."""
    bulk_ageing_seconds: Seconds = 30.0
    """After this wait, bulk requests get every other free slot, whatever waits in higher classes."""
    request_timeout_seconds: Seconds = 14_400.0
    """How long a request may take from its arrival to its last audio."""
    no_worker_grace_seconds: Seconds = 10.0
    """How long waiting requests are kept when no worker is left that could serve them."""
    failover_timeout_seconds: Seconds = 10.0
    """How long a broken stream may wait for a slot once its client has played what it has."""
    max_migrations: Annotated[int, Field(ge=0)] = 3
    """How often one clip may move to another worker because of a fault."""
    max_retakes: Annotated[int, Field(ge=0, le=2)] = 2
    """How often a part of a text that went wrong is spoken again; 0: never."""
    retry_ratio: Annotated[float, Field(ge=0, le=1)] = 0.2
    """Retries per request, over ten seconds, that the gateway affords on top of the loss of one worker."""

    connect_timeout_seconds: Seconds = 1.0
    """Bound of opening a connection to a worker."""
    accept_timeout_seconds: Seconds = 2.0
    """Bound of a worker's answer to a request."""
    frame_timeout_seconds: Seconds = 0.5
    """Longest silence between two frames, heartbeats included."""
    stall_timeout_seconds: Seconds = 20.0
    """How long a worker's heartbeats may show an engine that stands still."""
    cancel_timeout_seconds: Seconds = 0.5
    """How long a worker may take to confirm a cancel before its connection is cut."""

    health_interval_seconds: Seconds = 1.0
    health_timeout_seconds: Seconds = 2.0
    health_retry_seconds: Seconds = 0.25
    """Interval of probes to a worker that does not answer or still loads."""
    health_failures_down: Annotated[int, Field(gt=0)] = 3
    """Failed probes in a row after which a suspect worker counts as down."""

    first_message_timeout_seconds: Seconds = 10.0
    """How long a connection may stay open without a request."""
    client_buffer_bytes: Bytes = 4 << 20
    """Audio held for a client that reads slower than it is generated; more ends the stream."""
    client_stall_seconds: Seconds = 30.0
    """How long a client may leave unread what was written to it, or be out of reach while it waits."""
    shutdown_seconds: Seconds = 10.0
    """How long running requests may go on after SIGTERM."""

    resume_secret: SecretStr | None = None
    """What resume tokens are sealed with; the same at all gateways. None: a secret that is made at the first
    start and kept in `data_dir`.
    """
    resume_seconds: Seconds = 300.0
    """How long after its last audio a clip can be resumed."""
    max_resume_bytes: Bytes = 8 << 20
    """Size of a resume token: of the request, and of the part of its text that is being spoken. Ten minutes
    of speech fit.
    """

    @field_validator(
        *("worker_urls", "worker_networks", "allowed_origins", "allowed_hosts", "trusted_proxies"),
        mode="before",
    )
    @classmethod
    def _split_commas(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("record_sessions", "aligner", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: Any) -> Any:
        return "off" if value is False else value  # which is how YAML reads it

    @field_validator("worker_urls", mode="after")
    @classmethod
    def _http_urls(cls, urls: list[str]) -> list[str]:
        cleaned = [check_base_url(url if "//" in url else f"http://{url}") for url in urls]
        if len(set(cleaned)) != len(cleaned):
            raise ValueError("a worker is named twice")
        return cleaned

    @field_validator("trusted_proxies", "worker_networks", mode="after")
    @classmethod
    def _networks(cls, networks: list[str]) -> list[str]:
        return [str(ipaddress.ip_network(network, strict=False)) for network in networks]

    @field_validator("api_keys", mode="after")
    @classmethod
    def _distinct_keys(cls, keys: dict[str, ApiKey]) -> dict[str, ApiKey]:
        if len({key.digest for key in keys.values()}) != len(keys):
            raise ValueError("two names have the same key")
        return keys

    @field_validator("voice_aliases", mode="after")
    @classmethod
    def _distinct_aliases(cls, aliases: dict[str, str]) -> dict[str, str]:
        if len({name.casefold() for name in aliases}) != len(aliases):
            raise ValueError("two aliases differ in nothing but upper and lower case")
        return aliases

    @field_validator("worker_secrets", mode="after")
    @classmethod
    def _one_secret_per_worker(cls, secrets: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for worker_id, secret in secrets.items():
            if not _WORKER_ID.fullmatch(worker_id):
                raise ValueError("the id of a worker has 1 to 64 characters of A-Z, a-z, 0-9, _, . and -")
            check_secret(secret.get_secret_value())
        if len({secret.get_secret_value() for secret in secrets.values()}) != len(secrets):
            raise ValueError("two workers have the same secret")
        return secrets

    @model_validator(mode="after")
    def _usable_certificate(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key belong together: give both or neither")
        if self.tls_certificate is not None:
            try:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self.tls_certificate, self.tls_key, password=lambda: "")
            except OSError as error:  # an SSLError is one
                raise ValueError(f"tls_certificate and tls_key cannot be used: {error}") from None
        return self

    @model_validator(mode="after")
    def _no_worker_has_the_shared_secret(self) -> Self:
        shared = self.worker_secret and self.worker_secret.get_secret_value()
        if shared and any(secret.get_secret_value() == shared for secret in self.worker_secrets.values()):
            raise ValueError("worker_secrets: a worker's own secret is the shared worker_secret")
        return self

    @field_validator("worker_secret", "admin_token", "metrics_token", "resume_secret", mode="after")
    @classmethod
    def _hard_to_guess(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None and secret.get_secret_value():
            check_secret(secret.get_secret_value())
        return secret

    @property
    def database(self) -> str:
        """The URL of the database."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite:///{self.data_dir / DATABASE_FILE}"

    @field_validator(
        "worker_secret", "admin_token", "metrics_token", "resume_secret", "database_url", mode="after"
    )
    @classmethod
    def _empty_is_none(cls, secret: SecretStr | None) -> SecretStr | None:
        return secret if secret is not None and secret.get_secret_value() else None


def load_settings(config_file: Path | None = None, **options: Any) -> GatewaySettings:
    """Settings from `config_file` (default: $VOXFLEET_CONFIG, else none), the environment and `options`.

    Raises FileNotFoundError, ValueError (not a mapping) and pydantic.ValidationError (a wrong value).
    """
    if config_file is None and (named := os.environ.get("VOXFLEET_CONFIG")):
        config_file = Path(named)
    file_values = _read_section(config_file) if config_file else {}

    class SettingsWithFile(GatewaySettings):
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], init_settings: Source, env_settings: Source, **_: Source
        ) -> tuple[Source, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=file_values)

    return SettingsWithFile(**{name: value for name, value in options.items() if value is not None})


def _read_section(path: Path) -> dict[str, Any]:
    """The `gateway:` section of a YAML file, without keys that are no settings."""
    document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    section = document.get("gateway") or {} if isinstance(document, dict) else None
    if not isinstance(section, dict):
        raise ValueError(f"{path}: expected a mapping with a section 'gateway:'")
    for key in section.keys() - GatewaySettings.model_fields.keys():
        logger.warning("unknown setting is ignored", file=str(path), setting=f"gateway.{key}")
    return {key: value for key, value in section.items() if key in GatewaySettings.model_fields}
