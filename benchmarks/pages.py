"""How soon the pages can be used by a browser that is far away: `python -m benchmarks.pages`.

A real Chromium loads every page of a fresh gateway, each request 150 ms away on a line of 10 Mbit/s. "First"
is a browser that has nothing, "again" the same one once more. A page is usable when what one comes for can be
done: the studio's button is there, the voices can be chosen, lists are filled. Layout shift is counted from
the first paint until a second after that. `--beside DIR` takes turns with another checkout, `--frames` keeps
what was seen, and `--lighthouse N` adds the medians of N runs of Lighthouse, on a computer and a phone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page

from tests.e2e.browser import DESKTOP, PHONE, chromium
from tests.page_tools import debugged_chromium, lighthouse
from voxfleet.ports import any_free

HERE = Path(__file__).resolve().parent.parent
LATENCY_MS, BITS_PER_SECOND = 150, 10_000_000
TOKEN = "the-token-of-this-benchmark"
START_SECONDS, SETTLE_MS = 60.0, 1000
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
FORM_FACTORS = {"desktop": "desktop", "phone": "mobile"}  # as Lighthouse names the sizes
SIZES = {"desktop": DESKTOP, "phone": PHONE}
PAGES = ("studio", "live", "books", "sessions", "session", "admin")
READY = """(() => {
  const no = (selector) => !document.querySelector(selector);
  const filled = (selector) => Boolean(document.querySelector(selector)?.textContent.trim());
  const lamp = document.querySelector(".lamp")?.dataset.state === "ready";
  const voices = !no("input[name=voice]");
  return {
    studio: () => lamp && voices && filled("#generate"),
    live: () => lamp && voices && filled("#buttons"),
    books: () => lamp && no("#list[aria-busy=true]") && !no(".nav-brand"),
    sessions: () => lamp && no("#list[aria-busy=true]") && !no(".nav-brand"),
    session: () => lamp && no("#session[aria-busy=true]") && filled("#title"),
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


@contextlib.contextmanager
def service(checkout: Path) -> Iterator[str]:
    """The address of a gateway of that checkout, with a worker that speaks tones."""
    ports = any_free("127.0.0.1"), any_free("127.0.0.1")
    commands = (
        ["worker", "--port", str(ports[0]), "--device", "cpu", "--model", "synthetic", "--step-ms", "10"],
        ["gateway", "--workers", f"http://127.0.0.1:{ports[0]}", "--port", str(ports[1])],
    )
    with tempfile.TemporaryDirectory() as data:
        environment = {**os.environ, "VOXFLEET_ADMIN_TOKEN": TOKEN, "VOXFLEET_DATA_DIR": data}
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "voxfleet", *command],
                cwd=checkout,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command in commands
        ]
        try:
            url = f"http://127.0.0.1:{ports[1]}"
            _until_ready(url)
            yield url
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait()


def _until_ready(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/ready").status_code == 200:
                return
        time.sleep(0.1)
    raise TimeoutError(f"{url} is not ready")


def addresses(url: str) -> dict[str, str]:
    """Of every page, by name; a session is recorded for the page of one."""
    answer = httpx.post(f"{url}/tts", json={"text": "A recorded sentence.", "record": True}, timeout=60)
    session = answer.headers["X-Session-Id"]
    deadline = time.monotonic() + START_SECONDS
    while httpx.get(f"{url}/api/sessions/{session}").status_code != 200 and time.monotonic() < deadline:
        time.sleep(0.1)
    return {
        "studio": f"{url}/",
        "live": f"{url}/live",
        "books": f"{url}/book",
        "sessions": f"{url}/sessions",
        "session": f"{url}/sessions/{session}",
        "admin": f"{url}/admin#token={TOKEN}",
    }


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
    for run in range(runs):
        for name in pages:
            for size in sizes:
                for checkout, address in places.items():
                    context = browser.new_context(viewport=SIZES[size], service_workers="block")  # type: ignore[arg-type]
                    for which in ("first", "again"):
                        frame = frames / f"{checkout}-{name}-{size}.png" if frames and not run else None
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


def scores(url: str, pages: list[str], sizes: list[str], runs: int) -> dict[str, dict[str, float]]:
    """Medians of what Lighthouse says, by page and form factor. A run takes half a minute."""
    found = {}
    with debugged_chromium() as port:
        places = addresses(url)
        for name in pages:
            for form_factor in (FORM_FACTORS[size] for size in sizes):
                said = [
                    lighthouse(port, places[name], form_factor, *CATEGORIES)["scores"] for _ in range(runs)
                ]
                found[f"{name} {form_factor}"] = {
                    category: statistics.median(each[category] for each in said) for category in CATEGORIES
                }
    return found


def write(found: dict[str, Any], output: Path | None) -> None:
    """What is known so far, to a file and to whoever looks on."""
    text = json.dumps(found, indent=2)
    if output:
        output.write_text(f"{text}\n", encoding="utf-8")
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sizes", type=lambda text: text.split(","), default=list(SIZES))
    parser.add_argument("--pages", type=lambda text: text.split(","), default=list(PAGES))
    parser.add_argument("--beside", type=Path, help="another checkout, to take turns with")
    parser.add_argument("--frames", type=Path, help="folder for a picture of each page")
    parser.add_argument("--lighthouse", type=int, default=0, metavar="N", help="runs of Lighthouse")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    checkouts = {"here": HERE, **({"beside": arguments.beside.resolve()} if arguments.beside else {})}
    if arguments.frames:
        arguments.frames.mkdir(parents=True, exist_ok=True)
    conditions = {"latency_ms": LATENCY_MS, "bits_per_second": BITS_PER_SECOND, "runs": arguments.runs}
    found: dict[str, Any] = {"conditions": conditions}
    with contextlib.ExitStack() as stack:
        urls = {name: stack.enter_context(service(checkout)) for name, checkout in checkouts.items()}
        browser = stack.enter_context(chromium())
        which = arguments.pages, arguments.sizes
        found["pages"] = measure(browser, urls, which[0], arguments.runs, which[1], arguments.frames)
        write(found, arguments.output)
        if arguments.lighthouse:
            found["lighthouse"] = scores(urls["here"], *which, arguments.lighthouse)
            write(found, arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
