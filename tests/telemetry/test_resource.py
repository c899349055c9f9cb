"""What a process tells of itself."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.resources import Resource

from telemetry.build import build
from telemetry.otlp.resource import ProcessResource


def test_it_names_the_process_and_is_a_resource_like_another() -> None:
    one, other = ProcessResource("voxfleet-gateway"), ProcessResource("voxfleet-gateway")
    assert one.attributes["service.name"] == "voxfleet-gateway"
    assert one.attributes["service.instance.id"] != other.attributes["service.instance.id"]
    assert one.attributes["service.version"] == build()
    assert one != other
    same = Resource(one.attributes, one.schema_url)
    assert (one, hash(one)) == (same, hash(same))


def test_its_hash_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one = ProcessResource("voxfleet-worker")
    before = hash(one)
    monkeypatch.setattr(Resource, "__hash__", lambda self: pytest.fail("made anew"))
    assert {one: 1}[one] == 1 and hash(one) == before
