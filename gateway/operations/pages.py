"""Which pages are on. What being off means for a path is in `gateway/operations/page_gate.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from gateway.bodies import Body
from gateway.errors import ApiError

PageId = Literal["studio", "live", "chat", "books", "sessions", "voices"]
PAGE_IDS: tuple[PageId, ...] = get_args(PageId)


class PageState(Body):
    """One page and whether it is on."""

    id: PageId
    enabled: bool


class PageStates(Body):
    """`PUT /api/pages`: the pages to change."""

    pages: list[PageState]


class Pages:
    """All are on, unless switched off."""

    GROUP = "pages"

    def __init__(self) -> None:
        self._off: frozenset[str] = frozenset()

    def load(self, stored: Mapping[str, Any]) -> None:
        """Take over what the database has. Rows that mean nothing here are left aside."""
        self._off = frozenset(page for page in PAGE_IDS if stored.get(page) is False)

    def enabled(self) -> list[PageId]:
        """The pages that are on."""
        return [page for page in PAGE_IDS if page not in self._off]

    def is_on(self, page: PageId) -> bool:
        """Whether that page is on."""
        return page not in self._off

    def describe(self) -> dict[str, Any]:
        """`GET /api/pages`."""
        return {"pages": [{"id": page, "enabled": self.is_on(page)} for page in PAGE_IDS]}


def page_disabled(page: PageId) -> ApiError:
    """What the API and sockets of a page answer that is off."""
    return ApiError(403, "page_disabled", f"an administrator has switched {page!r} off")
