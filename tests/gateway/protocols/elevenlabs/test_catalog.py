"""Which voices ElevenLabs' clients find."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.protocols.elevenlabs.catalog import VoiceSearch


def voice(id: str, category: str, *, is_owner: bool = False, language: str | None = None) -> dict[str, Any]:
    labels = {"language": language} if language else {}
    facts = {"category": category, "is_owner": is_owner, "labels": labels, "description": "Some words"}
    return {"voice_id": id, "name": id.capitalize(), **facts}


VOICES = [
    voice("ruth", "premade", language="en"),
    voice("default", "premade"),
    voice("mine", "cloned", is_owner=True, language="de"),
    voice("yours", "cloned", language="zh"),
]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, "ruth default mine yours"),
        ({"search": "RU"}, "ruth"),
        ({"search": "de"}, "default mine"),
        ({"voice_ids": ["yours", "ruth", "nobody"]}, "ruth yours"),
        ({"category": "cloned"}, "mine yours"),
        ({"category": "professional"}, ""),
        ({"voice_type": "default"}, "ruth default"),
        ({"voice_type": "personal"}, "mine"),
        ({"voice_type": "workspace"}, "yours"),
        ({"voice_type": "community"}, ""),
        ({"voice_type": "non-default"}, "mine yours"),
        ({"voice_type": "of tomorrow", "gender": "female"}, "ruth default mine yours"),
        ({"language": ["de", "en"]}, "ruth mine"),
        ({"sort": "name"}, "default mine ruth yours"),
        ({"sort": "name", "sort_direction": "desc", "category": "premade"}, "ruth default"),
    ],
)
def test_voices_are_those_that_are_looked_for(asked: dict[str, Any], found: str) -> None:
    assert [each["voice_id"] for each in VoiceSearch(**asked).found(VOICES)] == found.split()
