"""A support bundle: what helps to find out what is wrong, but no secret, no text, and nobody's name.

A zip file of what the gateway told (`checkup.look`), its metrics, the findings, and the numbers among its
settings. IP addresses become "address 1", "address 2": the same one everywhere. Names of keys and owners
become "owner 1". Host names of workers stay.
"""

from __future__ import annotations

import ipaddress
import json
import platform
import re
import zipfile
from collections.abc import Iterable
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from gateway.settings import GatewaySettings
from voxfleet.commands.doctor import Finding
from voxfleet.fleet.checkup import Look

_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_MAYBE_IPV6 = re.compile(r"(?<![\w:])[0-9a-fA-F:]*:[0-9a-fA-F]*:[0-9a-fA-F:]*")
_KEY = re.compile(r"\bkey:[^\s,;)\"]+")
_OWNERS = ("owner", "tenant", "who", "client", "voice", "consent")
_QUEUE = ("position", "eta_seconds", "waited_seconds", "protocol", "worker_id", "audio_seconds", "characters")


class Veil:
    """Gives everybody a number, the same one wherever they are named."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}

    def over(self, value: Any, field: str = "") -> Any:
        """`value` as JSON, with names instead of whom they name. `field`: where it stands."""
        if isinstance(value, dict):
            return {key: self.over(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [self.over(each, field) for each in value]
        if not isinstance(value, str):
            return value
        return self._number("owner", value) if value and field in _OWNERS else self.text(value)

    def text(self, text: str) -> str:
        """`text` without addresses and names of keys."""
        text = _KEY.sub(lambda found: self._number("owner", found.group()), text)
        text = _IPV4.sub(lambda found: self._number("address", found.group()), text)
        return _MAYBE_IPV6.sub(lambda found: self._ipv6(found.group()), text)

    def _ipv6(self, found: str) -> str:
        """An address, or else what it was: a time has colons, too."""
        try:
            ipaddress.IPv6Address(found)
        except ValueError:
            return found
        return self._number("address", found)

    def _number(self, kind: str, name: str) -> str:
        numbers = self._numbers
        return f"{kind} {numbers.setdefault((kind, name), len(numbers) + 1)}"


def write_bundle(file: Path, seen: Look, findings: Iterable[Finding], settings: GatewaySettings) -> None:
    """Write the bundle to `file`. Raises OSError, also where it exists."""
    veil = Veil()
    parts = {
        f"{name}.json": _json(veil.over(_without_texts(name, told))) for name, told in seen.answers.items()
    }
    parts["metrics.txt"] = veil.text(seen.metrics)
    parts["findings.txt"] = "\n".join(
        veil.text(f"{finding.verdict}: {finding.subject}: {finding.detail}") for finding in findings
    )
    parts["settings.json"] = _json(_numbers_of(settings))
    parts["machine.json"] = _json({
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": sorted(f"{each.name} {each.version}" for each in distributions()),
    })  # fmt: skip
    with file.open("xb") as target, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(parts.items()):
            archive.writestr(name, text)


def _without_texts(name: str, told: Any) -> Any:
    """Requests by their figures; lines of the log by kind and facts, as words of others may be texts."""
    if name == "queue":
        return {
            place: [{key: entry[key] for key in _QUEUE if key in entry} for entry in told[place]]
            for place in ("queue", "running")
        }
    if name == "log":
        kept = ("id", "at", "kind", "subject", "saying", "facts")
        return [{key: line[key] for key in kept if key in line} for line in told["events"]]
    return told


def _numbers_of(settings: GatewaySettings) -> dict[str, Any]:
    """Settings that are numbers or switches; of others, whether they are the default."""
    told: dict[str, Any] = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, bool | int | float):
            told[name] = value
        else:
            told[name] = "the default" if value == field.get_default(call_default_factory=True) else "set"
    return told


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
