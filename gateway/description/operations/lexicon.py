"""Words that are said otherwise than they are written."""

from __future__ import annotations

from gateway.description.operation import Operation, Tag

_OWN = {"scope": "own"}

TAG = Tag(
    "Lexicon",
    "Words that are said otherwise than they are written: a client's own, and those of the service.",
    (
        Operation(
            "PUT", "/api/lexicon", "Replace all words", parameters=_OWN, body={"entries": {"gif": "jif"}}
        ),
        Operation(
            "PUT",
            "/api/lexicon/words/{word}",
            "Add or change a word",
            parameters={"word": "Nguyen", **_OWN},
            body={"spoken": "Nwin"},
        ),
        Operation("GET", "/api/lexicon", "Read the words", parameters=_OWN),
        Operation("DELETE", "/api/lexicon/words/{word}", "Forget a word", parameters={"word": "gif", **_OWN}),
        Operation("DELETE", "/api/lexicon", "Forget all words", parameters=_OWN),
    ),
)
