"""S12: what was stored is served as audio, JSON or an archive, and never as a page."""

from __future__ import annotations

from pathlib import Path

from tests.gateway.sessions.recordings import RATE, pcm
from tests.security.apps import running_app

MARKUP = "<script>alert(1)</script>"


async def test_a_recording_is_served_as_what_it_is(tmp_path: Path) -> None:
    async with running_app(tmp_path) as (app, opened):
        recorder = app.state.gateway.recorder
        recording = recorder.open("clip", {"voice": MARKUP}, "127.0.0.1", asked=True)
        recording.utterance(f"{MARKUP} Hello.", {})
        recording.audio(0, pcm(RATE), RATE)
        recording.finish("stop")
        await recorder.settled(recording.session_id)
        path = f"/api/sessions/{recording.session_id}"
        async with opened() as http:
            await http.patch(path, json={"title": MARKUP, "comment": "<svg onload=alert(1)>"})
            answers = {name: await http.get(path + name) for name in ("", "/audio", "/audio/0", "/download")}
            for name in ("meta.json", "recording.json", "..%2fmeta.json", "audio%2f0000.wav"):
                assert (await http.get(f"{path}/{name}")).is_client_error
    kinds = {name: answer.headers["Content-Type"] for name, answer in answers.items()}
    assert kinds == {
        "": "application/json", "/audio": "audio/wav", "/audio/0": "audio/wav", "/download": "application/zip"
    }  # fmt: skip
    for answer in answers.values():
        assert answer.status_code == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    disposition = answers["/download"].headers["Content-Disposition"]
    assert disposition.startswith("attachment;") and MARKUP not in disposition


async def test_no_error_is_a_page(tmp_path: Path) -> None:
    async with running_app(tmp_path) as (_, opened), opened() as http:
        for answer in (
            await http.get(f"/api/voices/{MARKUP}"),
            await http.get(f"/nowhere/{MARKUP}"),
            await http.post("/tts", json={MARKUP: 1}),
            await http.post("/tts", content=MARKUP),
        ):
            assert answer.is_client_error
            assert answer.headers["Content-Type"] == "application/json"
