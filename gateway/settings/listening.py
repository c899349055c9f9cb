"""What the gateway listens on, and what a connection may do."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from gateway.settings.kinds import Bytes, CommaList, Networks, Origins, Seconds

REPOSITORY = Path(__file__).resolve().parent.parent.parent


class ListeningSettings(BaseModel):
    """What the gateway listens on, and what a connection may do."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8006
    wyoming_port: Annotated[int, Field(ge=0, le=65535)] | None = None
    """TCP port for Home Assistant's Wyoming protocol, which knows no keys and no encryption; None: closed."""
    tls_certificate: Path | None = None
    """PEM file of a certificate and its chain. With it and `tls_key` the port speaks HTTPS and WSS alone.
    Both are read again when they change.
    """
    tls_key: Path | None = None
    """PEM file of the certificate's private key, which needs no password."""
    trusted_proxies: Networks = Field(default_factory=list)
    """Networks of reverse proxies whose X-Forwarded-For tells one client from another."""
    allowed_origins: Origins = Field(default_factory=list)
    """Further origins, such as https://example.org, whose pages may use the service."""
    allowed_hosts: CommaList = Field(default_factory=list)
    """Host names under which the service is reached: `tts.example.org`, `*.example.org`, `*` for any.
    Addresses, localhost, names without a dot and this machine's name are always right.
    """
    max_connections: Annotated[int, Field(gt=0)] = 20_000
    """Connections at once, three quarters of the open files that the process may have at most."""
    max_connections_per_address: Annotated[int, Field(ge=0)] = 0
    """Connections at once of one address that is no trusted proxy; 0: half of `max_connections`."""
    max_body_bytes: Bytes = 1 << 20
    """Size of an HTTP body, but for uploads of audio."""
    body_timeout_seconds: Seconds = 10.0
    """How long a body may take; for the upload of a voice, which gets two minutes, the longest silence in it.
    """
    max_message_bytes: Bytes = 1 << 20
    """Size of a WebSocket message of a client."""
    max_messages_per_second: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 20.0
    """Messages, pings and pongs of one WebSocket; more close it with 1008."""
    live_messages_per_second: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 200.0
    """`max_messages_per_second` of live sessions, whose text may come token by token."""
    first_message_timeout_seconds: Seconds = 10.0
    """How long a connection may stay open without a request."""
    client_buffer_bytes: Bytes = 4 << 20
    """Audio held for a client that reads slower than it is generated; more ends the stream."""
    client_stall_seconds: Seconds = 30.0
    """How long a client may leave unread what was written to it, or be out of reach while it waits."""
    shutdown_seconds: Seconds = 10.0
    """How long running requests may go on after SIGTERM."""
    instance: str | None = None
    """What `/health` calls this process, so that who started it knows it from another server at its port."""
    expose_openapi: bool = False
    """Show the description of the API (/openapi.json, and on the page /docs) to everybody. Else it is for
    who shows an API key or the admin token."""
    frontend_dir: Path = REPOSITORY / "frontend"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @model_validator(mode="after")
    def _usable_certificate(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key belong together: give both or neither")
        if self.tls_certificate is not None:
            try:
                for file in (self.tls_certificate, self.tls_key):
                    file.open("rb").close()  # what is wrong with a file, ssl tells without its name
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self.tls_certificate, self.tls_key, password=lambda: "")
            except OSError as error:  # an SSLError is one
                raise ValueError(f"tls_certificate and tls_key cannot be used: {error}") from None
        return self
