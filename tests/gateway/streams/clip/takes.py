"""What takes of a text sound like, and how many of each kind a gateway counted."""

from __future__ import annotations

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gateway.service import Gateway
from gateway.streams.clip.progress import seed_of_take
from tests.gateway.stages.scripted_worker import frames_of
from tests.gateway.streams.stage import SEED, TEXT
from worker.protocol import StartRequest

SENTENCES = ["One sentence comes first.", "Another one follows it.", "The third one is the last."]


def take(number: int, text: str = TEXT, part: int = 0) -> bytes:
    """The audio of a take of a part."""
    start = StartRequest(request_id="r", text=text, seed=seed_of_take(SEED, part, number))
    return b"".join(frame.pcm for frame in frames_of(start))


def counted(gateway: Gateway, name: str, label: str) -> dict[str, float]:
    """What a counter has counted, by one of its labels."""
    families = text_string_to_metric_families(generate_latest(gateway.metrics.registry).decode())
    samples = [sample for family in families for sample in family.samples if sample.name == name]
    return {sample.labels[label]: sample.value for sample in samples if sample.value}
