"""Graphs of the last days, for pointer, keyboard and as a table."""

from __future__ import annotations

import asyncio
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from gateway.database import Database, FigureSpan
from gateway.operations.measurements.figures import Figures
from gateway.settings.storage import DATABASE_FILE
from tests.e2e.processes import eventually, gateway, worker
from tests.gateway.callers.administration import ADMIN_PAGE


def test_graphs_show_what_was_kept_to_pointer_keyboard_and_as_a_table(page: Page, tmp_path: Path) -> None:
    began_at = int(time.time()) // 600 * 600 - 3 * 86_400
    with ThreadPoolExecutor(1) as aside:  # this thread has playwright's event loop
        aside.submit(asyncio.run, keep_figures(tmp_path, began_at)).result()
    with worker() as one, gateway([one.url], VOXFLEET_DATA_DIR=str(tmp_path)) as edge:
        page.goto(f"{edge.url}{ADMIN_PAGE}")
        page.get_by_role("radio", name="7 days").check()
        load = page.get_by_role("slider", name="Load")
        expect(load.locator(".graph-lone.line-0").first).to_be_visible()
        nothing = page.get_by_role("slider", name="First audio").get_by_text("Nothing was measured")
        expect(nothing).to_be_visible()
        load.focus()
        eventually(lambda: "slots in use 3, waiting 0, slots in all 4" in at_the_first_point(page, load))
        page.keyboard.press("ArrowRight")
        expect(load).to_have_attribute("aria-valuetext", re.compile("slots in use 1.5, "))
        expect(page.locator(".graph-bubble").first).to_contain_text("1.5")
        page.get_by_role("slider", name="First audio").hover()
        expect(page.locator(".graph-bubble").nth(1)).to_contain_text("95 % within")
        page.locator(".graph-details summary").first.click()
        row = page.locator(".graph-table tbody tr").last
        expect(row.locator("td")).to_have_text(["3", "0", "4"])
        page.reload()
        expect(page.get_by_role("radio", name="7 days")).to_be_checked()
        page.get_by_role("radio", name="1 h", exact=True).check()
        expect(load).not_to_have_attribute("aria-valuetext", re.compile("slots in use 1.5, "))


def at_the_first_point(page: Page, graph: Locator) -> str:
    """What a graph says of its oldest point; of another one once it has more."""
    page.keyboard.press("Home")
    return graph.get_attribute("aria-valuetext") or ""


async def keep_figures(folder: Path, began_at: int) -> None:
    """Spans of ten minutes, two of them without a gap, as another process of the gateway left them."""
    database = Database(f"sqlite:///{folder / DATABASE_FILE}")
    await database.open()
    async with database.transaction() as rows:
        for number, used in ((0, 3), (1, 1.5), (9, 2)):
            figures = Figures(600, 1200, 2400, used_seconds=used * 600).as_fields()
            rows.add(FigureSpan(length=600, at=began_at + 600 * number, gateway="before", figures=figures))
    await database.close()
