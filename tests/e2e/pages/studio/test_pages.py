"""The studio page in a real browser, against a real gateway and real workers (of the synthetic model)."""

from __future__ import annotations

import io
import wave

import av
import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import INSECURE_HOST, sent_frames, watched_page
from tests.e2e.pages.studio.busy import occupied, slots_used
from tests.e2e.pages.studio.stage import PARAGRAPH, SENTENCE, expect_player, expect_state, figure, open_studio
from tests.e2e.processes import Server, eventually, free_port, gateway, worker
from tests.gateway.callers.administration import ADMIN

MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


class TestSpeaking:
    def test_is_heard_to_the_end_without_an_underrun(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet)
        page.click("#generate")
        early = eventually(lambda: figure(page, "played-samples"))
        assert eventually(lambda: figure(page, "played-samples") > early)
        expect_state(page, "done")
        expect_player(page, "ended")
        assert figure(page, "played-samples") == figure(page, "received-samples") > 0
        assert figure(page, "underruns") == 0
        expect(page.locator("#tile-first")).to_contain_text("s")
        assert float(page.text_content("#tile-rtf") or "nan") < 1
        expect(page.locator("#status")).to_contain_text("real-time factor")

    def test_a_stream_slower_than_real_time_is_heard_whole_and_its_gaps_are_counted(self, page: Page) -> None:
        with worker(slots=1, step_ms=260) as one, gateway([one.url]) as edge:
            open_studio(page, edge, "Slow and steady wins it.")
            page.click("#generate")
            expect_state(page, "done")
            expect_player(page, "ended")
            assert figure(page, "played-samples") == figure(page, "received-samples") > 0
            assert figure(page, "underruns") > 0

    def test_is_heard_on_plain_http_from_another_machine(self, browser: Browser, fleet: Server) -> None:
        with watched_page(browser) as watched:  # the browser itself complains of plain http
            page = watched.page
            page.goto(fleet.url.replace("127.0.0.1", INSECURE_HOST))
            assert not page.evaluate("isSecureContext")
            page.fill("#text", SENTENCE)
            page.click("#generate")
            expect_state(page, "done")
            expect_player(page, "ended")
            assert figure(page, "played-samples") == figure(page, "received-samples") > 0
            assert figure(page, "underruns") == 0

    def test_sends_what_the_page_shows(self, page: Page, fleet: Server) -> None:
        sent = sent_frames(page)
        open_studio(page, fleet)
        page.click("#advanced summary")
        page.fill("#seed", "42")
        page.locator("#cfg_value").fill("3")
        page.keyboard.press("Control+Enter")
        expect_state(page, "done")
        for part in (SENTENCE, '"seed":42', '"cfg_value":3', '"format":"pcm"', '"voice":"default"'):
            assert part in sent[0]
        assert "temperature" not in sent[0]

    def test_how_to_speak_is_asked_where_a_model_can_be_told(self, page: Page, fleet: Server) -> None:
        sent = sent_frames(page)
        open_studio(page, fleet)
        expect(page.locator("#instructions")).to_have_count(0)
        config = fleet.get_json("/api/config")
        config["features"].append("instructions")
        page.route("**/api/config", lambda route: route.fulfill(json=config))
        open_studio(page, fleet)
        page.click("#advanced summary")
        page.get_by_label("How to speak").fill(" a calm voice ")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text("No model here that may speak this can be told how.")).to_be_visible()
        assert '"instructions":"a calm voice"' in sent[0], "which the worker does not follow"
        page.unroute("**/api/config")
        open_studio(page, fleet)
        page.keyboard.press("Control+Enter")
        expect_state(page, "done")
        assert "instructions" not in sent[-1], "of a model that cannot be told"
        page.route("**/api/config", lambda route: route.fulfill(json=config))
        open_studio(page, fleet)
        expect(page.locator("#instructions")).to_have_value("a calm voice")

    def test_blank_text_is_answered_in_the_page(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet, "  \n ")
        page.click("#generate")
        expect(page.locator("#text-problem")).to_have_text("Write something first.")
        expect_state(page, "empty")

    def test_a_refusal_is_a_sentence_with_one_action(self, page: Page, fleet: Server) -> None:
        page.route("**/api/voices", lambda route: route.fulfill(json={"voices": [_voice("nobody")]}))
        open_studio(page, fleet)
        page.click("#generate")
        expect_state(page, "failed")
        expect(page.locator("#error")).to_contain_text("This voice is not there any more.")
        page.locator("#error").get_by_role("button", name="Choose a voice").click()
        expect(page.locator("input[name=voice]")).to_be_focused()


class TestStopping:
    def test_frees_the_slot_and_keeps_what_arrived(self, page: Page, slow_fleet: Server) -> None:
        open_studio(page, slow_fleet, PARAGRAPH)
        page.click("#generate")
        eventually(lambda: figure(page, "played-samples"))
        page.keyboard.press("Escape")
        expect_state(page, "cancelled")
        expect_player(page, "paused")
        eventually(lambda: slots_used(slow_fleet) == 0)
        received = figure(page, "received-samples")
        page.click("#play")
        expect_player(page, "ended")
        assert figure(page, "played-samples") == received

    def test_an_administrator_s_cancel_is_told_apart(self, page: Page, slow_fleet: Server) -> None:
        open_studio(page, slow_fleet, PARAGRAPH)
        page.click("#generate")
        running = eventually(lambda: slow_fleet.get_json("/api/queue")["running"])
        ticket = running[0]["ticket_id"]
        httpx.delete(f"{slow_fleet.url}/api/queue/{ticket}", headers=ADMIN).raise_for_status()
        expect_state(page, "cancelled")
        expect(page.locator("#status")).to_contain_text("Cancelled by an administrator.")


class TestQueue:
    def test_the_banner_counts_down_and_speech_follows(self, page: Page, slow_fleet: Server) -> None:
        with occupied(slow_fleet):
            open_studio(page, slow_fleet)
            page.click("#generate")
            expect(page.locator("#queue")).to_contain_text("You are next")
            expect(page.locator("#generate")).to_contain_text("Leave queue")
            page.evaluate(_RECORD_COUNTDOWN)
            page.wait_for_timeout(2500)
            shown = page.evaluate("window.shownSeconds")
        expect_state(page, "done")
        expect(page.locator("#queue")).to_be_hidden()
        assert shown
        assert shown == sorted(shown, reverse=True)

    def test_leaving_it_gives_the_place_back(self, page: Page, slow_fleet: Server) -> None:
        with occupied(slow_fleet):
            open_studio(page, slow_fleet)
            page.click("#generate")
            page.set_viewport_size({"width": 360, "height": 640})
            expect(page.locator("#queue")).to_contain_text("You are next")
            assert page.locator(".queue-place").evaluate(_LINES) < 1.5
            page.click(".queue-leave")
            expect_state(page, "cancelled")
            expect(page.locator("#queue")).to_be_hidden()
            expect(page.locator("#generate")).to_be_focused()
            eventually(lambda: slow_fleet.get_json("/api/queue")["queue"] == [])


_LINES = "(place) => place.clientHeight / parseFloat(getComputedStyle(place).lineHeight)"

_RECORD_COUNTDOWN = """() => {
  const banner = document.getElementById("queue");
  window.shownSeconds = [];
  const note = () => {
    if (banner.dataset.seconds) window.shownSeconds.push(Number(banner.dataset.seconds));
  };
  note();
  new MutationObserver(note).observe(banner, { attributes: true, attributeFilter: ["data-seconds"] });
}"""


class TestAfterwards:
    def speak(self, page: Page, edge: Server) -> None:
        open_studio(page, edge)
        page.click("#generate")
        expect_state(page, "done")

    def download(self, page: Page) -> tuple[str, bytes]:
        with page.expect_download() as started:
            page.click("#download")
        return started.value.suggested_filename, started.value.path().read_bytes()

    def test_the_wav_file_is_what_the_server_sends_for_the_same_seed(self, page: Page, fleet: Server) -> None:
        self.speak(page, fleet)
        name, data = self.download(page)
        assert name == "the-quick-brown-fox-jumps-over.wav"
        seed = int(page.inner_text("#status").rsplit("seed ", 1)[1])
        reference = httpx.post(f"{fleet.url}/tts", json={"text": SENTENCE, "seed": seed}).content
        with wave.open(io.BytesIO(data)) as ours, wave.open(io.BytesIO(reference)) as theirs:
            assert ours.getnframes() == figure(page, "received-samples")
            assert ours.getparams() == theirs.getparams()
            assert ours.readframes(-1) == theirs.readframes(-1)

    @pytest.mark.parametrize(("format", "magic"), [("flac", b"fLaC"), ("opus", b"OggS")])
    def test_other_formats_are_what_was_heard_and_nothing_is_spoken_again(
        self, page: Page, fleet: Server, format: str, magic: bytes
    ) -> None:
        self.speak(page, fleet)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda socket: asked.append(socket.url))
        page.select_option("#format", format)
        name, data = self.download(page)
        assert name.endswith(f".{format}")
        assert data.startswith(magic)
        with av.open(io.BytesIO(data)) as file:
            seconds = sum(frame.samples / frame.sample_rate for frame in file.decode(audio=0))
        assert seconds == pytest.approx(figure(page, "received-samples") / 24_000, abs=0.1)
        assert not [address for address in asked if "/tts" in address]
        assert [address for address in asked if "/api/encode" in address]

    def test_space_plays_again_and_the_arrow_keys_seek(self, page: Page, fleet: Server) -> None:
        self.speak(page, fleet)
        expect_player(page, "ended")
        page.evaluate("document.activeElement.blur()")  # a button that has the focus takes the key for itself
        page.keyboard.press("Space")
        expect_player(page, "playing")
        page.keyboard.press("Space")
        expect_player(page, "paused")
        page.focus("#track")
        page.keyboard.press("End")
        page.keyboard.press("Space")
        expect_player(page, "ended")
        page.keyboard.press("Home")
        expect_player(page, "playing")

    def test_the_text_and_the_settings_are_there_after_a_reload(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet)
        page.click("#advanced summary")
        page.fill("#seed", "7")
        page.reload()
        expect(page.locator("#text")).to_have_value(SENTENCE)
        expect(page.locator("#seed")).to_have_value("7")
        expect(page.locator("#code-text")).to_contain_text('"seed":7')


def test_a_gateway_that_dies_is_reported_and_what_arrived_can_be_played(browser: Browser) -> None:
    with (
        worker(slots=1, step_ms=60) as one,
        gateway([one.url]) as edge,
        watched_page(browser) as watched,
    ):
        page = watched.page
        open_studio(page, edge, PARAGRAPH)
        page.click("#generate")
        eventually(lambda: figure(page, "played-samples"))
        edge.kill()
        expect_state(page, "failed")
        expect(page.locator("#error")).to_contain_text("connection to the gateway was lost")
        received = figure(page, "received-samples")
        expect_player(page, "ended")
        assert figure(page, "played-samples") == received
        expect(page.locator("#download")).to_be_enabled()


def test_the_page_learns_of_voices_when_the_first_worker_comes_up(browser: Browser) -> None:
    port = free_port()
    with gateway([f"http://127.0.0.1:{port}"], ready=False) as edge, watched_page(browser) as watched:
        watched.page.goto(edge.url)
        expect(watched.page.locator(".lamp")).to_have_text("No worker ready")
        with worker(port=port):
            expect(watched.page.locator(".lamp")).to_have_text("Ready", timeout=30_000)
            open_studio(watched.page, edge)
            watched.page.click("#generate")
            expect_state(watched.page, "done")


class TestStoredStrings:
    def test_are_shown_as_text_in_the_studio(self, page: Page, fleet: Server) -> None:
        page.route("**/api/voices", lambda route: route.fulfill(json={"voices": [_voice("x", MARKUP)]}))
        open_studio(page, fleet, MARKUP)
        expect(page.locator(".voice-name")).to_have_text(MARKUP)
        expect(page.locator("#code-text")).to_contain_text("<img src=x onerror=")
        assert page.locator("main img, main script").count() == 0
        assert page.title() == "VoxFleet Studio"


def test_the_question_mark_lists_the_keys_and_escape_closes_the_list(page: Page, fleet: Server) -> None:
    page.goto(fleet.url)
    expect(page.locator("#help")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.fill("#text", "")
    page.locator("#text").press_sequentially("Why?")
    expect(page.locator("#help")).to_be_hidden()
    expect(page.locator("#text")).to_have_value("Why?")


def _voice(id: str, name: str = "Name") -> dict[str, str]:
    return {"id": id, "name": name, "language": "en", "description": "A voice"}
