"""The pages behind a balancer while gateways are upgraded in turn: no page is of two versions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.pages.away.balancer import balancer, former_pages
from tests.e2e.processes import Server, gateway, worker
from tests.gateway.callers.administration import ADMIN_PAGE


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """Of the former version and the present one, with one data folder."""
    folder = tmp_path_factory.mktemp("upgrade")
    shared = {"VOXFLEET_DATA_DIR": str(folder / "data")}
    pages = former_pages(folder / "frontend")
    with (
        worker() as one,
        gateway([one.url], VOXFLEET_FRONTEND_DIR=str(pages), **shared) as old,
        gateway([one.url], **shared) as new,
    ):
        yield old, new


@pytest.mark.parametrize("page_of", ["former", "present"])
def test_a_page_gets_its_own_files_though_another_gateway_is_asked(
    page: Page, gateways: tuple[Server, Server], page_of: str
) -> None:
    """The worst turns that a balancer can take: the page from one, every other file of it from the other."""
    its_own, other = gateways if page_of == "former" else reversed(gateways)
    asked: list[str] = []

    def in_turns(path: str, _: object) -> str:
        if not path.startswith("/static/"):
            return its_own.url
        asked.append(path)
        return (other if len(asked) % 2 else its_own).url

    for choose in (in_turns, lambda path, _: (other if path.startswith("/static/") else its_own).url):
        with balancer(choose) as url:
            page.goto(f"{url}{ADMIN_PAGE}")
            expect(page.locator(".worker[data-worker]")).to_have_count(1)
            expect(page.locator("#log")).to_be_visible()  # of the script that is imported later
            first = page.locator(".nav-pages a").first
            expect(first).to_have_text("Atelier" if page_of == "former" else "Studio")
            assert page.evaluate("globalThis.former ?? false") is (page_of == "former")
