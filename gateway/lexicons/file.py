"""The service's lexicon as a file: a YAML or JSON mapping of words to what is said for them."""

from __future__ import annotations

from pathlib import Path

import yaml

from gateway.text.lexicon import check_entries

MOST_ENTRIES = 10_000
_MOST_BYTES = 4 << 20


def read_file(path: Path | None) -> dict[str, str]:
    """The words of the file; none where no file is named. Raises ValueError that says what is wrong."""
    if path is None:
        return {}
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ValueError(f"has more than {_MOST_BYTES} bytes")
        entries = yaml.safe_load(content.decode("utf-8")) or {}
        if not isinstance(entries, dict):
            raise ValueError("is no mapping of words to what is said for them")
        for word, spoken in entries.items():
            if not (isinstance(word, str) and isinstance(spoken, str)):
                raise ValueError(f"{word!r}: put words and what is said for them in quotes")
        return check_entries(entries, MOST_ENTRIES)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ValueError(f"lexicon_file {path}: {error}") from error
