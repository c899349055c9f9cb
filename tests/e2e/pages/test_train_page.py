"""A voice is trained in the browser: recordings and their words go in, and what comes of it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.browser import PHONE, chromium, fake_microphone, watched_page
from tests.e2e.processes import Server, gateway, worker
from tests.e2e.studio import write_voice
from tests.e2e.trainings import EVERY_STATE, answer_with, training
from tests.gateway.adapters.uploads import WORKER

HELD_MICROPHONE = """
const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
const waiting = [];
const tracks = [];
navigator.mediaDevices.getUserMedia = async (wanted) => {
  await new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  const stream = await ask(wanted);
  tracks.push(...stream.getTracks());
  return stream;
};
window.grant = () => waiting.shift().resolve();
window.refuse = () => waiting.shift().reject(new DOMException("refused", "NotAllowedError"));
window.live = () => tracks.filter(({ readyState }) => readyState === "live").length;
"""
"""A microphone that is granted, or refused, when the test says so."""
SOUNDING = """
const play = HTMLMediaElement.prototype.play;
const played = new Set();
HTMLMediaElement.prototype.play = function () {
  played.add(this);
  return play.call(this);
};
window.sounding = () => [...played].filter(({ paused }) => !paused).length;
"""
UNKNOWN = {"error": {"code": "unknown_training", "message": "no such training"}}
GONE = {"code": "training_state", "message": "it is complete"}
TOO_SHORT = {
    "audio_seconds": 0.4,
    "sound_seconds": 0.3,
    "checks": [{"code": "audio_too_short", "severity": "error", "message": "0.4 s", "regions": []}],
}
COUNTED_PLAYERS = """
const { createObjectURL, revokeObjectURL } = URL;
let open = 0;
window.most = 0;
URL.createObjectURL = (blob) => {
  window.most = Math.max(window.most, (open += 1));
  return createObjectURL.call(URL, blob);
};
URL.revokeObjectURL = (url) => {
  open -= 1;
  return revokeObjectURL.call(URL, url);
};
"""
"""How many recordings had an address for a player at most at once."""
WATCHED_LENGTHS = """
window.drawn = 0;
const seen = new MutationObserver((all) => (window.drawn += all.length));
for (const one of document.querySelectorAll(".train-entry-length"))
  seen.observe(one, { childList: true, characterData: true, subtree: true });
"""
SENTENCE = "The first train of the morning leaves a little before six"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings, of which one has no words and one no sound."""
    folder = tmp_path_factory.mktemp("recordings")
    for number in (1, 2, 3):
        write_voice(folder / f"{number}.wav", 11.0)
    for number in (1, 2):
        (folder / f"{number}.txt").write_text("Doors open at nine, and close at ten.")
    write_voice(folder / "4.wav", 3.0, pause=(-1.0, 9.0))
    (folder / "4.txt").write_text("Nothing is heard.")
    return folder


@pytest.fixture(scope="module")
def browser(folder: Path) -> Iterator[Browser]:
    with chromium(*fake_microphone(folder / "1.wav"), shell=True) as launched:
        yield launched


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With a worker that takes adapters."""
    settings = {
        "VOXFLEET_DATA_DIR": str(tmp_path_factory.mktemp("data")),
        "VOXFLEET_TRAINING_BASE": WORKER["model"],
        "VOXFLEET_TRAINING_NICENESS": "0",
    }
    with worker(model=WORKER["model"], slots=2) as one, gateway([one.url], **settings) as edge:
        yield edge


def open_training(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/train")
    expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")
    expect(page.locator("#trainings[aria-busy]")).to_have_count(0)
    expect(page.locator("#train-consent")).to_be_enabled()


def test_recordings_are_sent_and_what_is_wrong_with_them_is_said(
    browser: Browser, fleet: Server, folder: Path
) -> None:
    with watched_page(browser) as watched:
        page = watched.page
        open_training(page, fleet)
        problem = page.locator("#train-problem")
        page.click("#train-start")
        expect(problem).to_have_text("Add recordings first.")
        page.set_input_files("#file", sorted(folder.iterdir()))
        expect(page.locator(".train-entry")).to_have_count(4)
        expect(problem).to_be_hidden()
        expect(page.locator("#said")).to_contain_text("Write what is said in the one without words")
        expect(page.locator("#sum")).to_contain_text("4 recordings, 36 s")
        page.click("#train-start")
        expect(page.get_by_role("textbox", name="What is said in 3.wav")).to_be_focused()
        page.keyboard.type("And this is said, too.")
        expect(page.locator("#said")).to_be_empty()
        page.click("#train-start")
        expect(page.locator("#train-name")).to_be_focused()
        expect(page.locator(".field-pair + #train-problem")).to_have_text("Give the voice a name.")
        page.keyboard.type("Anna")
        expect(problem).to_be_hidden()
        page.check("#train-consent")
        page.fill("#train-consent-by", "Anna Example")
        page.click("#train-start")
        silent = page.locator(".train-entry[data-state=refused]")
        expect(silent).to_contain_text("The recording is silent")
        expect(problem).to_contain_text("1 recording was not taken")
        expect(silent.get_by_role("textbox")).to_be_focused()
        silent.get_by_role("button", name="Leave out 4.wav").click()
        page.click("#train-start")
        card = page.locator(".train-card")
        expect(card.get_by_role("heading", name="Anna")).to_be_visible()
        expect(page.locator(".train-entry")).to_have_count(0)
        expect(card.locator(".badge")).to_have_text("failed", timeout=60_000)
        expect(page.locator("#said")).to_have_text("“Anna”: failed.")
        expect(card).to_contain_text("Too little of the recordings can be used")
        expect(card).to_contain_text("3 left out: too long for this model")
        expect(card).to_contain_text("(1.wav, 2.wav, 3.wav)")
        card.get_by_role("button", name="Add recordings: Anna").click()
        expect(page.get_by_role("heading", name="More recordings for Anna")).to_be_visible()
        expect(page.locator("#train-name")).to_be_hidden()
        page.get_by_role("button", name="Another voice instead").click()
        expect(page.locator("#train-name")).to_be_visible()
        card.get_by_role("button", name="Delete training: Anna").click()
        page.locator("dialog[open]").get_by_role("button", name="Delete training").click()
        expect(page.locator("#none")).to_be_visible()
        assert [text for text in watched.complaints if "422" not in text] == []  # the silent recording


def test_what_is_still_to_be_done_stays_when_a_training_ends(
    browser: Browser, fleet: Server, folder: Path
) -> None:
    with watched_page(browser) as watched:
        page = watched.page
        answer_with(page, [training("Anna", "running")])
        open_training(page, fleet)
        page.set_input_files("#file", folder / "3.wav")
        said = page.locator("#said")
        asked = "1 recording is added. Write what is said in the one without words."
        expect(said).to_have_text(asked)
        answer_with(page, [training("Anna", "complete")])
        expect(said).to_have_text(f"{asked} “Anna”: ready.", timeout=10_000)
        page.get_by_role("textbox", name="What is said in 3.wav").fill("And this is said, too.")
        expect(said).to_be_empty()
        assert watched.complaints == []


def test_many_recordings_are_measured_a_few_at_a_time_and_drawn_once(
    browser: Browser, fleet: Server, folder: Path
) -> None:
    with watched_page(browser) as watched:
        page = watched.page
        page.add_init_script(COUNTED_PLAYERS)
        open_training(page, fleet)
        audio = (folder / "4.wav").read_bytes()
        names = [f"{number:02}.wav" for number in range(20)]
        page.set_input_files(
            "#file", [{"name": name, "mimeType": "audio/wav", "buffer": audio} for name in names]
        )
        expect(page.locator(".train-entry-name span:first-child")).to_have_text(names)
        expect(page.locator("#sum")).to_contain_text("20 recordings, 1 min")
        assert 0 < page.evaluate("window.most") <= 8
        page.evaluate(WATCHED_LENGTHS)
        page.get_by_role("textbox", name="What is said in 07.wav").fill("Doors open at nine.")
        page.get_by_role("button", name="Leave out 08.wav").click()
        expect(page.locator("#sum")).to_contain_text("19 recordings")
        assert page.evaluate("window.drawn") == 0, "lengths of all were written again"
        assert watched.complaints == []


def test_what_comes_while_a_training_starts_stays_and_the_consent_is_asked_for_again(
    browser: Browser, fleet: Server, folder: Path
) -> None:
    with watched_page(browser) as watched:
        page = watched.page
        page.route("**/api/adapters/consent*", lambda route: route.abort(), times=1)
        starting: list[Route] = []
        page.route("**/start", lambda route: starting.append(route))
        page.goto(f"{fleet.url}/train")
        expect(page.locator("#trainings[aria-busy]")).to_have_count(0)
        page.set_input_files("#file", [folder / name for name in ("1.wav", "1.txt", "2.wav", "2.txt")])
        page.set_input_files("#file", [folder / "3.wav"])
        page.get_by_role("textbox", name="What is said in 3.wav").fill("And this is said, too.")
        page.fill("#train-name", "Bea")
        expect(page.locator("#train-consent")).to_be_disabled()
        page.click("#train-start")
        expect(page.locator("#train-consent")).to_be_enabled()
        page.check("#train-consent")
        page.fill("#train-consent-by", "Bea Example")
        with page.expect_request("**/start"):
            page.click("#train-start")
        page.set_input_files("#file", [folder / "4.wav", folder / "4.txt"])
        expect(page.locator(".train-entry")).to_have_count(4)
        starting[0].fulfill(json={"training": training("Bea", "queued")})
        expect(page.locator(".train-entry")).to_have_count(1)
        expect(page.get_by_role("textbox", name="What is said in 4.wav")).to_have_value("Nothing is heard.")
        assert [text for text in watched.complaints if "ERR_FAILED" not in text] == []  # the consent


def test_a_sentence_is_read_aloud_and_kept_with_its_words(browser: Browser, fleet: Server) -> None:
    with watched_page(browser, viewport=PHONE) as watched:
        page = watched.page
        open_training(page, fleet)
        expect(page.locator("#sentence")).to_contain_text(SENTENCE)
        page.click("#voice-record")
        expect(page.locator(".rec")).to_have_attribute("data-state", "recording", timeout=10_000)
        expect(page.locator(".rec-time")).to_contain_text("0:02", timeout=10_000)
        page.click("#voice-record")
        page.click("#keep")
        expect(page.locator("#sentence")).not_to_contain_text(SENTENCE)
        expect(page.locator("#keep")).to_be_hidden()
        words = page.get_by_role("textbox", name="What is said in 1.wav")
        expect(words).to_have_value(f"{SENTENCE}, and it is hardly ever late.")
        page.get_by_role("button", name="Hear 1.wav").click()
        page.get_by_role("button", name="Leave out 1.wav").click()
        expect(page.locator(".train-entry")).to_have_count(0)
        assert watched.complaints == []


def test_a_take_that_would_be_refused_is_not_offered_to_be_kept(browser: Browser, fleet: Server) -> None:
    with watched_page(browser, viewport=PHONE) as watched:
        page = watched.page
        open_training(page, fleet)
        page.route("**/api/voices/checks", lambda route: route.fulfill(json=TOO_SHORT), times=1)
        page.click("#voice-record")
        expect(page.locator(".rec-time")).not_to_have_text("0:00.0", timeout=10_000)
        page.click("#voice-record")
        said = page.locator("#read .check-error")
        expect(said).to_have_text(
            "It has less than 2 seconds of speech: say a whole sentence, or leave it out."
        )
        expect(page.locator("#keep")).to_be_hidden()
        page.click("#voice-record")
        expect(page.locator(".rec-time")).to_contain_text("0:03", timeout=10_000)
        page.click("#voice-record")
        expect(page.locator("#keep")).to_be_visible()
        expect(said).to_have_count(0)
        assert watched.complaints == []


def test_a_microphone_that_is_asked_for_twice_is_open_once(browser: Browser, fleet: Server) -> None:
    with watched_page(browser) as watched:
        page = watched.page
        page.add_init_script(HELD_MICROPHONE)
        open_training(page, fleet)
        panel, button = page.locator(".rec"), page.locator("#voice-record")
        for answers in ("grant(), grant()", "refuse(), grant()"):
            for state in ("opening", "idle", "opening"):
                button.click()
                expect(panel).to_have_attribute("data-state", state)
            page.evaluate(answers)
            expect(panel).to_have_attribute("data-state", "counting")
            assert page.evaluate("live()") == 1
            button.click()
            expect(panel).to_have_attribute("data-state", "idle")
            assert page.evaluate("live()") == 0
        assert watched.complaints == []


def test_nothing_sounds_while_a_sentence_is_recorded(browser: Browser, fleet: Server, folder: Path) -> None:
    with watched_page(browser) as watched:
        page = watched.page
        page.add_init_script(SOUNDING)
        open_training(page, fleet)
        page.set_input_files("#file", [folder / "1.wav", folder / "1.txt"])
        page.get_by_role("button", name="Hear 1.wav").click()
        page.wait_for_function("sounding() === 1")
        page.click("#voice-record")
        expect(page.locator(".rec")).to_have_attribute("data-state", "recording", timeout=10_000)
        assert page.evaluate("sounding()") == 0
        assert watched.complaints == []


def test_every_state_of_a_training_is_told_in_both_languages(browser: Browser, fleet: Server) -> None:
    with watched_page(browser) as watched:
        page = watched.page
        answer_with(page, EVERY_STATE)
        open_training(page, fleet)
        badges = page.locator(".train-card .badge")
        expect(badges).to_have_text(
            ["is learning", "waits", "ready", "failed", "cancelled", "not started", "ready"]
        )
        expect(page.locator("[data-training=t_Anna]")).to_contain_text("2 left out")
        expect(page.locator("[data-training=t_Anna]")).to_contain_text("(clip 0.wav, clip 1.wav)")
        expect(page.locator("[data-training=t_Anna] progress")).to_have_js_property("value", 220)
        link = page.get_by_role("link", name="Carla is there. Try it")
        expect(link).to_have_attribute("href", "/#voice=v_carla")
        gone = page.locator("[data-training=t_Greta]")
        expect(gone).to_contain_text("The voice that came of it was deleted.")
        expect(gone.get_by_role("link")).to_have_count(0)
        why = page.locator("[data-training=t_Doris] .notice-danger")
        expect(why).to_contain_text("Too little of the recordings can be used")
        for name, there in (("Doris", False), ("Emil", True)):
            button = page.get_by_role("button", name=f"Go on: {name}")
            expect(button).to_have_count(int(there))
        expect(page.get_by_role("button", name="Start training: Fritz")).to_be_visible()
        page.click("#language")
        expect(badges).to_have_text(["学习中", "等待中", "已完成", "失败", "已取消", "未开始", "已完成"])
        expect(page.locator("#train-statement")).to_contain_text("训练")
        assert watched.complaints == []


def test_what_fails_at_a_training_is_said_in_view(browser: Browser, fleet: Server) -> None:
    with watched_page(browser, viewport=PHONE) as watched:
        page = watched.page
        answer_with(page, [training(f"Anna{number}", "running") for number in range(5)])
        open_training(page, fleet)
        page.locator(".page-head a").click()
        expect(page.locator("[data-training=t_Anna0] h3")).to_be_in_viewport()
        page.route("**/cancel", lambda route: route.fulfill(status=409, json={"error": GONE}))
        page.get_by_role("button", name="Stop: Anna4").click()
        expect(page.locator("#problem")).to_be_in_viewport()
        expect(page.locator("#problem")).to_contain_text("The training is not in that state any more.")


def test_what_another_tab_did_to_a_training_is_shown_where_it_is_pressed(
    browser: Browser, fleet: Server
) -> None:
    with watched_page(browser) as watched:  # a browser complains of a 404
        page = watched.page
        answer_with(page, [training("Anna", "cancelled"), training("Ben", "cancelled")])
        open_training(page, fleet)
        page.route("**/api/trainings/t_Ben/start", lambda route: route.fulfill(status=404, json=UNKNOWN))
        answer_with(page, [training("Anna", "running")])
        page.get_by_role("button", name="Go on: Ben").click()
        expect(page.locator(".train-card")).to_have_count(1)
        expect(page.locator(".train-card")).to_have_attribute("data-state", "running")
        expect(page.locator("#problem")).to_contain_text("This training is not there any more.")


def test_where_nothing_is_trained_the_page_says_so_and_the_studio_leads_there_where_it_is(
    browser: Browser, fleet: Server
) -> None:
    with watched_page(browser) as watched:
        page = watched.page
        page.goto(fleet.url)
        page.click("#new-voice")
        page.get_by_role("link", name="train one").click()
        expect(page.get_by_role("heading", name="Train a voice")).to_be_visible()
        answer_with(page, [], enabled=False)
        page.reload()
        expect(page.locator("#unavailable")).to_be_visible()
        expect(page.locator("#making")).to_be_hidden()
        assert watched.complaints == []
