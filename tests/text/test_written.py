"""What people write beside the cases of the tables: each is read as its reader would say it."""

from __future__ import annotations

import pytest

from benchmarks.text import bare
from gateway.text import normalise

RAISED = {
    "About 10⁶ cells.": "About ten to the power of six cells.",
    "It is 10⁻¹², or 2^10.": "It is ten to the power of minus twelve, or two to the power of ten.",
    "Then x² and x³.": "Then x squared and x cubed.",
    "The word¹ has notes.² Their volume³ is small.": "The word has notes. Their volume is small.",
    "共有10⁶个，即10^6个。": "共有十的六次方个，即十的六次方个。",
    "他说过这句话¹。后来否认。²": "他说过这句话。后来否认。",
}


def said(written: str) -> str:
    return bare(normalise(written, "zh" if "。" in written else "en").text)


@pytest.mark.parametrize("written", RAISED)
def test_a_power_is_said_and_the_figure_of_a_note_is_not(written: str) -> None:
    assert said(written) == bare(RAISED[written])
