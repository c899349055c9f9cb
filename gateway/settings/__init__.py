"""Every setting of the gateway, in one typed object; its themes have a file each.

listening.py  What the gateway listens on, and what a connection may do.
callers.py    Who may use the service, and who operates it.
workers.py    Where workers are, who may be one, and when one counts as down.
storage.py    What is kept, where, how much of it and for how long.
speech.py     What may be asked for, and how it is spoken.
answers.py    What may be asked of text models.
live.py       Live sessions.
training.py   Voices that are trained by recordings.
streams.py    How long requests wait and last, and what follows a fault.
objectives.py What listeners are promised, and how often that may be missed.
`telemetry/settings.py` has those of OpenTelemetry, which workers have too.
kinds.py      Kinds of values that several settings have.

Sources (`sockets/setting_sources.py`), the later wins: `gateway:` of a YAML file, files of secrets,
environment variables `VOXFLEET_...` (upper-case field names), the command line. `load_settings(config_file,
port=9000)` takes them all; an option that is None was not given. A wrong value is fatal; an unknown key of
the file is reported by name and ignored.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml
from pydantic_settings import SettingsConfigDict, SettingsError

from gateway.settings.answers import AnswerSettings
from gateway.settings.callers import CallerSettings
from gateway.settings.listening import ListeningSettings
from gateway.settings.live import LiveSettings
from gateway.settings.objectives import ObjectiveSettings
from gateway.settings.speech import SpeechSettings
from gateway.settings.storage import StorageSettings
from gateway.settings.streams import StreamSettings
from gateway.settings.training import TrainingSettings
from gateway.settings.workers import FleetSettings
from sockets.setting_sources import SourcedSettings
from sockets.setting_words import in_words
from telemetry.settings import TelemetrySettings


class GatewaySettings(
    ListeningSettings,
    CallerSettings,
    FleetSettings,
    StorageSettings,
    TrainingSettings,
    SpeechSettings,
    AnswerSettings,
    LiveSettings,
    StreamSettings,
    ObjectiveSettings,
    TelemetrySettings,
    SourcedSettings,
):
    """Limits, deadlines and addresses of one gateway process."""

    model_config = SettingsConfigDict(env_prefix="VOXFLEET_", extra="forbid", validate_default=True)


def load_settings(config_file: Path | None = None, **options: Any) -> GatewaySettings:
    """Settings from `config_file` (default: $VOXFLEET_CONFIG, else none), the environment and `options`.

    Raises FileNotFoundError, ValueError (not a mapping) and pydantic.ValidationError (a wrong value).
    """
    if config_file is None and (named := os.environ.get("VOXFLEET_CONFIG")):
        config_file = Path(named)
    file_values = _read_section(config_file) if config_file else {}
    try:
        return GatewaySettings.read(file_values, options)
    except SettingsError as error:
        raise ValueError(in_words(error)) from None


def _read_section(path: Path) -> dict[str, Any]:
    """The `gateway:` section of a YAML file, without keys that are no settings."""
    document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    section = document.get("gateway") or {} if isinstance(document, dict) else None
    if not isinstance(section, dict):
        raise ValueError(f"{path}: expected a mapping with a section 'gateway:'")
    return {key: value for key, value in section.items() if key in GatewaySettings.model_fields}
