"""Screenshots of the pages, caught in the middle of their work.

    python -m scripts.screenshots                                      # docs/images, as the README shows them
    python -m scripts.screenshots --all --out build/screenshots        # desktop and phone, light and dark
    python -m scripts.screenshots --only studio --model bundled        # a real voice, where it is installed
    python -m scripts.screenshots --url http://127.0.0.1:8006          # of a running gateway

Without --url a small fleet is started, with voices of its own. To add a page, add a `Scene` to `SCENES`: it
brings the page into the state that is worth a picture.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import PHONE, chromium, fake_microphone, watched_page
from tests.e2e.processes import eventually, gateway, worker
from tests.e2e.studio import write_voice
from tests.gateway.administration import ADMIN, ADMIN_PAGE

TEXT = (
    "The fog lifted a little after six. One by one the boats in the harbour lit their lamps, "
    "and someone on the pier began to sing."
)
RECORDED = (
    "Flight two forty one leaves from gate seventeen.",
    "Chapter one. It was the best of times, it was the worst of times.",
    TEXT,
)
SIZES = {"desktop": {"width": 1280, "height": 860}, "phone": PHONE}
THEMES = ("light", "dark")
README_SHOTS = (("desktop", "light", ""), ("phone", "dark", "-phone"))
README_IMAGES = Path("docs/images")
LARGEST_BYTES = 200_000
LOAD_REQUESTS = 9
HISTORY_MS = 8000
VOICES = (("Ada", "en", "calm,narrator"), ("Grace", "en", "warm"), ("Lin", "zh", "bright"))


@dataclass(frozen=True)
class Scene:
    """A page in a state worth a picture. `busy`: other clients keep the fleet occupied meanwhile."""

    prepare: Callable[[Page, str], None]
    busy: bool = False
    full_page: bool = False


# the scenes


def studio(page: Page, url: str) -> None:
    """A clip in the history, and another one while it speaks."""
    page.goto(url)
    expect(page.locator("input[name=voice]").first).to_be_attached()
    stage = page.locator("#stage")
    page.fill("#text", "Flight two forty one leaves from gate seventeen.")
    page.click("#generate")
    expect(page.locator(".clip")).to_have_count(1, timeout=60_000)
    page.fill("#text", TEXT)
    page.click("#generate")
    expect(stage).to_have_attribute("data-player", "playing", timeout=60_000)
    page.locator("#text").blur()
    page.wait_for_timeout(3000)
    page.evaluate("scrollTo(0, 0)")


def new_voice(page: Page, url: str) -> None:
    """A recording with its trim handles, and the consent."""
    page.goto(url)
    page.click("#new-voice")
    page.click("#voice-record")
    expect(page.locator(".rec-time")).to_contain_text("0:06", timeout=30_000)
    page.click("#voice-record")
    for field, words in {"name": "Ada", "lang": "en", "tags": "calm, narrator"}.items():
        page.fill(f"#voice-{field}", words)
    page.check("#consent")
    page.fill("#consent-by", "Ada Lovelace")
    page.evaluate("document.querySelector('#voice-sheet').scrollTo(0, 0)")


def live(page: Page, url: str) -> None:
    """A session that was interrupted once, while it speaks on."""
    page.goto(f"{url}/live")
    expect(page.locator("input[name=voice]").first).to_be_attached()
    page.click("#start")
    stage = page.locator("#stage")
    expect(stage).to_have_attribute("data-state", "live", timeout=60_000)
    page.locator("#text").press_sequentially(f"{TEXT} ", delay=4)
    expect(page.locator(".word.heard").nth(7)).to_be_visible(timeout=60_000)
    page.keyboard.press("Escape")
    expect(page.locator(".word.dropped").first).to_be_visible()
    page.locator("#text").press_sequentially("Wait: what did they sing? An old song, of coming ho", delay=4)
    page.locator("#text").press_sequentially("me at last. And th", delay=4)
    expect(page.locator(".script-text").last.locator(".heard").nth(5)).to_be_visible(timeout=60_000)


def sessions(page: Page, url: str) -> None:
    """The list of a few recordings."""
    _record_some(url)
    page.goto(f"{url}/sessions")
    expect(page.locator(".session-row[data-session]").nth(len(RECORDED) - 1)).to_be_visible()


def session(page: Page, url: str) -> None:
    """A recording while it is replayed."""
    _record_some(url)
    page.goto(f"{url}/sessions")
    page.locator(".session-row", has_text="fog").first.get_by_role("link").click()
    expect(page.locator("#play")).to_be_enabled(timeout=60_000)
    page.fill("#comment-box", "The pace of the second sentence is what we want for the series.")
    page.locator(".word", has_text="boats").click()
    expect(page.locator(".word.heard", has_text="lamps")).to_be_visible(timeout=60_000)
    page.evaluate("document.activeElement.blur()")


def _record_some(url: str) -> None:
    known = {each["title"] for each in httpx.get(f"{url}/api/sessions").json()["sessions"]}
    for text in RECORDED:
        if text[:80] not in known:
            httpx.post(f"{url}/tts", json={"text": text, "record": True}, timeout=120).raise_for_status()


def book(page: Page, url: str) -> None:
    """A book of two voices while it is read aloud."""
    voices = {voice["name"]: voice["id"] for voice in httpx.get(f"{url}/api/voices").json()["voices"]}
    blocks: list[dict[str, str]] = [{"kind": "chapter", "text": "The Harbour"}, {"text": TEXT}]
    blocks += [
        {"text": "“An old song, of coming home at last,”", "voice": voices["Ada"]},
        {"text": "said Ada."},
    ]
    made = httpx.post(f"{url}/api/books", json={"title": "The Harbour", "blocks": blocks}).json()
    page.goto(f"{url}/book/{made['id']}")
    page.click("#make")
    expect(page.locator("#progress-words")).to_have_text("all spoken", timeout=60_000)
    page.locator(".block [data-do=play]").nth(1).click()
    expect(page.locator("#reader .word.heard", has_text="boats")).to_be_visible(timeout=60_000)


def admin(page: Page, url: str) -> None:
    """Workers at work, once the sparklines have some history."""
    page.goto(f"{url}{ADMIN_PAGE}")
    expect(page.locator(".worker[data-worker]").first).to_be_visible()
    page.wait_for_timeout(HISTORY_MS)


SCENES = {
    "studio": Scene(studio),
    "new-voice": Scene(new_voice),
    "live": Scene(live),
    "book": Scene(book),
    "sessions": Scene(sessions),
    "session": Scene(session),
    "admin": Scene(admin, busy=True),
}

# the fleet


@contextlib.contextmanager
def small_fleet(model: str, voice: Path) -> Iterator[str]:
    """The URL of a gateway with a few voices and three workers, one of them draining; of a real model one."""
    real = model != "synthetic"
    options = {"slots": 2} if real else {"slots": 2, "step_ms": 45}
    with contextlib.ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory())
        workers = [stack.enter_context(worker(model=model, **options)) for _ in range(1 if real else 3)]  # type: ignore[arg-type]
        edge = stack.enter_context(gateway([each.url for each in workers], VOXFLEET_DATA_DIR=data))
        eventually(lambda: all(one["state"] == "IDLE" for one in edge.get_json("/api/workers")["workers"]))
        if not real:
            httpx.post(f"{edge.url}/api/workers/w2/drain", headers=ADMIN).raise_for_status()
        add_voices(edge.url, voice)
        yield edge.url


def add_voices(url: str, recording: Path) -> None:
    """Voices of one's own, with consent."""
    statement = httpx.get(f"{url}/api/voices/consent").json()["statement"]
    for name, language, tags in VOICES:
        fields = {"name": name, "language": language, "tags": tags}
        consent = {"consent_by": "Ada Lovelace", "consent_statement": statement}
        audio = {"audio": ("voice.wav", recording.read_bytes(), "audio/wav")}
        httpx.post(f"{url}/api/voices", data=fields | consent, files=audio, timeout=60).raise_for_status()


@contextlib.contextmanager
def load(url: str) -> Iterator[None]:
    """Requests that keep a small fleet busy and its queue filled."""
    over = threading.Event()

    def speak() -> None:
        while not over.is_set():
            with contextlib.suppress(httpx.HTTPError):
                httpx.post(f"{url}/tts", json={"text": TEXT, "format": "pcm"}, timeout=60)

    threads = [threading.Thread(target=speak) for _ in range(LOAD_REQUESTS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


# the pictures


@contextlib.contextmanager
def opened(browser: Browser, size: str, theme: str, scale: float) -> Iterator[Page]:
    """A fresh page of that size and theme."""
    options = {"viewport": SIZES[size], "color_scheme": theme, "device_scale_factor": scale}
    with watched_page(browser, **options) as watched:
        yield watched.page
        for complaint in watched.complaints:
            print("  the page complains:", complaint)


def shoot(browser: Browser, url: str, name: str, options: argparse.Namespace) -> None:
    """All pictures of one scene."""
    scene = SCENES[name]
    everything = [(size, theme, f"-{size}-{theme}") for size in SIZES for theme in THEMES]
    with load(url) if scene.busy else contextlib.nullcontext():
        for size, theme, suffix in everything if options.all else README_SHOTS:
            path = options.out / f"{name}{suffix}.png"
            with opened(browser, size, theme, 2 if options.all else 1) as page:
                scene.prepare(page, url)
                page.screenshot(path=path, full_page=scene.full_page)
            large = "" if options.all or path.stat().st_size <= LARGEST_BYTES else "  (large for a README)"
            print(f"{path}  {path.stat().st_size // 1000} kB{large}")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", help="of a running gateway; its admin API must answer this machine")
    parser.add_argument("--model", default="synthetic", help="what the small fleet speaks with")
    parser.add_argument("--only", choices=SCENES, action="append", help="these scenes and no others")
    parser.add_argument("--all", action="store_true", help="both sizes in both themes, twice as fine")
    parser.add_argument("--out", type=Path, default=README_IMAGES)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        voice = write_voice(Path(folder) / "voice.wav")
        fleet = small_fleet(options.model, voice)
        fleet = contextlib.nullcontext(options.url.rstrip("/")) if options.url else fleet
        with fleet as url, chromium(*fake_microphone(voice)) as browser:
            for name in options.only or SCENES:
                shoot(browser, url, name, options)


if __name__ == "__main__":
    main()
