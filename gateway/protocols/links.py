"""Signed links: whoever has one hears a certain clip for a while, without a key.

    POST /tts/links {"text": "Hello.", "expires_in": 60}
    {"url": "/tts/links/gAAAA...mp3", "expires_at": 1767225600.0}

For players that cannot send a header: `<audio src>`, smart speakers. A link holds the request and who asked
for it, encrypted and authenticated (Fernet) under a key that is derived from the resume secret. So it tells
nobody the text, every gateway with the same secret knows it, and the clip counts as its maker's.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from typing import Annotated, Any

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, ValidationError

from gateway.audio.formats import AudioFormat
from gateway.errors import ApiError
from gateway.protocols.play import check_playable, play
from gateway.requests import ClipRequest, check_limits
from gateway.service import GatewayDep

router = APIRouter()

PATH = "/tts/links"
_PURPOSE = b"voxfleet link 1"
_MOST_SECONDS = 3600


class LinkRequest(ClipRequest):
    """A clip that is asked for now and heard later."""

    format: AudioFormat = "mp3"
    stream: bool = True
    expires_in: Annotated[int, Field(ge=1, le=_MOST_SECONDS)] = 300
    """Seconds."""


class _Content(BaseModel):
    """What a link holds."""

    order: ClipRequest
    tenant: str
    expires_at: float


class Links:
    """Makes and reads them. Gateways with one `secret` understand each other."""

    def __init__(self, secret: bytes, clock: Callable[[], float] = time.time) -> None:
        key = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(secret)
        self._fernet = Fernet(base64.urlsafe_b64encode(key))
        self._clock = clock

    def make(self, order: LinkRequest, tenant: str) -> tuple[str, float]:
        """The token and when it expires, in seconds of the clock."""
        expires_at = self._clock() + order.expires_in
        clip = ClipRequest.model_validate(order.model_dump(exclude={"expires_in"}))
        content = _Content(order=clip, tenant=tenant, expires_at=expires_at)
        return self._fernet.encrypt(content.model_dump_json().encode()).decode(), expires_at

    def read(self, token: str) -> tuple[ClipRequest, str]:
        """The clip, and the tenant who asked for it. Raises ApiError: 404 for no link of ours, 410.

        One that would last longer than links do was made while a clock was wrong.
        """
        try:
            content = _Content.model_validate_json(self._fernet.decrypt(token.encode()))
        except (InvalidToken, ValidationError):
            raise ApiError(404, "invalid_link", "this is no link of this service") from None
        if not 0 < content.expires_at - self._clock() <= 2 * _MOST_SECONDS:
            raise ApiError(410, "link_expired", "the link has expired: ask for a new one")
        return content.order, content.tenant


@router.post(PATH, status_code=201)
async def make_link(order: LinkRequest, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """A link to the clip, which is spoken whenever the link is opened."""
    check_limits(order, gateway.settings, whole=True)  # which fits into an address
    check_playable(order)
    caller = gateway.callers.identify(request)
    caller.standing(order)
    await gateway.check_speaker(order, caller.tenant)
    token, expires_at = Links(gateway.link_secret).make(order, caller.tenant)
    return {"url": f"{PATH}/{token}.{order.format}", "expires_at": round(expires_at, 3)}


@router.get(PATH + "/{token}", response_class=Response)
@router.head(PATH + "/{token}", include_in_schema=False)
async def open_link(token: str, request: Request, gateway: GatewayDep) -> Response:
    """The clip, to whoever has the link, from any page."""
    order, tenant = Links(gateway.link_secret).read(token.partition(".")[0])
    caller = gateway.callers.recall(tenant)
    return await play(request, gateway, order, caller)
