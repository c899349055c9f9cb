"""What somebody agreed to whose voice is used, and the record of it.

The record's hash covers statement, person, time and content: the audio of a voice, the digest of an adapter.
A row in which one of these was changed has no consent any more.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

from gateway.database import NamedRow
from gateway.database.named_rows import NamedRows
from gateway.errors import ApiError

STATEMENTS = {
    "en": "This recording is of my own voice, or I have the permission of the person whose voice it is. "
    "I agree that this service imitates the voice to speak texts that its users enter. "
    "I know that I can withdraw this consent at any time, and that the voice is not used any more then.",
    "zh": "这段录音是我自己的声音，或者我已获得声音所有者的许可。"
    "我同意此服务模仿该声音，朗读其用户输入的文本。"
    "我知道我可以随时撤回此同意，届时该声音将不再被使用。",
}
"""To be agreed to, and to be read aloud as a recording, by language."""
STATEMENT = STATEMENTS["en"]


ADAPTER_STATEMENTS = {
    "en": "The recordings that this voice is trained on are of my own voice, or I have the permission of "
    "the person whose voice it is. "
    "I agree that this service imitates the voice to speak texts that its users enter. "
    "I know that I can withdraw this consent at any time, and that the trained voice is not used any "
    "more then.",
    "zh": "训练此音色所用的录音是我自己的声音，或者我已获得声音所有者的许可。"
    "我同意此服务模仿该声音，朗读其用户输入的文本。"
    "我知道我可以随时撤回此同意，届时训练出的音色将不再被使用。",
}
"""The statements for an adapter, which those who agree know as a trained voice."""


def statement_in(language: str, statements: dict[str, str] = STATEMENTS) -> tuple[str, str]:
    """The statement and its language, such as "zh" for "zh-CN"; English where there is no other."""
    code = language.partition("-")[0].lower()
    code = code if code in statements else "en"
    return statements[code], code


def columns_of(by: str | None, statement: str | None, content: str, at: datetime) -> dict[str, Any]:
    """The columns of a consent that was given, or withdrawn where nobody is named."""
    return withdrawn() if by is None or statement is None else given(by, statement, content, at)


def given(by: str, statement: str, audio_sha256: str, at: datetime) -> dict[str, Any]:
    """The columns of a row whose use `by` agrees to."""
    return {
        "consent_by": by,
        "consent_statement": statement,
        "consent_at": at,
        "consent_sha256": _digest(by, statement, audio_sha256, at),
    }


def withdrawn() -> dict[str, Any]:
    """The columns of a row without consent."""
    return dict.fromkeys(("consent_by", "consent_statement", "consent_at", "consent_sha256"))


def is_given(row: NamedRow) -> bool:
    """Whether somebody agreed, to exactly this."""
    if row.consent_at is None or row.consent_by is None or row.consent_statement is None:
        return False
    digest = _digest(row.consent_by, row.consent_statement, row.content, row.consent_at)
    return digest == row.consent_sha256


def may_see(row: NamedRow, tenant: str | None, is_admin: bool) -> bool:
    """Whether a caller may: an administrator, the owner, and everybody once somebody agreed."""
    return is_admin or row.owner == tenant or is_given(row)


def described(row: NamedRow) -> dict[str, str] | None:
    """The record of it, for the owner; None where there is none."""
    if not is_given(row):
        return None
    return {
        "by": row.consent_by,
        "statement": row.consent_statement,
        "at": row.consent_at.isoformat(),
        "sha256": row.consent_sha256,
    }


def _digest(by: str, statement: str, audio_sha256: str, at: datetime) -> str:
    moment = at.astimezone(UTC).isoformat(timespec="microseconds")
    record = json.dumps([statement, by, moment, audio_sha256], ensure_ascii=False)
    return hashlib.sha256(record.encode()).hexdigest()


async def check_still_given(rows: NamedRows[Any], id: str, refused: ApiError) -> None:
    """Before each part of what is spoken. While the database is away or slow, the consent counts as given.

    Raises ApiError 404 for a row that is gone, `refused` where its consent was withdrawn.
    """
    try:
        row = await rows.get_soon(id)
    except ApiError:  # which is in the log
        return
    if row is None:
        raise rows.unknown(id)
    if not is_given(row):
        raise refused
