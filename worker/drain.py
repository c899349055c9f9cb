"""`voxfleet drain`: has the worker that runs with the same settings finish what it has, and waits for that.

What a container runs before it is stopped (Kubernetes: preStop): gateways send nothing new from then on, and
SIGTERM finds nothing open.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import httpx
from pydantic import ValidationError

from worker.protocol import WorkerStatus
from worker.settings import SettingsError, WorkerSettings, load_settings

_POLL_SECONDS = 0.2
_ANSWER_SECONDS = 5.0
_MOST_CHARACTERS = 200
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def run(*, wait_seconds: float, config: Path | str | None = None, port: int | None = None) -> int:
    """0: no request is open any more; 1: some are, after `wait_seconds`, or no worker answers; 2: a wrong
    setting.
    """
    try:
        settings = load_settings(config, port=port)
    except SettingsError as error:
        print(f"voxfleet drain: {error}", file=sys.stderr)
        return 2
    try:
        still_open = drain(settings, wait_seconds)
    except httpx.HTTPStatusError as error:
        what = f"{_url(settings)} answers {error.response.status_code}: {_reason(error.response)}"
        print(f"voxfleet drain: {what}", file=sys.stderr)
        return 1
    except (httpx.HTTPError, ValidationError) as error:
        what = f"the worker does not answer at {_url(settings)}: {type(error).__name__}"
        print(f"voxfleet drain: {what}", file=sys.stderr)
        return 1
    if still_open:
        print(f"voxfleet drain: {still_open} requests are open after {wait_seconds:g} s", file=sys.stderr)
    return 1 if still_open else 0


def drain(settings: WorkerSettings, wait_seconds: float) -> int:
    """Requests that are open when there are none, or after `wait_seconds`. Raises httpx.HTTPError."""
    secret = settings.secret
    headers = {"Authorization": f"Bearer {secret.get_secret_value()}"} if secret else {}
    deadline = time.monotonic() + wait_seconds
    with httpx.Client(
        base_url=_url(settings), headers=headers, timeout=_ANSWER_SECONDS, trust_env=False
    ) as http:
        status = _status(http.post("/drain"))
        while status.slots_used and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            status = _status(http.get("/health"))
    return status.slots_used


def _url(settings: WorkerSettings) -> str:
    host = _ANY_ADDRESS.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def _reason(response: httpx.Response) -> str:
    """What the worker says, or whatever else listens there."""
    try:
        return str(response.json()["error"]["message"])[:_MOST_CHARACTERS]
    except (ValueError, TypeError, LookupError):
        return "it is no worker, as it seems"


def _status(response: httpx.Response) -> WorkerStatus:
    return WorkerStatus.model_validate_json(response.raise_for_status().content)
