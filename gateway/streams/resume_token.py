"""What a client holds so that its clip survives the gateway: the request and the latents so far, sealed.

A token grows with the clip. Its first piece says what was asked for, each further one carries the latents of
the patches since; the client appends the pieces and any gateway with the same secret goes on from the whole:

    CLIP.REQUEST                      base64url: 16 random bytes, then the sealed request
    CLIP.REQUEST.PATCHES.PATCHES...   after some audio

Pieces are AES-256-GCM under a key that HKDF-SHA256 derives from the secret for this clip alone. Clip, number
of the piece and API key of the client are authenticated with it, so pieces cannot be reordered, mixed, read
or used by another client. A piece carries the time at which it was sealed; the last one decides on expiry.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
import struct
import time
from collections.abc import Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import ValidationError

from gateway.errors import ApiError
from gateway.requests import StreamRequest
from gateway.streams.clip import Clip
from worker.protocol import ModelDescription

_PURPOSE = b"voxfleet resume token 1"
_CLIP_BYTES = 16
_NONCE_BYTES = 12
_MOST_PIECES = 1 << 16
"""Nearly three hours, a piece for each patch of 160 ms."""
_LONGEST_AT_ONCE = 1 << 16
"""Characters of a token that is opened within a millisecond."""
_PATCHES = struct.Struct("<dIQII")
"""Sealed at (seconds of the clock), number of the first patch, samples of the clip so far, part of the text
and its first patch; latents follow."""


class _Seal:
    """The cipher of one clip and one client."""

    def __init__(self, secret: bytes, clip_id: bytes, binding: str) -> None:
        key = HKDF(algorithm=SHA256(), length=32, salt=clip_id, info=_PURPOSE).derive(secret)
        self._cipher = AESGCM(key)
        self._binding = binding.encode()

    def close(self, number: int, plain: bytes) -> str:
        nonce = os.urandom(_NONCE_BYTES)
        return _to_text(nonce + self._cipher.encrypt(nonce, plain, self._context(number)))

    def open(self, number: int, piece: str) -> bytes:
        raw = _from_text(piece)
        return self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], self._context(number))

    def _context(self, number: int) -> bytes:
        return struct.pack("<I", number) + self._binding


class TokenWriter:
    """Seals one clip as it grows."""

    def __init__(self, seal: _Seal, clip_id: bytes, clock: Callable[[], float]) -> None:
        self._seal = seal
        self._head = _to_text(clip_id)
        self._clock = clock
        self._pieces = 0
        self._patches = 0

    @property
    def clip_id(self) -> str:
        """The same for all that seal this clip, and for no other."""
        return self._head

    def extend(self, clip: Clip) -> str:
        """What the client appends to its token so that it covers `clip`; the first time all of it."""
        text = ""
        if not self._pieces:
            text = f"{self._head}.{self._close(_pack_request(clip))}"
        patches = clip.latents[self._patches :]
        if patches:
            head = _PATCHES.pack(self._clock(), self._patches, clip.samples, clip.part, clip.part_start)
            text += f".{self._close(head + b''.join(patches))}"
            self._patches = len(clip.latents)
        return text

    def skip(self, pieces: int, patches: int) -> None:
        """Go on with a token that has so many pieces already."""
        self._pieces, self._patches = pieces, patches

    def _close(self, plain: bytes) -> str:
        self._pieces += 1
        return self._seal.close(self._pieces - 1, plain)


class ResumeTokens:
    """Seals and opens. Gateways with one `secret` understand each other; None: this process alone."""

    def __init__(
        self, secret: bytes | None, lifetime_seconds: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._secret = secret or os.urandom(32)
        self._lifetime_seconds = lifetime_seconds
        self._clock = clock

    def begin(self, binding: str) -> TokenWriter:
        """For a new clip of the client that `binding` names."""
        clip_id = os.urandom(_CLIP_BYTES)
        return TokenWriter(_Seal(self._secret, clip_id, binding), clip_id, self._clock)

    async def open_beside(self, token: str, binding: str) -> tuple[Clip, TokenWriter]:
        """`open` in a thread where it would hold up the event loop. Raises ApiError 422."""
        if len(token) <= _LONGEST_AT_ONCE:
            return self.open(token, binding)
        return await asyncio.to_thread(self.open, token, binding)

    def open(self, token: str, binding: str) -> tuple[Clip, TokenWriter]:
        """The clip so far, and what seals the rest of it. Raises ApiError 422."""
        try:
            if token.count(".") > _MOST_PIECES:
                raise ValueError("more pieces than a clip has patches")
            head, *pieces = token.split(".")
            clip_id = _from_text(head)
            seal = _Seal(self._secret, clip_id, binding)
            plain = [seal.open(number, piece) for number, piece in enumerate(pieces)]
            clip = _unpack_request(plain[0])
            sealed_at = _append_patches(clip, plain[1:])
        except (InvalidTag, ValidationError, ValueError, IndexError, KeyError, struct.error) as error:
            raise ApiError(
                422, "invalid_resume_token", "the resume token is not one of this service and client",
                param="resume_token",
            ) from error  # fmt: skip
        if self._clock() - sealed_at > self._lifetime_seconds:
            raise ApiError(422, "resume_token_expired", "the resume token is too old", param="resume_token")
        writer = TokenWriter(seal, clip_id, self._clock)
        writer.skip(len(pieces), len(clip.latents))
        return clip, writer


def _pack_request(clip: Clip) -> bytes:
    request = clip.request.model_dump(mode="json", exclude_defaults=True)
    request["text"] = clip.source
    model = clip.model.model_dump(mode="json")
    limit = clip.max_audio_seconds
    fields = {"request": request, "model": model, "seed": clip.seed, "limit": limit, "respelt": clip.respelt}
    return json.dumps(fields).encode()


def _unpack_request(plain: bytes) -> Clip:
    fields = json.loads(plain)
    clip = Clip(StreamRequest.model_validate(fields["request"]), fields["seed"], fields["limit"])
    clip.respelt = fields.get("respelt", {})
    clip.begin(ModelDescription.model_validate(fields["model"]))
    return clip


def _append_patches(clip: Clip, pieces: list[bytes]) -> float:
    """Fill the clip; when the last piece was sealed. Raises ValueError when something is missing."""
    size = 4 * clip.model.patch_size * clip.model.latent_dim
    if not pieces:
        raise ValueError("no patches: nothing to resume")
    sealed_at = 0.0
    for piece in pieces:
        sealed_at, first, samples, part, part_start = _PATCHES.unpack_from(piece)
        latents = piece[_PATCHES.size :]
        if first != len(clip.latents) or not latents or len(latents) % size:
            raise ValueError("the pieces do not fit together")
        clip.latents += [latents[start : start + size] for start in range(0, len(latents), size)]
        clip.samples, clip.part, clip.part_start = samples, part, part_start
    return sealed_at


def _to_text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _from_text(text: str) -> bytes:
    padding = "=" * (-len(text) % 4)
    try:
        return base64.b64decode(text + padding, altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64url") from error
