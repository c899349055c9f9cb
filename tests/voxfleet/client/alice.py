"""The one client that a gateway under test serves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KEY = "alices-key-is-long-enough"


def serves_alice(data_dir: Path, **rights: Any) -> dict[str, Any]:
    """The settings of such a gateway: nobody is served without a key."""
    keys = json.dumps({"alice": {"key": KEY, **rights}})
    return {"api_keys": keys, "anonymous": "false", "data_dir": data_dir}
