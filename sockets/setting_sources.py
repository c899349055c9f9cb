"""Where settings of gateways and workers come from: files, files of secrets, the environment.

Kubernetes and Docker mount secrets as files, one for each. The folder is named by VOXFLEET_SECRETS_DIR. A
file is called like the environment variable of its setting, in capital or small letters:
`voxfleet_worker_secret`, `voxfleet_database_url`. Spaces and line breaks around its content do not count.
Other files of the folder are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Self

from pydantic_settings import BaseSettings, InitSettingsSource, SecretsSettingsSource
from pydantic_settings import PydanticBaseSettingsSource as Source

SECRETS_DIR_VARIABLE = "VOXFLEET_SECRETS_DIR"
_section: ContextVar[dict[str, Any] | None] = ContextVar("section", default=None)
"""Of the settings that are being read."""


class SourcedSettings(BaseSettings):
    """Settings that `read` takes from all of their sources."""

    @classmethod
    def read(cls, section: dict[str, Any], options: Mapping[str, Any]) -> Self:
        """What wins, the strongest first: `options` that are not None, environment variables, files of
        secrets, `section`.

        Raises ValidationError, and ValueError for sources that cannot be read.
        """
        before = _section.set(section)
        try:
            return cls(**{name: value for name, value in options.items() if value is not None})
        finally:
            _section.reset(before)

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: Source, env_settings: Source, **_: Source
    ) -> tuple[Source, ...]:
        section = InitSettingsSource(settings_cls, _section.get() or {})
        return init_settings, env_settings, *_secret_files(settings_cls), section


def _secret_files(settings_cls: type[BaseSettings]) -> tuple[Source, ...]:
    """The source of the folder that the environment names; none where it names none.

    Raises ValueError when there is no such folder.
    """
    folder = os.environ.get(SECRETS_DIR_VARIABLE)
    if not folder:
        return ()
    if not Path(folder).is_dir():
        raise ValueError(f"{SECRETS_DIR_VARIABLE}: there is no folder {folder}")
    return (SecretsSettingsSource(settings_cls, secrets_dir=folder),)
