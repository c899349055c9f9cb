"""What a client runs, as operators want to read it: a name and a version out of its `User-Agent`.

Nothing else of that header is kept: who writes it may write anything, a secret too.
"""

from __future__ import annotations

import re

_LONGEST_HEADER = 400
_VERSION = r"v?(\d{1,5}(?:\.\d{1,5}){0,3})"
_BROWSERS = (
    ("Edge", re.compile(r"\bEdg(?:A|iOS)?/" + _VERSION)),
    ("Opera", re.compile(r"\bOPR/" + _VERSION)),
    ("Firefox", re.compile(r"\bFirefox/" + _VERSION)),
    ("Chrome", re.compile(r"\bChrome/" + _VERSION)),
    ("Safari", re.compile(r"\bVersion/" + _VERSION + r".*\bSafari/")),
)
"""In the order in which they are looked for: most claim to be others, too."""
_PRODUCT = re.compile(r"([A-Za-z][A-Za-z._-]{0,23}(?:/[A-Za-z]{1,12})?)[/ ]" + _VERSION + r"(?![\w.-])")


def software_of(user_agent: str) -> str:
    """Such as "Firefox 128", "OpenAI/Python 1.99.1"; "" where the header does not say it in a usual way."""
    header = user_agent[:_LONGEST_HEADER]
    if header.startswith("Mozilla/"):
        found = ((name, pattern.search(header)) for name, pattern in _BROWSERS)
        return next((f"{name} {match[1].partition('.')[0]}" for name, match in found if match), "")
    match = _PRODUCT.match(header)
    return f"{match[1]} {match[2]}" if match else ""
