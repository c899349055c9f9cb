"""URLs, e-mail addresses, file names and paths, character by character as one would dictate them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping

from gateway.text.rules import Rule, rule

_ENDINGS = (
    "com|org|net|edu|gov|io|dev|ai|app|co|uk|us|de|fr|jp|cn|hk|tw|eu|ca|au|in|info|biz|me|tv|xyz|ly|gg|ch|nl"
)
_FILES = (
    "py|js|ts|tsx|jsx|json|txt|md|csv|tsv|html|css|yml|yaml|toml|sh|cpp|java|rs|go|rb|pdf|docx?|xlsx?|pptx?|"
    "png|jpe?g|gif|svg|mp3|mp4|mov|wav|zip|gz|exe|log|sql|ini|cfg|conf|xml"
)
_CAPITAL_FILES = "JPE?G|PNG|GIF|PDF|DOCX?|XLSX?|PPTX?|CSV|TXT|MP3|MP4|MOV|WAV|ZIP"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+"
_WINDOWS = (
    r"(?:[A-Za-z]:|%[A-Za-z]{1,20}%|\\\\[\w.-]{1,60})\\"
    r"(?:[\w.$%~()+@&-](?:[\w.$%~()+@& -]{0,60}[\w.$%~()+@&-])?\\){0,12}(?:[\w.$%~()+@&-]{0,60}[\w)])?"
)
"""A path of Windows, in whose folders there may be spaces."""
_IPV6 = (
    r"(?<![A-Za-z0-9:.])(?<![A-Za-z0-9_]\[)(?P<say>(?P<address>(?:[0-9A-Fa-f]{0,4}:){2,7}"
    r"(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{0,4}))(?P<rest>%[A-Za-z0-9]{1,15}|/\d{1,3})?)(?![A-Za-z0-9:]|\.\d)"
)
_BRACKETED = r"\[[0-9A-Fa-f:.]{2,45}\]"
_LEAST_GROUP = 3
"""Characters of one group of such an address, which "1::2" does not have."""
_TAIL = r"(?::\d{1,5})?(?:[/?#][A-Za-z0-9\-._~/?#@!$&'()*+,;=%:]*[A-Za-z0-9/=]|/)?"


def address_rules(signs: Mapping[str, str], number: Callable[[str], str]) -> tuple[Rule, ...]:
    """`signs`: how each sign is called. `number`: how digits are."""

    def say(text: str) -> str:
        pieces = re.findall(r"\d+|[A-Za-z]+|[\u3400-\u9fff]+|.", text)
        return " ".join(
            number(piece) if piece.isdigit() else signs.get(piece, piece) for piece in pieces if piece.strip()
        )

    def say_url(match: re.Match[str]) -> str:
        return say(re.sub(r"^[a-z]+://", "", match["say"].rstrip("/"), flags=re.I)).replace("www", "w w w")

    def say_all(match: re.Match[str]) -> str:
        return say(match["say"])

    def say_ipv6(match: re.Match[str]) -> str | None:
        return (
            say(f"{' '.join(match['address'])} {match['rest'] or ''}") if _is_ipv6(match["address"]) else None
        )

    edge = r"(?<![A-Za-z0-9_@./-])"
    folders = r"(?:[A-Za-z0-9_-]{1,64}[/\\]){0,9}"
    name = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]{1,20}){0,3}"
    return (
        rule(rf"{edge}(?P<say>[A-Za-z0-9][A-Za-z0-9._%+-]{{0,63}}@{_HOST}[A-Za-z]{{2,}})", say_all),
        rule(
            rf"{edge}(?P<say>[a-z]{{2,6}}://(?:{_HOST}[A-Za-z]{{2,}}|[A-Za-z0-9.-]+|{_BRACKETED}){_TAIL})",
            say_url,
            re.I,
        ),
        rule(_IPV6, say_ipv6),
        rule(rf"{edge}(?P<say>localhost:\d{{1,5}}(?:/[A-Za-z0-9._~/-]*[A-Za-z0-9])?)(?!\w)", say_url),
        rule(rf"{edge}(?P<say>www\.{_HOST}[A-Za-z]{{2,}}{_TAIL})", say_url, re.I),
        rule(rf"{edge}(?P<say>{_HOST}(?:{_ENDINGS})(?![A-Za-z0-9.]\w){_TAIL})(?![A-Za-z0-9])", say_url),
        rule(rf"(?<![A-Za-z0-9_%\\])(?P<say>{_WINDOWS})", say_all),
        rule(
            rf"{edge}(?P<say>{folders}{name}\.(?:{_FILES}|{_CAPITAL_FILES})(?::\d{{1,6}})?)(?![A-Za-z0-9])",
            say_all,
        ),
        rule(
            r"(?<![\w/.:<¢%°€£])(?<![A-Z]\+)(?<!\$(?=/))(?<!\)(?=/[A-Za-z]\W))(?<!\)(?=/[A-Za-z]\Z))(?P<say>[~.]{0,2}/\.?[A-Za-z](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
            r"(?:/[A-Za-z0-9._-]*[A-Za-z0-9])*)",
            say_all,
        ),
    )


def _is_ipv6(text: str) -> bool:
    """Not what C++ and Python write with colons."""
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    is_long = text.startswith("::") or any(len(group) >= _LEAST_GROUP for group in text.split(":"))
    return is_long and re.search(r"\d", text) is not None
