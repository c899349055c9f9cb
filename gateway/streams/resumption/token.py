"""What a client holds so that its clip survives the gateway: the request and the latents so far, sealed.

A token grows with the clip. Its first piece says what was asked for, each further one carries the latents of
the patches since; the client appends the pieces and any gateway with the same secret goes on from the whole:

    CLIP.REQUEST                      base64url: 16 random bytes, then the sealed request
    CLIP.REQUEST.PATCHES.PATCHES...   after some audio

The first piece is sealed again when a part becomes the voice of those behind it (`clip/sample.py`).

When a part of the text is complete, its patches are only counted. The first piece of the next part therefore
needs none but the request's before it, and a client that forgets the others has a token of one part's size.
The same holds for a part that was cut and begins again.

Pieces are AES-256-GCM under a key that HKDF-SHA256 derives from the secret for this clip alone. Clip, number
of the piece and API key of the client are authenticated with it, so pieces cannot be reordered, mixed, read
or used by another client. A piece carries the time at which it was sealed; the last one decides on expiry.
One from as far in the future, by a clock that was wrong, has expired, too.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import ValidationError

from gateway.errors import ApiError
from gateway.requests import StreamRequest, TtsRequest
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.progress import Silence
from gateway.streams.clip.sample import VoiceSample
from worker.protocol import ModelDescription

_PURPOSE = b"voxfleet resume token 3"
_CLIP_BYTES = 16
_NONCE_BYTES = 12
_MOST_PIECES = 1 << 16
"""Nearly three hours, a piece for each patch of 160 ms, of a client that forgets none."""
_LONGEST_AT_ONCE = 1 << 16
"""Characters of a token that is opened within a millisecond."""
_NUMBER = struct.Struct("<I")
_PATCHES = struct.Struct("<dIQQIIB?III")
"""Sealed at (seconds of the clock), number of the first patch, samples of the clip so far and of its speech,
part of the text and its first patch, take of it and whether one before was heard, the take's silence; latents
follow."""


class _Seal:
    """The cipher of one clip and one client."""

    def __init__(self, secret: bytes, clip_id: bytes, binding: str) -> None:
        key = HKDF(algorithm=SHA256(), length=32, salt=clip_id, info=_PURPOSE).derive(secret)
        self._cipher = AESGCM(key)
        self._binding = binding.encode()

    def close(self, number: int, plain: bytes) -> str:
        nonce, head = os.urandom(_NONCE_BYTES), _NUMBER.pack(number)
        return _to_text(head + nonce + self._cipher.encrypt(nonce, plain, head + self._binding))

    def open(self, piece: str) -> tuple[int, bytes]:
        """The number and content of a sealed piece."""
        raw = _from_text(piece)
        head, sealed = raw[: _NUMBER.size], raw[_NUMBER.size :]
        plain = self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], head + self._binding)
        return _NUMBER.unpack(head)[0], plain


@dataclass(frozen=True)
class Growth:
    """What a client appends to its token."""

    text: str
    keep: int | None = None
    """To so many characters of it; None: to all of it."""


class TokenWriter:
    """Seals one clip as it grows."""

    def __init__(self, seal: _Seal, clip_id: bytes, clock: Callable[[], float]) -> None:
        self._seal = seal
        self._head = _to_text(clip_id)
        self._clock = clock
        self._pieces = 0
        self._patches = 0
        self._take = (0, 0)
        """Part and take that the token is at."""
        self._sample: VoiceSample | None = None
        """The sample that the request holds."""
        self._request_length = 0
        """Characters of the token up to the end of the request."""

    @property
    def clip_id(self) -> str:
        """An id that all tokens of this clip share, and no other's."""
        return self._head

    def extend(self, clip: Clip) -> Growth:
        """What the client does to its token so that it covers `clip`; the first time it is all of it."""
        text, keep = "", None
        if not self._pieces:
            text = self._head + self._request(clip)
            self._request_length, self._patches = len(text), clip.part_start
        elif (clip.part, clip.take) != self._take:
            keep, self._patches = self._request_length, clip.part_start
            if clip.sample is not self._sample:
                keep, text = len(self._head), self._request(clip)
                self._request_length = keep + len(text)
        if clip.patches > self._patches or keep is not None:
            counts = (clip.samples, clip.speech_samples, clip.part, clip.part_start, clip.take, clip.was_cut)
            head = _PATCHES.pack(self._clock(), self._patches, *counts, *astuple(clip.silence))
            text += f".{self._close(head + b''.join(clip.latents[self._patches - clip.part_start :]))}"
            self._patches, self._take = clip.patches, (clip.part, clip.take)
        return Growth(text, keep)

    def _request(self, clip: Clip) -> str:
        """The first piece, also where it takes the place of an older one."""
        self._sample, self._pieces = clip.sample, max(self._pieces, 1)
        return f".{self._seal.close(0, json.dumps(fields_of(clip)).encode())}"

    def go_on(self, pieces: int, request_length: int, clip: Clip) -> None:
        """With a token that covers `clip`, after so many pieces."""
        self._pieces, self._request_length, self._sample = pieces, request_length, clip.sample
        self._patches, self._take = clip.patches, (clip.part, clip.take)

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
            numbers, plain = zip(*map(seal.open, pieces), strict=True)
            if numbers[0] != 0 or any(after <= before for before, after in pairwise(numbers)):
                raise ValueError("the pieces are not in order")
            clip = clip_from(json.loads(plain[0]), StreamRequest)
            sealed_at = _append_patches(clip, plain[1:])
        except (InvalidTag, ValidationError, ValueError, IndexError, KeyError, struct.error) as error:
            raise ApiError(
                422, "invalid_resume_token", "the resume token is not one of this service and client",
                param="resume_token",
            ) from error  # fmt: skip
        if abs(self._clock() - sealed_at) > self._lifetime_seconds:
            raise ApiError(422, "resume_token_expired", "the resume token is too old", param="resume_token")
        writer = TokenWriter(seal, clip_id, self._clock)
        writer.go_on(numbers[-1] + 1, len(head) + 1 + len(pieces[0]), clip)
        return clip, writer


def fields_of(clip: Clip) -> dict[str, Any]:
    """All that makes a clip what it is, but for what was generated of it; as JSON."""
    request = clip.request.model_dump(mode="json", exclude_defaults=True)
    request["text"] = clip.source
    model = clip.model.model_dump(mode="json")
    limit = clip.max_audio_seconds
    fields = {"request": request, "model": model, "seed": clip.seed, "limit": limit, "respelt": clip.respelt}
    return fields if clip.sample is None else {**fields, "sample": clip.sample.to_dict()}


def clip_from(fields: dict[str, Any], kind: type[TtsRequest]) -> Clip:
    """The clip that `fields_of` told of. Raises KeyError, and ValueError for what is no such."""
    clip = Clip(kind.model_validate(fields["request"]), fields["seed"], fields["limit"])
    clip.respelt = fields.get("respelt", {})
    clip.begin(ModelDescription.model_validate(fields["model"]))
    clip.sample = VoiceSample.from_dict(fields["sample"]) if "sample" in fields else None
    return clip


def _append_patches(clip: Clip, pieces: Sequence[bytes]) -> float:
    """Fill the clip; when the last piece was sealed. Raises ValueError when something is missing."""
    size = 4 * clip.model.patch_size * clip.model.latent_dim
    if not pieces:
        raise ValueError("no patches: nothing to resume")
    sealed_at = 0.0
    for piece in pieces:
        sealed_at, first, samples, speech_samples, part, part_start, take, was_cut, *silence = (
            _PATCHES.unpack_from(piece)
        )
        latents = piece[_PATCHES.size :]
        if first == part_start:
            clip.patches = part_start
            clip.begin_part(part)
            clip.go_to_take(take, was_cut)
        if (first, part, take) != (clip.patches, clip.part, clip.take) or len(latents) % size:
            raise ValueError("the pieces do not fit together")
        clip.latents += [latents[start : start + size] for start in range(0, len(latents), size)]
        clip.patches += len(latents) // size
        clip.samples, clip.speech_samples, clip.silence = samples, speech_samples, Silence(*silence)
        clip.heard_samples = samples  # such a clip has the model's own speed
    return sealed_at


def _to_text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _from_text(text: str) -> bytes:
    padding = "=" * (-len(text) % 4)
    try:
        return base64.b64decode(text + padding, altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64url") from error
