"""Screenshots of the pages, caught in the middle of their work.

    python -m scripts.screenshots                                      # docs/images, as the README shows them
    python -m scripts.screenshots --all --out build/screenshots        # every size, theme and language
    python -m scripts.screenshots --only studio --model bundled        # a real voice, where it is installed
    python -m scripts.screenshots --url http://127.0.0.1:8006          # of a running gateway

Without --url a small fleet is started, with voices of its own. `scripts/scenes.py` brings the
pages into the states that are worth a picture.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page

from scripts.past_hour import keep_past_hour
from scripts.scenes import SCENES, TEXT
from tests.e2e.browser import PHONE, chromium, fake_microphone, watched_page
from tests.e2e.processes import eventually, gateway, worker
from tests.e2e.studio import write_voice
from tests.gateway.callers.administration import ADMIN

SIZES = {"desktop": {"width": 1280, "height": 860}, "phone": PHONE}
THEMES = ("light", "dark")
LANGUAGES = {"en": "en-GB", "zh": "zh-CN"}
README_SHOTS = (("desktop", "light", "en", ""), ("phone", "dark", "en", "-phone"))
README_SCENES = ("studio", "new-voice", "live", "chat", "book", "sessions", "session", "admin")
README_IMAGES = Path("docs/images")
LARGEST_BYTES = 200_000
LOAD_REQUESTS = 9
VOICES = (("Ada", "en", "calm,narrator"), ("Grace", "en", "warm"), ("Lin", "zh", "bright"))


# the fleet


@contextlib.contextmanager
def small_fleet(model: str, voice: Path) -> Iterator[str]:
    """The URL of a gateway with a few voices and three workers, one of them draining; of a real model one."""
    real = model != "synthetic"
    options = {"slots": 2} if real else {"slots": 2, "step_ms": 45}
    with contextlib.ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory())
        asyncio.run(keep_past_hour(Path(data)))
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
def opened(browser: Browser, size: str, theme: str, language: str, scale: float) -> Iterator[Page]:
    """A fresh page of that size, theme and language."""
    options = {"viewport": SIZES[size], "color_scheme": theme, "device_scale_factor": scale}
    options |= {"locale": LANGUAGES[language], "has_touch": size == "phone"}
    with watched_page(browser, **options) as watched:
        yield watched.page
        for complaint in watched.complaints:
            print("  the page complains:", complaint)


def shoot(browser: Browser, url: str, name: str, options: argparse.Namespace) -> None:
    """All pictures of one scene."""
    scene = SCENES[name]
    everything = [
        (size, theme, language, f"-{size}-{theme}-{language}")
        for size in SIZES
        for theme in THEMES
        for language in LANGUAGES
    ]
    with load(url) if scene.busy else contextlib.nullcontext():
        for size, theme, language, suffix in everything if options.all else README_SHOTS:
            path = options.out / f"{name}{suffix}.png"
            with opened(browser, size, theme, language, options.scale) as page:
                scene.prepare(page, url)
                page.screenshot(path=path, full_page=options.all)
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
    parser.add_argument("--all", action="store_true", help="both sizes, themes and languages, whole pages")
    parser.add_argument("--scale", type=float, default=1, help="pixels per CSS pixel")
    parser.add_argument("--out", type=Path, default=README_IMAGES)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        voice = write_voice(Path(folder) / "voice.wav")
        fleet = small_fleet(options.model, voice)
        fleet = contextlib.nullcontext(options.url.rstrip("/")) if options.url else fleet
        with fleet as url, chromium(*fake_microphone(voice)) as browser:
            for name in options.only or (SCENES if options.all else README_SCENES):
                shoot(browser, url, name, options)


if __name__ == "__main__":
    main()
