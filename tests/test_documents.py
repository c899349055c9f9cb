"""The documents stay true: every setting stands in the README, every path they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.settings import GatewaySettings
from voxfleet.settings import ServeSettings
from worker.settings import WorkerSettings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PATH = re.compile(
    r"`((?:engine|models|worker|gateway|voxfleet|frontend|tests|benchmarks|configs|scripts)/[\w/.-]*)`"
)


@pytest.mark.parametrize("settings", [ServeSettings, GatewaySettings, WorkerSettings])
def test_every_setting_has_a_row_in_the_readme(settings: type) -> None:
    prefix = settings.model_config["env_prefix"]
    missing = [
        name for name in settings.model_fields if f"| `{name}` | `{prefix}{name.upper()}` |" not in README
    ]
    assert missing == []


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"])
def test_every_path_a_document_names_exists(document: str) -> None:
    named = PATH.findall((ROOT / document).read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []
