"""`/docs`: what a reader finds, and that the code which it shows runs as it is pasted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.browser import PHONE, WatchedPage, watched_page
from tests.e2e.processes import Server, gateway, worker
from tests.gateway.callers.administration import ADMIN, ADMIN_PAGE, ADMIN_TOKEN
from tests.gateway.description.examples import FILES

ROOT = Path(__file__).resolve().parents[3]
ALONE = (
    *("post_tts", "get_tts", "post_tts_links", "post_api_encode", "websocket_ws_tts", "websocket_ws_live"),
    *("post_api_voices_checks", "post_api_documents", "put_api_lexicon", "delete_api_lexicon"),
    *("post_v1_audio_speech", "post_tts_bytes", "get_v1_models", "get_api_workers", "get_metrics"),
)
"""Ids of operations whose examples need nothing that others have made."""
PRINT_CODE = """
import { codeOf } from "./frontend/static/js/docs/code.js";
import { groupsOf, requestOf } from "./frontend/static/js/docs/description.js";
let text = "";
for await (const piece of process.stdin) text += piece;
const { origin, document } = JSON.parse(text);
const found = groupsOf(document).flatMap(({ operations }) => operations);
const code = found.map((each) => [each.id, codeOf(each, requestOf(each), { origin })]);
console.log(JSON.stringify(Object.fromEntries(code)));
"""


@pytest.fixture(scope="module")
def code(fleet: Server) -> dict[str, dict[str, str]]:
    """By operation, by language; as the page shows it."""
    document = httpx.get(f"{fleet.url}/openapi.json").json()
    told = json.dumps({"origin": fleet.url, "document": document})
    command = ["node", "--input-type=module", "--eval", PRINT_CODE]
    done = subprocess.run(
        command, cwd=ROOT, input=told, capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", ["curl", "Python", "JavaScript"])
def test_the_code_runs_as_it_is_pasted(
    code: dict[str, dict[str, str]], language: str, tmp_path: Path
) -> None:
    commands = {"curl": ["sh", "-c"], "Python": [sys.executable, "-c"]}
    commands["JavaScript"] = ["node", "--input-type=module", "--eval"]
    for name, content in FILES.items():
        (tmp_path / name.removeprefix("@")).write_bytes(content)
    variables = {**os.environ, "VOXFLEET_ADMIN_TOKEN": ADMIN_TOKEN, "VOXFLEET_METRICS_TOKEN": ADMIN_TOKEN}
    ran = 0
    for name in ALONE:
        if language not in code[name] or (name.startswith("websocket") and language == "JavaScript"):
            continue  # curl knows no sockets, and Node before 22 has none
        command = [*commands[language], code[name][language]]
        done = subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, f"{name}:\n{code[name][language]}\n{done.stdout}\n{done.stderr}"
        ran += 1
    assert ran >= 13
    assert (tmp_path / "answer.wav").read_bytes()[:4] == b"RIFF"


def test_a_route_is_found_read_and_run(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/docs")
    page.get_by_role("searchbox").fill("speak text tts")
    expect(page.locator("#post_tts")).to_be_visible()
    expect(page.locator("#get_api_jobs")).to_be_hidden()
    page.locator("#post_tts summary").first.click()
    page.get_by_role("tab", name="Python").first.click()
    expect(page.locator("#post_tts pre").first).to_contain_text("httpx.request")
    page.locator("#post_tts textarea").fill('{"text": "Hello there.", "format": "wav"}')
    page.get_by_role("button", name="Run it here: Speak a text").click()
    expect(page.locator("#post_tts audio")).to_be_visible()
    expect(page.locator("#post_tts .try [role=status]")).to_contain_text("Status 200")
    page.reload()
    page.locator("#post_v1_speak summary").first.click()
    expect(page.locator("#post_v1_speak pre").first).to_contain_text("httpx.request")


def test_a_gateway_that_is_away_is_said_to_be(watched: WatchedPage, fleet: Server) -> None:
    page = watched.page
    page.goto(f"{fleet.url}/docs#post_tts")
    page.route("**/tts", lambda route: route.abort())
    page.get_by_role("button", name="Run it here: Speak a text").click()
    expect(page.locator("#post_tts .try [role=status]")).to_have_text("The gateway does not answer.")
    watched.complaints.clear()  # of the refused request


def test_links_come_once_and_stay_where_they_are(page: Page, fleet: Server) -> None:
    """The links to clients stood where those to routes came later, under the pointer."""
    held: list[Route] = []
    page.route("**/openapi.json", lambda route: held.append(route))
    with page.expect_request("**/openapi.json"):
        page.goto(f"{fleet.url}/docs")
    expect(page.locator("#content .skeleton")).to_be_visible()
    expect(page.locator("#side a").first).to_be_hidden()
    held[0].continue_()
    expect(page.locator("#side a").first).to_have_text("Speech")
    expect(page.locator("#side a").last).to_be_visible()
    expect(page.locator("#content .skeleton")).to_have_count(0)
    expect(page.locator("#side a").last).to_have_text("Deepgram SDK")


def test_names_in_what_is_said_of_routes_are_code(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/docs")
    expect(page.locator(".docs-group p code", has_text="adapter_slots")).to_be_visible()
    assert "`" not in "".join(page.locator(".docs-group > p").all_inner_texts())


def test_an_address_opens_its_route_and_its_client(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/docs#delete_api_jobs_id")
    expect(page.locator("#delete_api_jobs_id pre").first).to_be_visible()
    page.get_by_role("link", name="Open WebUI").click()
    expect(page.get_by_role("heading", name="Open WebUI")).to_be_visible()
    expect(page.locator("pre")).to_contain_text(f"AUDIO_TTS_OPENAI_API_BASE_URL={fleet.url}/v1")
    page.get_by_role("button", name="Switch to 中文").click()
    expect(page.get_by_role("link", name="全部接口")).to_be_visible()


@pytest.fixture(scope="module")
def closed() -> Iterator[Server]:
    """Of a gateway that shows its description to nobody unknown."""
    with worker() as one, gateway([one.url], VOXFLEET_EXPOSE_OPENAPI="false") as edge:
        yield edge


def test_who_is_not_known_is_told_how_to_see_it(browser: Browser, closed: Server) -> None:
    assert httpx.get(f"{closed.url}/openapi.json").status_code == 404
    assert httpx.get(f"{closed.url}/openapi.json", headers=ADMIN).is_success
    with watched_page(browser) as watched:
        page = watched.page
        page.goto(f"{closed.url}/docs")
        expect(page.get_by_role("heading", name="Who may see the routes")).to_be_visible()
        expect(page.locator("pre")).to_contain_text(f"curl --fail-with-body '{closed.url}/tts'")
        expect(page.locator("#search")).to_be_hidden()
        page.get_by_role("button", name="Give key or token").click()
        page.fill("#api-key", ADMIN_TOKEN)
        page.get_by_role("button", name="Use it").click()
        expect(page.locator("#post_tts")).to_be_visible()
        assert watched.complaints == []
    with watched_page(browser) as watched:
        watched.page.goto(closed.url + ADMIN_PAGE)
        watched.page.get_by_role("link", name="API").click()
        expect(watched.page.locator("#post_tts")).to_be_visible()
        assert watched.complaints == []


def test_what_stays_locked_is_where_it_was_while_that_was_not_clear(browser: Browser, closed: Server) -> None:
    with watched_page(browser, viewport=PHONE) as watched:
        page, asked = watched.page, []
        page.route("**/api/config", lambda route: asked.append(route))
        page.goto(f"{closed.url}/docs")
        waiting = page.locator(".docs-waiting")
        expect(waiting).to_be_visible()
        top = waiting.evaluate("(place) => place.getBoundingClientRect().top")
        for route in asked:
            route.continue_()
        page.unroute("**/api/config")
        note = page.locator(".docs-note").first
        expect(note).to_be_visible()
        assert note.evaluate("(place) => place.getBoundingClientRect().top") == top
