"""The JavaScript client as other programs use it: the module loaded in a browser, against real processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.e2e.processes import Server
from tests.e2e.studio import fleet_with_data

_MODULE = 'const { VoxFleet, ApiError } = await import("/static/js/client/voxfleet.js");'
_FLEET = f"{_MODULE} const fleet = new VoxFleet();"


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    with fleet_with_data() as edge:
        yield edge


@pytest.fixture
def module(page: Page, fleet: Server) -> Page:
    """A page of the service."""
    page.goto(fleet.url)
    return page


def run(page: Page, body: str) -> object:
    return page.evaluate(f"async () => {{ {_FLEET} {body} }}")


@pytest.mark.parametrize("format", ["wav", "mp3", "flac", "opus", "aac"])
def test_a_browser_decodes_the_file_behind_its_note(module: Page, format: str) -> None:
    """Whole and streamed; Debian's Chromium has AAC, the one that playwright brings has not."""
    seconds = run(
        module,
        f"""
        const body = {{ text: "The same words.", seed: 5, format: "{format}" }};
        const headers = {{ "Content-Type": "application/json" }};
        const context = new OfflineAudioContext(1, 48000, 48000);
        const times = [];
        for (const stream of [false, true]) {{
          const request = {{ method: "POST", headers, body: JSON.stringify({{ ...body, stream }}) }};
          const answer = await fetch("/tts", request);
          times.push((await context.decodeAudioData(await answer.arrayBuffer())).duration);
        }}
        const pcm = await fleet.speak(body.text, {{ seed: 5, format: "pcm" }});
        return [pcm.size / 2 / 24000, ...times];
        """,
    )
    spoken, *decoded = seconds
    assert decoded == pytest.approx([spoken, spoken], abs=0.2)


def test_a_whole_clip_and_the_same_as_a_stream_are_the_same_audio(module: Page) -> None:
    whole, streamed = run(
        module,
        """
        const options = { voice: "default", seed: 5 };
        const blob = await fleet.speak("The same words.", { ...options, format: "pcm" });
        const pieces = [];
        const stream = fleet.stream("The same words.", { ...options, resume: true });
        for await (const pcm of stream) pieces.push(pcm);
        const bytes = async (blob) => [...new Uint8Array(await blob.arrayBuffer())];
        return [await bytes(blob), await bytes(new Blob(pieces))];
        """,
    )
    assert whole == streamed
    assert len(whole) > 1000


def test_leaving_a_stream_early_frees_its_slot(module: Page, fleet: Server) -> None:
    outcome = run(
        module,
        """
        const stream = fleet.stream("Many words that nobody will hear to their end. ".repeat(20));
        const over = new Promise((resolve) => {
          stream.addEventListener("cancelled", () => resolve("cancelled"));
        });
        for await (const pcm of stream) break;
        return over;
        """,
    )
    assert outcome == "cancelled"
    assert fleet.get_json("/api/queue")["running"] == []


def test_a_refusal_says_which_field(module: Page) -> None:
    problem = run(
        module,
        """
        try {
          for await (const pcm of fleet.stream("Hi.", { cfg_value: 99 })) return "heard";
        } catch (error) {
          return [error instanceof ApiError, error.param];
        }
        """,
    )
    assert problem == [True, "cfg_value"]


def test_a_live_session_speaks_what_is_appended(module: Page) -> None:
    texts, samples = run(
        module,
        """
        const live = fleet.live({ voice: "default" });
        const texts = [];
        live.addEventListener("utterance", ({ detail }) => texts.push(detail.text.trim()));
        const over = new Promise((resolve, reject) => {
          live.addEventListener("done", resolve);
          live.addEventListener("failed", ({ detail }) => reject(new Error(detail.message)));
        });
        for (const word of "One sentence here. And another one there.".split(" ")) live.append(word + " ");
        live.stop();
        await over;
        return [texts, live.receivedSamples];
        """,
    )
    assert texts == ["One sentence here.", "And another one there."]
    assert samples > 0


def test_voices_and_sessions_are_listed(module: Page) -> None:
    ids, recorded, titles = run(
        module,
        """
        const voices = await fleet.voices();
        const stream = fleet.stream("Kept for later.", { record: true });
        let id = null;
        stream.addEventListener("started", ({ detail }) => (id = detail.session_id));
        for await (const pcm of stream);
        const { sessions } = await fleet.sessions({ limit: 5 });
        return [voices.map(({ id }) => id), id, sessions.map(({ id }) => id)];
        """,
    )
    assert "default" in ids
    assert recorded in titles
