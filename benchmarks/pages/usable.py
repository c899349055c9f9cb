"""How soon the pages can be used by a browser that is far away: `python -m benchmarks.pages`.

A real Chromium loads every page of a fresh gateway, each request 150 ms away on a line of 10 Mbit/s. "First"
is a browser that has nothing, "again" the same one once more. A page is usable when what one comes for can be
done: the studio's button is there, the voices can be chosen, lists are filled. Layout shift is counted from
the first paint until a second after that. `--beside DIR` takes turns with another checkout, `--frames` keeps
what was seen.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page

from benchmarks.pages.service import SIZES, addresses, run
from tests.e2e.browser import chromium

LATENCY_MS, BITS_PER_SECOND = 150, 10_000_000
SETTLE_MS = 1000
READY = """(() => {
  const no = (selector) => !document.querySelector(selector);
  const filled = (selector) => Boolean(document.querySelector(selector)?.textContent.trim());
  const lamp = document.querySelector(".lamp")?.dataset.state === "ready";
  const voices = !no("input[name=voice]");
  return {
    studio: () => lamp && voices && filled("#generate"),
    live: () => lamp && voices && filled("#buttons"),
    chat: () => lamp && filled("#send") && filled("#parameters") && filled("#turns-frame"),
    books: () => lamp && no("#list[aria-busy=true]") && !no(".nav-brand"),
    sessions: () => lamp && no("#list[aria-busy=true]") && !no(".nav-brand"),
    session: () => lamp && no("#session[aria-busy=true]") && filled("#title"),
    train: () => lamp && no("#trainings[aria-busy=true]") && filled("#form") && filled("#sum"),
    admin: () => lamp && no("#workers[aria-busy=true]") && filled("#workers") && filled("#summary"),
  };
})()"""
WATCH = """(name) => {
  window.__shift = 0;
  window.__shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      window.__shift += entry.value;
      for (const { node } of entry.sources) {
        const place = node?.id ? `#${node.id}` : `${node?.nodeName}.${node?.className ?? ""}`;
        window.__shifts.push(`${entry.value.toFixed(3)} ${place} at ${Math.round(entry.startTime)} ms`);
      }
    }
  }).observe({ type: "layout-shift", buffered: true });
  window.__usable = new Promise((resolve) => {
    const look = () => {
      const ready = READY;
      if (document.body && ready[name]()) resolve(performance.now());
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}""".replace("READY", READY)


def visit(context: BrowserContext, name: str, address: str, frame: Path | None = None) -> dict[str, Any]:
    """Load a page in a tab of its own, and say how that went."""
    page = context.new_page()
    devtools = _far_away(context, page)
    requests: list[str] = []
    received = [0]
    devtools.on("Network.loadingFinished", lambda event: _add(received, event["encodedDataLength"]))
    page.on("request", lambda request: requests.append(request.url))
    page.add_init_script(f"({WATCH})({json.dumps(name)})")
    page.goto(address, wait_until="commit")
    usable_ms = page.evaluate("window.__usable")
    page.wait_for_timeout(SETTLE_MS)
    if frame is not None:
        page.screenshot(path=frame)
    found = {
        "usable_seconds": usable_ms / 1000,
        "layout_shift": page.evaluate("window.__shift"),
        "shifts": page.evaluate("window.__shifts"),
        "requests": len(requests),
        "kilobytes": round(received[0] / 1000),
    }
    page.close()
    return found


def _add(sum_so_far: list[int], more: float) -> None:
    sum_so_far[0] += round(more)


def _far_away(context: BrowserContext, page: Page) -> CDPSession:
    devtools = context.new_cdp_session(page)
    devtools.send("Network.enable")
    speed = BITS_PER_SECOND / 8
    devtools.send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": LATENCY_MS, "downloadThroughput": speed, "uploadThroughput": speed},
    )
    return devtools


def measure(
    browser: Browser,
    urls: dict[str, str],
    pages: list[str],
    runs: int,
    sizes: list[str],
    frames: Path | None,
) -> dict[str, Any]:
    """Medians by checkout, page, size and visit. The checkouts take turns within every run."""
    places = {checkout: addresses(url) for checkout, url in urls.items()}
    seen: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
    for number in range(runs):
        for name in pages:
            for size in sizes:
                for checkout, address in places.items():
                    context = browser.new_context(viewport=SIZES[size], service_workers="block")  # type: ignore[arg-type]
                    for which in ("first", "again"):
                        frame = frames / f"{checkout}-{name}-{size}.png" if frames and number == 0 else None
                        found = visit(context, name, address[name], frame)
                        seen.setdefault((checkout, name, size, which), []).append(found)
                    context.close()
    return {" ".join(key): _summary(visits) for key, visits in seen.items()}


def _summary(visits: list[dict[str, Any]]) -> dict[str, Any]:
    times = [each["usable_seconds"] for each in visits]
    worst = max(visits, key=lambda each: each["layout_shift"])
    return {
        "usable_seconds": round(statistics.median(times), 3),
        "usable_seconds_best": round(min(times), 3),
        "requests": max(each["requests"] for each in visits),
        "kilobytes": max(each["kilobytes"] for each in visits),
        "layout_shift": round(worst["layout_shift"], 4),
        "shifts": worst["shifts"][:8],
    }


def measured(urls: dict[str, str], asked: argparse.Namespace) -> dict[str, Any]:
    """What is written of one call of this script."""
    conditions = {"latency_ms": LATENCY_MS, "bits_per_second": BITS_PER_SECOND, "runs": asked.runs}
    with chromium() as browser:
        pages = measure(browser, urls, asked.pages, asked.runs, asked.sizes, asked.frames)
    return {"conditions": conditions, "pages": pages}


def main() -> int:
    return run(__doc__, ("frames", "folder for a picture of each page"), measured)


if __name__ == "__main__":
    sys.exit(main())
