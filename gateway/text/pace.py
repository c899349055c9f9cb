"""How much of a text is said by each of its characters: "$5.20" takes the time of its five words."""

from __future__ import annotations

from itertools import accumulate

from gateway.text.spoken import Spoken


def said_up_to(spoken: Spoken) -> list[float]:
    """How many characters are said of `spoken.written[:n]`, for every n, white space not counted.

    What stands for a figure is shared out among its characters.
    """
    said = [0.0] * (len(spoken.written) + 1)
    for character, start, end in zip(spoken.text, spoken.starts, spoken.ends, strict=True):
        if not character.isspace():
            for place in range(start, end):
                said[place + 1] += 1 / (end - start)
    return list(accumulate(said))
