"""S13: what is spoken is in no log, metric or file, whatever goes wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from string import Formatter

from gateway.operations.event_log import EventLog
from gateway.operations.sayings import SAYINGS
from tests.gateway.stages.processes import StartFleet, all_free

CANARY = "Xylophonkanarienvogel"


async def test_a_text_leaves_no_trace(start: StartFleet, tmp_path: Path) -> None:
    settings = {"data_dir": tmp_path, "log_level": "debug", "max_text_characters": 200}
    gateway, workers = start(1, step_ms=1, gateway=settings)
    bodies = [
        {"text": f"{CANARY} sings."},
        {"text": f"{CANARY} sings.", "normalize": "on", "format": "mp3", "stream": True},
        {"text": CANARY * 20},
        {"text": f"{CANARY} sings.", "voice": "nobody"},
        {"text": f"{CANARY} sings.", "seed": -1},
        {"text": f"{CANARY} sings.", CANARY: 1},
        {"text": {"nested": CANARY}},
        {"text": f"{CANARY}\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace")},
    ]
    async with gateway.http() as http:
        for body in bodies:
            assert (await http.post("/tts", json=body)).status_code in (200, 404, 422)
            openai = {"input": str(body["text"])[:300], "model": "tts-1", "instructions": CANARY}
            assert (await http.post("/v1/audio/speech", json=openai)).status_code in (200, 422)
        assert (await http.post("/tts", content=f'{{"text": "{CANARY}"')).status_code in (400, 422)
        assert (await http.post("/api/voices", data={"name": CANARY, "transcript": CANARY})).is_error
    said = (
        json.dumps({"text": f"{CANARY} sings."}),
        f'{{"text": "{CANARY}',
        json.dumps({"text": CANARY * 20}),
    )
    for first in said:
        async with gateway.socket() as opened:
            await opened.socket.send(first)
            await opened.receive_rest()
    async with gateway.socket() as opened:  # and one who leaves in the middle
        await opened.socket.send(json.dumps({"text": f"{CANARY} sings. " * 6}))
        await opened.receive_audio()
    await all_free(gateway)
    async with gateway.http() as http:
        shown = [
            (await http.get(path)).text for path in ("/metrics", "/api/log", "/api/workers", "/api/queue")
        ]
        worker_metrics = workers[0].request("GET", "/metrics").text
    gateway.terminate()
    workers[0].kill()
    assert '"request"' in "".join(gateway.log), "requests are logged"
    for seen in (*shown, worker_metrics, "".join(gateway.log), "".join(workers[0].log)):
        assert CANARY not in seen
    files = {path.name: path.read_bytes() for path in found_in(tmp_path)}
    assert files and not [name for name, content in files.items() if CANARY.encode() in content]


def found_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_names_of_clients_make_no_metric(start: StartFleet) -> None:
    gateway, _ = start(1, step_ms=1)
    async with gateway.http() as http:
        before = len((await http.get("/metrics")).text.splitlines())
        for number in range(50):
            await http.post("/tts", json={"text": "Hi.", "voice": f"nobody-{number}"})
            await http.get(f"/nowhere/{number}")
            await http.request(f"X{number}", "/tts")
        after = (await http.get("/metrics")).text.splitlines()
    assert not [line for line in after if "nobody-" in line or "nowhere" in line]
    assert len(after) - before < 20


def test_the_log_of_operators_has_no_field_for_what_is_said() -> None:
    """A line is one of `SAYINGS`, with counts, codes and who did what to what; or the words of a worker."""
    names = {name for text in SAYINGS.values() for _, name, *_ in Formatter().parse(text) if name}
    assert names == {
        *("who", "page", "values", "count", "model", "open", "counts", "seconds", "outcome", "code"),
        *("reason", "part", "flaw", "owner", "voice", "adapter", "consent"),
        *("asked", "needed", "capacity", "before", "now", "waiting", "late", "heard", "refused", "least"),
        *("underruns", "running", "most", "minutes", "failed", "used", "slots", "former"),
    }
    assert set(EventLog.say.__annotations__) == {"kind", "subject", "saying", "facts", "return"}
    assert set(EventLog.quote.__annotations__) == {"kind", "subject", "message", "return"}
