"""Where telemetry goes, what is sent, and which traces are kept; the same settings for gateway and worker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

Signal = Literal["traces", "metrics", "logs"]


def _check_endpoint(url: str) -> str:
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query):
        raise ValueError("not a URL such as http://collector:4318")
    if parts.username or parts.password:
        raise ValueError("secrets belong into otlp_headers")
    return url.rstrip("/")


def split_commas(value: object) -> object:
    """A list that the environment has as one text."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


class TelemetrySettings(BaseModel):
    """OpenTelemetry. Needs the extra `otel` where `otlp_endpoint` is set."""

    otlp_endpoint: Annotated[str, AfterValidator(_check_endpoint)] = ""
    """A receiver of OTLP over HTTP (`http://collector:4318`). Empty: nothing is sent, nothing is measured."""
    otlp_headers: dict[str, SecretStr] = Field(default_factory=dict)
    """What it wants to be shown with each request, `{name: value}`, in the environment as JSON."""
    otlp_certificate: Path | None = None
    """PEM file of the authority that vouches for it. None: those that the system knows."""
    otlp_signals: Annotated[tuple[Signal, ...], NoDecode, BeforeValidator(split_commas)] = (
        "traces",
        "metrics",
        "logs",
    )
    """What is sent; a comma-separated string is split."""
    otlp_metrics_seconds: Annotated[float, Field(ge=1, le=3600)] = 30.0
    """Between two times that metrics are sent."""
    trace_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """The share that is kept of traces that begin here. Those whose client keeps them, those with an
    error and slow ones are kept on top.
    """
    trace_slow_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """A request whose first audio took longer is slow."""
    trace_most_per_second: Annotated[float, Field(gt=0, le=100_000)] = 20.0
    """Traces that are kept at most, on average over ten seconds, whoever asks for it."""
