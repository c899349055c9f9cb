"""What an answer of a text model counts for, in seconds of audio.

Clients take turns by seconds of audio (`fairness.py`), and the autoscaler goes by them
(`gateway/slots/demand.py`). A token counts as the audio that it would be if it were spoken, four characters
at fifteen a second, so an answer costs its client the same whether it is read or heard. A token of the prompt
counts for a tenth of that: a device computes them many at a time.
"""

from __future__ import annotations

CHARACTERS_PER_TOKEN = 4
SECONDS_PER_TOKEN = CHARACTERS_PER_TOKEN / 15.0
SECONDS_PER_PROMPT_TOKEN = SECONDS_PER_TOKEN / 10


def charge(prompt_tokens: int, tokens: int) -> float:
    """Seconds of audio that an answer counts for."""
    return prompt_tokens * SECONDS_PER_PROMPT_TOKEN + tokens * SECONDS_PER_TOKEN
