"""Pages as they are served, judged by tools: axe-core in 60 states, html-validate, and Lighthouse.

Lighthouse's score of performance depends on the machine and its load, and that of accessibility is what
axe-core finds. Here its other categories are held; `test_first_minute.py` holds what a page costs, and
`benchmarks/pages/lighthouse.py` measures the scores.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import DESKTOP, PHONE, watched_page
from tests.e2e.chats import answer_with as answer_with_text
from tests.e2e.chats import send
from tests.e2e.processes import Server, eventually
from tests.e2e.studio import fleet_with_data, write_voice
from tests.e2e.trainings import EVERY_STATE, answer_with
from tests.gateway.callers.administration import ADMIN_PAGE
from tests.page_tools import axe_source, debugged_chromium, html_faults, lighthouse

pytestmark = pytest.mark.timeout(400)  # Lighthouse takes a minute; tools may have to be installed
LEAST_SCORE = 95
COLOURS_HAVE_CHANGED = """async () => {
  do await new Promise(requestAnimationFrame);
  while (document.getAnimations().some((each) => each instanceof CSSTransition));
}"""
CATEGORIES = ("best-practices", "seo")
JUDGED_BY_LIGHTHOUSE = ("/", "/live", "/chat", "/book", "/sessions", "/train", "recorded")
MORE_RULES = (
    "identical-links-same-purpose",
    "label-content-name-mismatch",
    "table-fake-caption",
    "target-size",
    "td-has-header",
)
"""What Lighthouse has axe-core look at besides what it looks at by itself."""
ALL_RULES = {"rules": {rule: {"enabled": True} for rule in MORE_RULES}}
RULES_OF_COLOUR = {"runOnly": ["color-contrast", "link-in-text-block"]}
RUN_AXE = """async (rules) => (await axe.run({ resultTypes: ["violations"], ...rules })).violations"""


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    with fleet_with_data() as edge:
        yield edge


@pytest.fixture(scope="module")
def recorded(fleet: Server) -> str:
    """The path of a recorded session's page."""
    answer = httpx.post(f"{fleet.url}/tts", json={"text": "A recorded sentence.", "record": True}, timeout=60)
    session = answer.headers["X-Session-Id"]
    eventually(lambda: fleet.get_json(f"/api/sessions/{session}"))
    return f"/sessions/{session}"


def open_page(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")


def studio(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, fleet.url)
    page.click("#advanced summary")


def studio_with_a_clip(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, fleet.url)
    page.click("#generate")
    expect(page.locator("#stage")).to_have_attribute("data-state", "done", timeout=30_000)
    expect(page.locator(".clip[data-shown]")).to_be_visible()


def studio_with_a_warning(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, fleet.url)
    expect(page.locator("#welcome-model")).to_contain_text("English")
    page.fill("#text", "Доброе утро")
    expect(page.locator("#text-warning")).to_be_visible()


def new_voice(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, fleet.url)
    page.click("#new-voice")
    expect(page.locator("dialog[open]")).to_be_visible()
    with tempfile.TemporaryDirectory() as folder:
        paused = write_voice(Path(folder) / "paused.wav", pause=(3.0, 5.0))
        page.set_input_files("#voice-file", paused)
        expect(page.locator(".drop .check-warning")).to_be_visible()


def live(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, f"{fleet.url}/live")


def chat(page: Page, fleet: Server, recorded: str) -> None:
    answer_with_text(page)
    open_page(page, f"{fleet.url}/chat")
    page.check("#aloud")
    expect(page.locator("input[name=voice]").first).to_be_attached()
    page.uncheck("#aloud")
    send(page, "Plan a weekend by the sea.")
    expect(page.locator(".turn[data-state=complete]")).to_be_visible()
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    page.get_by_role("button", name="Edit").click()
    page.check("#aloud")


def chat_without_a_model(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, f"{fleet.url}/chat")
    expect(page.locator("#unserved")).to_be_visible()


def shelf(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, f"{fleet.url}/book")
    expect(page.locator("#list[aria-busy]")).to_have_count(0)


def book(page: Page, fleet: Server, recorded: str) -> None:
    blocks = [{"kind": "chapter", "text": "One"}, {"kind": "paragraph", "text": "A first paragraph."}]
    made = httpx.post(f"{fleet.url}/api/books", json={"title": "Judged", "blocks": blocks}, timeout=60).json()
    open_page(page, f"{fleet.url}/book/{made['id']}")
    page.get_by_role("button", name="Voice, pause and takes: One").click()
    page.get_by_role("checkbox", name="Select: One").check()
    expect(page.locator(".block-tools")).to_be_visible()


def train(page: Page, fleet: Server, recorded: str) -> None:
    answer_with(page, EVERY_STATE)
    open_page(page, f"{fleet.url}/train")
    expect(page.locator("[data-training=t_Carla]")).to_be_visible()
    with tempfile.TemporaryDirectory() as folder:
        page.set_input_files("#file", write_voice(Path(folder) / "1.wav", 4.0))
        expect(page.locator(".train-entry-length")).to_contain_text("4")
    page.click("#train-start")
    expect(page.locator("#train-problem")).to_be_visible()


def sessions(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, f"{fleet.url}/sessions")
    expect(page.locator("#list[aria-busy]")).to_have_count(0)
    page.locator(".session-choice input").first.check()
    expect(page.locator("#chosen")).to_be_visible()


def session(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, fleet.url + recorded)
    expect(page.locator("#session[aria-busy]")).to_have_count(0)


def admin(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, fleet.url + ADMIN_PAGE)
    expect(page.locator(".worker:not(.skeleton)").first).to_be_visible()
    page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")


def api(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, f"{fleet.url}/docs#post_tts")
    expect(page.locator("#post_tts .code").first).to_be_visible()
    page.locator("#websocket_ws_tts summary").first.click()


def client(page: Page, fleet: Server, recorded: str) -> None:
    open_page(page, f"{fleet.url}/docs/livekit")
    expect(page.get_by_role("heading", name="LiveKit")).to_be_visible()


STATES: tuple[Callable[[Page, Server, str], None], ...] = (
    studio,
    studio_with_a_clip,
    studio_with_a_warning,
    new_voice,
    live,
    chat,
    chat_without_a_model,
    shelf,
    book,
    train,
    sessions,
    session,
    admin,
    api,
    client,
)


@pytest.mark.parametrize(
    ("size", "themes"),
    [(DESKTOP, ("light", "dark")), (PHONE, ("dark", "light"))],
    ids=["desktop", "phone"],
)
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_axe_finds_nothing(
    browser: Browser,
    fleet: Server,
    recorded: str,
    state: Callable[[Page, Server, str], None],
    size: dict[str, int],
    themes: tuple[str, str],
) -> None:
    """In the theme in which the page was opened, and in the other one, which changes colours alone."""
    still = {"reduced_motion": "reduce"}
    with watched_page(browser, viewport=size, color_scheme=themes[0], **still) as watched:
        state(watched.page, fleet, recorded)
        watched.page.evaluate(f"{axe_source()}; null")
        for theme in themes:
            watched.page.emulate_media(color_scheme=theme, **still)
            watched.page.evaluate(COLOURS_HAVE_CHANGED)
            rules = ALL_RULES if theme == themes[0] else RULES_OF_COLOUR
            found = watched.page.evaluate(RUN_AXE, rules)
            assert [(theme, each["id"], [node["target"] for node in each["nodes"]]) for each in found] == []


def test_html_validate_finds_nothing(fleet: Server, recorded: str) -> None:
    paths = (
        "/",
        "/live",
        "/chat",
        "/book",
        "/book/b_any",
        "/train",
        "/sessions",
        recorded,
        "/admin",
        "/docs",
    )
    assert html_faults([fleet.url + path for path in paths]) == []


@pytest.fixture(scope="module")
def judged(fleet: Server, recorded: str) -> dict[str, dict[str, Any]]:
    """What Lighthouse says of each page on a phone."""
    paths = [recorded if path == "recorded" else path for path in JUDGED_BY_LIGHTHOUSE]
    with debugged_chromium(shell=True) as port:
        found = lighthouse(port, [fleet.url + path for path in paths], "mobile", *CATEGORIES)
    return dict(zip(JUDGED_BY_LIGHTHOUSE, found, strict=True))


@pytest.mark.parametrize("path", JUDGED_BY_LIGHTHOUSE)
def test_lighthouse_finds_little(judged: dict[str, dict[str, Any]], path: str) -> None:
    found = judged[path]
    assert set(found["scores"]) == set(CATEGORIES)
    assert min(found["scores"].values()) >= LEAST_SCORE, found
