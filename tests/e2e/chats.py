"""Answers of a text model for pages whose fleet has none."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page, Route

MODEL = "Qwen3-0.6B"
ANSWER = """<think>
Two days, and no car.
</think>

Take the early train.

```python
print("and walk along the pier, as far as the lighthouse, before the last ferry leaves the harbour at night")
```

Sunday: the market."""


def events(text: str, reason: str = "stop") -> str:
    """Of an answer that comes at once."""
    told: list[dict[str, Any]] = [
        {"model": MODEL, "choices": [{"delta": {"content": text}, "finish_reason": None}]},
        {"model": MODEL, "choices": [{"delta": {}, "finish_reason": reason}]},
        {"model": MODEL, "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 40}},
    ]
    return "".join(f"data: {json.dumps(one)}\n\n" for one in told) + "data: [DONE]\n\n"


def answer_with(page: Page, text: str = ANSWER) -> None:
    """Have the page be told that a model is served, and each message get this answer."""

    def served(route: Route) -> None:
        response = route.fetch()
        route.fulfill(json={**response.json(), "text_models": [MODEL], "thinking_models": [MODEL]})

    page.route("**/api/config", served)
    headers = {"content-type": "text/event-stream", "x-seed": "3"}
    page.route("**/v1/chat/completions", lambda route: route.fulfill(body=events(text), headers=headers))


def send(page: Page, message: str) -> None:
    page.fill("#text", message)
    page.press("#text", "Enter")
