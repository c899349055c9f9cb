"""A real Chromium for the page tests: found on the machine, started without its sandbox, ears open.

A `WatchedPage` notes whatever a page must never do: console errors, uncaught exceptions, dialogs and
violations of the content security policy.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, expect, sync_playwright

INSECURE_HOST = "fleet"
"""Resolves to this machine, but is not localhost: pages from it lack what browsers keep for https."""
ARGUMENTS = [
    "--no-sandbox",
    "--autoplay-policy=no-user-gesture-required",
    f"--host-resolver-rules=MAP {INSECURE_HOST} 127.0.0.1",
]
expect.set_options(timeout=20_000)  # of what never comes; busy computers draw late
_ENOUGH_BYTES = 1 << 30
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
_NOTE_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
  console.error(`security policy violated: ${violatedDirective} ${blockedURI}`);
});
"""
_FEW_FRAMES = """{
  const next = requestAnimationFrame, never = cancelAnimationFrame, due = new Map();
  window.requestAnimationFrame = (draw) => {
    const id = setTimeout(() => due.set(id, next((time) => due.delete(id) && draw(time))), 90);
    return id;
  };
  window.cancelAnimationFrame = (id) => {
    clearTimeout(id);
    never(due.get(id));
  };
}"""
"""Scripts draw ten frames a second, as on a busy computer; a page that plays takes far more with sixty, which
it draws in Firefox (`test_firefox.py`)."""


def fake_microphone(recording: Path) -> list[str]:
    """Arguments for a microphone that plays a WAV file over and over, and that every page may use."""
    return [
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-audio-capture={recording}",
    ]


def _of_small_computers() -> list[str]:
    """What playwright asks for in containers with little shared memory: files of the disk in its place, which
    take an eighth of the processor time of a page. Not where there is enough."""
    place = Path("/dev/shm")
    enough = place.is_dir() and shutil.disk_usage(place).free >= _ENOUGH_BYTES
    return ["--disable-dev-shm-usage"] if enough else []


@contextlib.contextmanager
def chromium(*arguments: str, shell: bool = False) -> Iterator[Browser]:
    """Debian's Chromium, or the one that playwright has installed.

    shell: where it is there, the form without anything around the page. It takes a fifth less processor time;
    devices of sound have another name there whenever a page is opened.
    """
    names = (["chromium-headless-shell"] if shell else []) + ["chromium", "chromium-browser"]
    path = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=[*ARGUMENTS, *arguments], ignore_default_args=_of_small_computers()
        )
        try:
            yield browser
        finally:
            browser.close()


_OF_THE_MACHINE = "The AudioContext encountered an error from the audio device"
"""What a browser says now and then of a computer without sound; what is to be heard is measured before it."""
_OF_PLAYWRIGHT = "Service Worker registration blocked by Playwright"


@dataclass
class WatchedPage:
    """A page and the list of what went wrong in it."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Note complaints from now on."""
        self.page.add_init_script(_NOTE_VIOLATIONS)
        self.page.add_init_script(_FEW_FRAMES)
        self.page.on("console", self._note_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        self.page.on("dialog", self._note_dialog)

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(
            (_OF_THE_MACHINE, _OF_PLAYWRIGHT)
        ):
            self.complaints.append(f"console {message.type}: {message.text}")

    def _note_dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()


def sent_frames(page: Page) -> list[str]:
    """What the page's sockets send from now on, as it comes."""
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(str(frame))))
    return sent


@contextlib.contextmanager
def watched_page(browser: Browser, **context_options: object) -> Iterator[WatchedPage]:
    """A page in a fresh context (no storage, no cookies), without service worker unless one is allowed."""
    context = browser.new_context(**{"service_workers": "block", **context_options})  # type: ignore[arg-type]
    try:
        watched = WatchedPage(context.new_page())
        watched.watch()
        yield watched
    finally:
        context.close()
