"""How long requests wait and last, and what follows a fault."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from gateway.settings.kinds import Bytes, OptionalSecret, Seconds


class StreamSettings(BaseModel):
    """How long requests wait and last, and what follows a fault."""

    max_queue: Annotated[int, Field(ge=0)] = 1000
    """Requests that may wait; more are refused with 429."""
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
    resume_secret: OptionalSecret = None
    """What resume tokens are sealed with; the same at all gateways. None: a secret that is made at the first
    start and kept in `data_dir`. Links, and salts of cached prompts, depend on it, too.
    """
    resume_seconds: Seconds = 300.0
    """How long after its last audio a clip can be resumed."""
    max_resume_bytes: Bytes = 8 << 20
    """Size of a resume token: of the request, and of the part of its text that is being spoken. Ten minutes
    of speech fit.
    """
