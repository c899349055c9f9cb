"""Settings from files, one file per setting, as Kubernetes and Docker mount secrets.

The folder is named by VOXFLEET_SECRETS_DIR. A file is called like the environment variable of its setting, in
capital or small letters: `voxfleet_worker_secret`, `voxfleet_database_url`. Spaces and line breaks around its
content do not count. A variable that is set wins over a file; other files of the folder are ignored.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SecretsSettingsSource

SECRETS_DIR_VARIABLE = "VOXFLEET_SECRETS_DIR"


def secret_files(settings_cls: type[BaseSettings]) -> tuple[PydanticBaseSettingsSource, ...]:
    """The source of the folder that the environment names; none where it names none.

    Raises ValueError when there is no such folder.
    """
    folder = os.environ.get(SECRETS_DIR_VARIABLE)
    if not folder:
        return ()
    if not Path(folder).is_dir():
        raise ValueError(f"{SECRETS_DIR_VARIABLE}: there is no folder {folder}")
    return (SecretsSettingsSource(settings_cls, secrets_dir=folder),)
