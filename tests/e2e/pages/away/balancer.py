"""A balancer in front of gateways of two versions, and pages of a former version."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

FRONTEND = Path(__file__).resolve().parents[4] / "frontend"
Choose = Callable[[str, Message], str]
"""Path and headers of a request -> URL of the gateway that answers it."""


class _Balanced(BaseHTTPRequestHandler):
    choose: Choose

    def do_GET(self) -> None:
        url = type(self).choose(self.path, self.headers) + self.path
        sent = {name: self.headers[name] for name in ("Accept", "X-Admin-Token") if name in self.headers}
        with httpx.stream("GET", url, headers=sent) as answer, contextlib.suppress(BrokenPipeError):
            self.send_response(answer.status_code)
            for name in ("Content-Type", "Cache-Control"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.end_headers()
            for piece in answer.iter_bytes():
                self.wfile.write(piece)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextlib.contextmanager
def balancer(choose: Choose) -> Iterator[str]:
    """Its URL."""
    handler = type("Handler", (_Balanced,), {"choose": staticmethod(choose)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def former_pages(folder: Path) -> Path:
    """With another word, and a module more, so that the variables of linked scripts have other names."""
    shutil.copytree(FRONTEND, folder, ignore=shutil.ignore_patterns("node_modules"))
    scripts = folder / "static" / "js"
    words = scripts / "i18n" / "en" / "common.js"
    words.write_text(words.read_text().replace('"nav.studio": "Studio"', '"nav.studio": "Atelier"'))
    (scripts / "admin" / "former.js").write_text("export const former = true;\n")
    main = scripts / "admin" / "main.js"
    text = main.read_text()
    main.write_text(f'import {{ former }} from "./former.js";\n{text}\nglobalThis.former = former;\n')
    return folder
