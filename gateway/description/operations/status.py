"""How the service is."""

from __future__ import annotations

from gateway.description.operation import Operation, Tag

TAG = Tag(
    "Service",
    "Whether the service can speak, what it offers, and how it does.",
    (
        Operation("GET", "/health", "Whether the gateway runs", access="public"),
        Operation("GET", "/ready", "Whether speech can be made now", access="public"),
        Operation("GET", "/version", "Which version runs", access="public"),
        Operation("GET", "/api/config", "Models, formats and limits", access="public"),
        Operation("GET", "/api/pages", "Which pages are on", access="public"),
        Operation("GET", "/metrics", "Metrics for Prometheus", access="metrics"),
    ),
)
