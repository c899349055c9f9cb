"""What is wrong with settings, in words for who wrote them."""

from __future__ import annotations

import re

from pydantic import ValidationError


def each_problem(error: ValidationError) -> list[str]:
    """Each with the path of its field, where it is of one, and without the value, which may be a secret."""
    return [
        ": ".join(filter(None, (".".join(map(str, item["loc"])), item["msg"].removeprefix("Value error, "))))
        for item in error.errors(include_url=False, include_input=False)
    ]


def in_words(error: Exception) -> str:
    """Why the sources cannot be read. Of what is no JSON the library says its own class, and not the form."""
    field = re.match(r'error parsing value for field "(\w+)"', str(error))
    if field is None:
        return str(error)
    return f'{field[1]}: in the environment, or a file of secrets, it is JSON such as {{"name": ...}}'
