"""Markdown, as CommonMark has it: headings and paragraphs without their signs."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markers import Count, Lists
from text import Text
from web_page import Page, parsed_html

_SIGNS = re.compile(
    r"^ {0,3}#{1,6}[ \t]+\S|^[^\s#>].*\n(?:={3,}|-{3,})[ \t]*$"
    r"|\[[^\[\]\n]+\]\([^()\s]+\)|\*\*[^\s*][^*\n]*\*\*|^```",
    re.MULTILINE,
)
"""What a plain text has by chance only."""
_FRONT_MATTER = re.compile(r"\A---\n((?:[A-Za-z_-]+:.*\n|[ \t]+.*\n|- .*\n)*)(?:---|\.\.\.)\n")
_FIELD = re.compile(r"^(title|author|lang|language):[ \t]*(.+)$", re.MULTILINE | re.IGNORECASE)


def looks_like_markdown(content: str) -> bool:
    """Whether it has signs that plain text has not."""
    return bool(_FRONT_MATTER.match(content) or _SIGNS.search(content))


def read_markdown(content: str, text: Text) -> None:
    """Its blocks into `text`."""
    if front := _FRONT_MATTER.match(content):
        fields = {name.lower()[:4]: value.strip().strip("\"'") for name, value in _FIELD.findall(front[1])}
        text.say(fields.get("titl"), fields.get("auth"), fields.get("lang"))
        content = content[front.end() :]
    level, lists = 0, Lists()
    for token in MarkdownIt("commonmark").enable("table").parse(content):
        _count(token, lists)
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "inline":
            text.add(lists.marked(_words(token.children or [])), level)
            level = 0
        elif token.type in ("fence", "code_block"):
            text.add(lists.marked(token.content))
        elif token.type == "html_block" and token.content.strip():
            _read_html(token.content, text)


def _count(token: Token, lists: Lists) -> None:
    """What begins or ends with a token, of lists and their items."""
    if token.type == "ordered_list_open":
        lists.begin(Count(int(token.attrs.get("start", 1)), sign=token.markup))
    elif token.type == "bullet_list_open":
        lists.begin(None)
    elif token.type in ("ordered_list_close", "bullet_list_close"):
        lists.end()
    elif token.type == "list_item_open":
        lists.item()
    elif token.type == "list_item_close":
        lists.item_ends()


def _words(tokens: list[Token]) -> str:
    """What is read out of a line; pictures and tags are not."""
    words = {"softbreak": " ", "hardbreak": "\n"}
    said = (
        token.content if token.type in ("text", "code_inline") else words.get(token.type, "")
        for token in tokens
    )
    return "".join(said)


def _read_html(content: str, text: Text) -> None:
    if not content.lstrip().startswith(("<!--", "<?", "<!")):
        Page(text).read(parsed_html(content.encode()))
