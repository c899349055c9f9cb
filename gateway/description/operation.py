"""What is said of one route beside what its code says.

Operation(
    "GET", "/api/jobs/{id}", "How far a job is",
    parameters={"id": Given("job")},
    until=("job.state", "complete"),
)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

Access = Literal["public", "user", "admin", "metrics", "worker"]
"""Who may call it. public: everybody; user: who may use the service, with a key where it asks for keys."""


@dataclass(frozen=True)
class Given:
    """A value that an earlier answer gave, such as an id; examples show the recorded one."""

    name: str


@dataclass(frozen=True)
class Operation:
    """One route, by method ("WEBSOCKET" for a socket) and path as OpenAPI writes it."""

    method: str
    path: str
    summary: str
    access: Access = "user"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values for the path and the query."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """Sent as JSON."""
    form: Mapping[str, Any] = field(default_factory=dict)
    """Fields of multipart/form-data beside the file."""
    file: str | None = None
    """Name of the form's file; with `upload` the file is the body itself."""
    upload: str | None = None
    """Media type of the file."""
    fields: type[BaseModel] | None = None
    """Of the form, or of the query of a route that reads it by itself."""
    media: Sequence[str] = ()
    """Media types that answers may have, where that of the example is one of several."""
    gives: Mapping[str, str] = field(default_factory=dict)
    """Name -> place in the answer ("job.id") or header ("X-Session-Id") of a value that others are given."""
    until: tuple[str, Any] | None = None
    """Asked again until this place in the answer has this value."""
    messages: Sequence[Mapping[str, Any]] = ()
    """What a client sends over a socket."""
    packed: bool = False
    """Whether these, and what comes, are MessagePack, and not JSON."""
    last: str | None = None
    """The type of the message after which the client closes a socket; None: the gateway closes."""

    @property
    def name(self) -> str:
        """`GET /api/jobs/{id}`, by which answers are kept."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class Tag:
    """A group of operations."""

    name: str
    description: str
    operations: Sequence[Operation]


def filled(value: Any, known: Mapping[str, Any]) -> Any:
    """`value` with what is known in each place of a `Given`; `<name>` where nobody has given it."""
    if isinstance(value, Given):
        return known.get(value.name, f"<{value.name}>")
    if isinstance(value, Mapping):
        return {key: filled(each, known) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [filled(each, known) for each in value]
    return value
