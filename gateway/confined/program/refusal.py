"""How a reader says why it does not take a file."""

from __future__ import annotations


class Refusal(Exception):
    """Why: a code that the parent puts into words."""
