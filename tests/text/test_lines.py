"""Lines of forms, recipes, games, adverts and sums: each is read as its readers say it."""

from __future__ import annotations

import pytest

from benchmarks.text import bare
from gateway.text import normalise

ENGLISH = {
    "Enroll by 8/15, it was reduced by 3/25, cut by 1/25": "Enroll by August fifteenth, it was reduced by"
    " three twenty-fifths, cut by one twenty-fifth",
    "6–10 p.m. @ noon": "six to ten p m at noon",
    "550 × 570 km, a 10ft x 12ft room, 2x4s and 2x6s": "five hundred fifty by five hundred seventy"
    " kilometers, a ten foot by twelve feet room, two by fours and two by sixes",
    "1 T. oil; 2 t. salt; ½ t. sugar; 5 t of coal": "one tablespoon oil; two teaspoons salt; one half"
    " teaspoon sugar; five tons of coal",
    "425˚, 1,50,000 rupees, XP 1,240/2,000, HP: 45/60": "four hundred twenty-five degrees, one hundred"
    " fifty thousand rupees, XP one thousand two hundred forty out of two thousand, HP forty-five out of"
    " sixty",
    "She's 5ft 6in and it's a 3/4-in. board": "She's five feet six inches and it's a three quarter inch"
    " board",
    "331.4M in 2020, 11.2K.": "three hundred thirty-one point four million in twenty twenty, eleven point"
    " two thousand",
    "1450 BCE–AD 476; 5 Geo. 3 c. 26": "fourteen fifty BCE to AD four hundred seventy-six; five Geo. three"
    " c. twenty-six",
    "3'42\" and 5'11\", ♩.=72": "three minutes forty-two seconds and five feet eleven inches, dotted"
    " quarter note equals seventy-two",
    "W 122° 19.9', f: ℝ → ℝ, aₙ, 1 + … + n, x_i − f(x_i)": "W one hundred twenty-two degrees nineteen"
    " point nine minutes, f: R to R, a n, one plus … plus n, x i minus f(x i)",
    "Dial *67; press # to end": "Dial star six seven; press pound to end",
    "4K@60fps": "four K at sixty F P S",
}


@pytest.mark.parametrize("written", ENGLISH)
def test_lines_of_english_text(written: str) -> None:
    assert bare(normalise(written, "en").text) == bare(ENGLISH[written])
