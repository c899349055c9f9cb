"""The pages in states that are worth a picture, for `scripts/screenshots.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import httpx
from playwright.sync_api import Page, expect

from tests.e2e.chats import answer_with, send
from tests.gateway.callers.administration import ADMIN_PAGE

TEXT = (
    "The fog lifted a little after six. One by one the boats in the harbour lit their lamps, "
    "and someone on the pier began to sing."
)
RECORDED = (
    "Flight two forty one leaves from gate seventeen.",
    "Chapter one. It was the best of times, it was the worst of times.",
    TEXT,
)
WEEKEND = """<think>
Two days by the sea, and no car: a town with a station.
</think>

Take the early train on Saturday, and a room near the harbour.

- Saturday: the market in the morning, then along the pier as far as the lighthouse.
- Sunday: the ferry to the island, with bread and cheese for the beach.

The last train leaves at seven, so be at the quay again by five."""
HISTORY_MS = 8000
UNFOLD = "document.querySelectorAll('details').forEach((fold) => (fold.open = true))"


@dataclass(frozen=True)
class Scene:
    """A page in a state worth a picture. `busy`: other clients keep the fleet occupied meanwhile."""

    prepare: Callable[[Page, str], None]
    busy: bool = False


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


def chat(page: Page, url: str) -> None:
    """A conversation, in a fleet that would have a text model."""
    answer_with(page, WEEKEND)
    page.goto(f"{url}/chat")
    page.check("#aloud")
    expect(page.locator("input[name=voice]").first).to_be_attached()
    page.uncheck("#aloud")  # nobody speaks here
    send(page, "Plan a weekend by the sea, please. I have no car.")
    expect(page.locator(".turn[data-state=complete]")).to_be_visible()


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
    expect(page.locator("#book[data-spoken]")).to_be_attached(timeout=60_000)
    page.locator(".block [data-do=play]").nth(1).click()
    expect(page.locator("#reader .word.heard", has_text="boats")).to_be_visible(timeout=60_000)


def admin(page: Page, url: str) -> None:
    """Workers at work, once the sparklines have some history."""
    page.goto(f"{url}{ADMIN_PAGE}")
    expect(page.locator(".worker[data-worker]").first).to_be_visible()
    page.wait_for_timeout(HISTORY_MS)


def first_minute(page: Page, url: str) -> None:
    """The studio as a newcomer finds it, with everything unfolded."""
    page.goto(url)
    expect(page.locator("input[name=voice]").first).to_be_attached()
    page.evaluate(UNFOLD)


def refused(page: Page, url: str) -> None:
    """What the studio says of a text that cannot be spoken, and of one in another script."""
    page.goto(url)
    expect(page.locator("input[name=voice]").first).to_be_attached()
    page.route("**/ws/tts", lambda route: route.abort())
    page.fill("#text", "Доброе утро, мир.")
    expect(page.locator("#text-warning")).to_be_visible()
    page.click("#text-anyway")
    page.wait_for_timeout(1500)


def lexicon(page: Page, url: str) -> None:
    """Pronunciations of one's own."""
    page.goto(url)
    page.click("#advanced summary")
    page.click("#lexicon")
    expect(page.locator("dialog[open]")).to_be_visible()


def keyboard(page: Page, url: str) -> None:
    """The list of keys."""
    page.goto(url)
    expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_be_visible()


def shelf(page: Page, url: str) -> None:
    """A book on its shelf."""
    _a_book(url)
    page.goto(f"{url}/book")
    expect(page.locator("#list[aria-busy]")).to_have_count(0)


def tools(page: Page, url: str) -> None:
    """A block of a book with its tools open, and another one that is selected."""
    page.goto(f"{url}/book/{_a_book(url)}")
    page.locator("[data-do=more]").nth(1).click()
    page.locator(".block-select").nth(2).check()


def cast(page: Page, url: str) -> None:
    """Voices for dialogue."""
    page.goto(f"{url}/book/{_a_book(url)}")
    page.click("#cast")
    expect(page.locator("dialog[open]")).to_be_visible()


def export(page: Page, url: str) -> None:
    """The files of a book, before all of it is made."""
    page.goto(f"{url}/book/{_a_book(url)}")
    page.click("#export")
    expect(page.locator("dialog[open]")).to_be_visible()


def _a_book(url: str) -> str:
    blocks = [
        {"kind": "chapter", "text": "The Harbour"},
        {"text": TEXT},
        {"text": "“What did they sing?” she asked."},
    ]
    made: dict[str, str] = httpx.post(
        f"{url}/api/books", json={"title": "The Harbour", "blocks": blocks}
    ).json()
    return made["id"]


def unfolded_admin(page: Page, url: str) -> None:
    """Administration with all that is folded."""
    admin(page, url)
    page.evaluate(UNFOLD)
    page.wait_for_timeout(1000)


def locked_admin(page: Page, url: str) -> None:
    """Administration as somebody without the token finds it."""
    page.goto(f"{url}/admin")
    expect(page.locator(".lamp")).to_be_visible()
    page.wait_for_timeout(1000)


def api(page: Page, url: str) -> None:
    """A route of the API with its example."""
    page.goto(f"{url}/docs#post_tts")
    expect(page.locator("#post_tts .code").first).to_be_visible()


def client(page: Page, url: str) -> None:
    """How a client of another service is connected."""
    page.goto(f"{url}/docs/livekit")
    expect(page.get_by_role("heading", name="LiveKit")).to_be_visible()


def lost(page: Page, url: str) -> None:
    """An address that leads nowhere."""
    page.goto(f"{url}/no/such/page")
    expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")


SCENES = {
    "studio": Scene(studio),
    "first-minute": Scene(first_minute),
    "refused": Scene(refused),
    "lexicon": Scene(lexicon),
    "keyboard": Scene(keyboard),
    "new-voice": Scene(new_voice),
    "live": Scene(live),
    "chat": Scene(chat),
    "shelf": Scene(shelf),
    "book": Scene(book),
    "tools": Scene(tools),
    "cast": Scene(cast),
    "export": Scene(export),
    "sessions": Scene(sessions),
    "session": Scene(session),
    "admin": Scene(admin, busy=True),
    "admin-all": Scene(unfolded_admin, busy=True),
    "admin-locked": Scene(locked_admin),
    "api": Scene(api),
    "client": Scene(client),
    "lost": Scene(lost),
}
