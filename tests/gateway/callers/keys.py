"""Keys of two clients, one of whom has limits."""

from __future__ import annotations

import hashlib

ACME, LIMITED = "acme-0123456789abcdef", "limited-0123456789ab"
KEYS = {
    "acme": {"key": ACME},
    "limited": {
        "key": "sha256:" + hashlib.sha256(LIMITED.encode()).hexdigest(),
        "priority": "bulk",
        "weight": 2,
        "max_streams": 3,
    },
}
