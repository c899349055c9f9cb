"""What is said to a gateway about the fleet, and what it answers: `/api/fleet`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError

from gateway.files.kept_secrets import ADMIN_TOKEN, read_secret
from gateway.operations.fleet_messages import FleetOrders, FleetReport
from gateway.settings import GatewaySettings
from sockets.authorities import authorities

_PATH = "/api/fleet"
_ANSWER_SECONDS = 5.0


class DeskError(RuntimeError):
    """The gateway did not answer as it should; worded for the user."""


class ModelSeen(BaseModel):
    """Totals of one model, see `gateway/slots/demand.py`, and its line."""

    requests: int = 0
    audio_seconds_asked: float = 0.0
    first_audios: int = 0
    late: int = 0
    refused: int = 0
    underruns: int = 0
    waiting: int = 0
    longest_wait_seconds: float = 0.0
    last_request_seconds_ago: float | None = None
    last_served_seconds_ago: float | None = None


TOTALS = ("requests", "audio_seconds_asked", "first_audios", "late", "refused", "underruns")
"""Fields of it that only grow while a gateway runs."""


class WorkerSeen(BaseModel):
    """One worker, as the gateway knows it."""

    id: str
    boot: str | None
    state: str
    slots_used: int
    model: str | None
    audio_seconds: float
    writes: bool = False
    """It has a text model."""

    @property
    def serving(self) -> bool:
        """Whether it takes requests."""
        return self.state in ("IDLE", "BUSY")


class Seen(BaseModel):
    """All that a gateway knows."""

    boot: str
    """The boot id of the process, whose totals begin at zero."""
    orders: FleetOrders
    models: dict[str, ModelSeen]
    workers: list[WorkerSeen]


@dataclass
class Desk:
    """The way of the controller to its gateway."""

    http: httpx.AsyncClient
    """With the address of the gateway, and `admin_headers`."""

    async def exchange(self, report: FleetReport) -> Seen:
        """Report, and hear what there is. Raises DeskError."""
        answer = await self._send("PUT", _PATH, report.model_dump(mode="json"))
        try:
            return Seen.model_validate(answer.json())
        except (ValidationError, ValueError) as error:
            raise DeskError("the gateway answers like no gateway") from error

    async def is_over(self) -> bool:
        """Whether an operator ended the fleet. Raises DeskError."""
        answer = (await self._send("GET", _PATH)).json()
        return bool(answer["orders"]["down"])

    async def drain(self, worker: str) -> None:
        """Have a worker take nothing new; what it streams moves to others as they have room. Raises
        DeskError.
        """
        await self._send("POST", f"/api/workers/{worker}/drain?streams=move")

    async def _send(self, method: str, path: str, json: Any = None) -> httpx.Response:
        try:
            answer = await self.http.request(method, path, json=json, timeout=_ANSWER_SECONDS)
        except httpx.HTTPError as error:
            raise DeskError(f"the gateway does not answer: {type(error).__name__}") from error
        return checked(answer)


@dataclass
class Counter:
    """The way of an operator's command to the gateway."""

    url: str
    token: str = field(repr=False)

    def fleet(self) -> dict[str, Any]:
        """The report of the fleet that runs. Raises DeskError, also where none runs."""
        answer = self._send("GET", _PATH)
        if answer["fleet"] is None:
            raise DeskError(f"no fleet reports to the gateway at {self.url}")
        return answer

    def order(self, orders: FleetOrders) -> None:
        """Leave orders. Raises DeskError."""
        self._send("POST", f"{_PATH}/orders", orders.model_dump())

    def is_there(self) -> bool:
        """Whether a gateway answers."""
        try:
            httpx.get(f"{self.url}/health", timeout=_ANSWER_SECONDS, trust_env=False, verify=authorities())
        except httpx.HTTPError:
            return False
        return True

    def _send(self, method: str, path: str, json: Any = None) -> dict[str, Any]:
        try:
            answer = httpx.request(
                method,
                self.url + path,
                json=json,
                headers=admin_headers(self.token),
                timeout=_ANSWER_SECONDS,
                trust_env=False,
                verify=authorities(),
            )
        except httpx.HTTPError as error:
            raise unanswered(self.url, error) from error
        return checked(answer).json()


def unanswered(url: str, error: httpx.HTTPError) -> DeskError:
    """The error for a gateway at `url` that does not answer, with the cause."""
    reason = f": {error}" if str(error) else ""
    return DeskError(f"no gateway answers at {url}: {type(error).__name__}{reason}")


def admin_headers(token: str) -> dict[str, str]:
    """What opens the admin API."""
    return {"X-Admin-Token": token}


def admin_token(settings: GatewaySettings) -> str:
    """The admin token of the settings, else the one that the gateway keeps. Raises DeskError."""
    if settings.admin_token is not None:
        return settings.admin_token.get_secret_value()
    file = settings.data_dir / ADMIN_TOKEN
    return _kept(file)


def _kept(file: Path) -> str:
    try:
        token = read_secret(file)
    except (OSError, ValueError) as error:
        raise DeskError(f"the admin token cannot be read: {error}") from error
    if token is None:
        raise DeskError(
            f"no admin token: set VOXFLEET_ADMIN_TOKEN, or name the data_dir that has {file.name}"
        )
    return token


def checked(answer: httpx.Response) -> httpx.Response:
    """The answer. Raises DeskError with the gateway's words where it is none of success."""
    if answer.is_success:
        return answer
    raise DeskError(f"the gateway refuses: {message_of(answer)}")


def message_of(refusal: httpx.Response) -> str:
    """The gateway's words, else the status."""
    try:
        return refusal.json()["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return f"HTTP {refusal.status_code}"
