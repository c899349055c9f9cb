"""The admin token that gateways of tests have, and how it is shown."""

from __future__ import annotations

ADMIN_TOKEN = "the-admin-token-of-tests"
ADMIN = {"X-Admin-Token": ADMIN_TOKEN}
ADMIN_PAGE = f"/admin#token={ADMIN_TOKEN}"
"""The address of the admin page as `voxfleet serve` prints it."""
