"""Compares the lock files with the published vulnerabilities of their packages.

    python scripts/audit.py [--source URL] [--timeout SECONDS]

Prints "clean", "vulnerable" with what was found (exit status 1), or "skipped": no source of vulnerabilities
could be asked, so nothing is known. The source is OSV, or what answers like it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import urllib.request
from pathlib import Path

LOCKS = Path(__file__).resolve().parent.parent / "locks"
SOURCE = "https://api.osv.dev/v1/querybatch"


def locked_packages() -> list[tuple[str, str]]:
    """(name, version) of everything that is installed anywhere."""
    text = "".join(file.read_text(encoding="utf-8") for file in sorted(LOCKS.glob("*.txt")))
    return sorted(set(re.findall(r"^([a-z0-9.-]+)==([^\s;\\]+)", text, re.MULTILINE)))


def ask(source: str, packages: list[tuple[str, str]], seconds: float) -> dict[str, list[str]]:
    """Package -> ids of its vulnerabilities. Raises OSError, ValueError."""
    queries = [
        {"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in packages
    ]
    request = urllib.request.Request(
        source, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        results = json.load(answer).get("results", [])
    if len(results) != len(packages):
        raise ValueError(f"{len(results)} answers to {len(packages)} questions")
    return {
        f"{name} {version}": [found["id"] for found in result["vulns"]]
        for (name, version), result in zip(packages, results, strict=True)
        if result.get("vulns")
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default=SOURCE)
    parser.add_argument("--timeout", type=float, default=10.0)
    arguments = parser.parse_args()
    packages = locked_packages()
    try:
        found = ask(arguments.source, packages, arguments.timeout)
    except (OSError, ValueError) as error:
        print(f"audit: skipped, the source of vulnerabilities cannot be asked: {error}")
        return 0
    for package, names in found.items():
        print(f"audit: {package}: {', '.join(names)}")
    print(f"audit: {'vulnerable' if found else 'clean'}, {len(packages)} packages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
