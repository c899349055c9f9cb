"""Recipes, timetables, doses, laws, logs, sums, music, chess: each is read as its readers say it."""

from __future__ import annotations

import pytest

from benchmarks.text import bare
from gateway.text import normalise

ENGLISH = {
    "1-1/2 cups, 2-3/4 lb, 1/4-1/2 tsp, ½–¾ cup": "one and a half cups, two and three quarters pounds, one"
    " quarter to one half teaspoon, one half to three quarters cup",
    "1½-2 cups": "one and a half to two cups",
    "Sat 0700-2300, dep. 07:05, arr. 07:50": "Saturday oh seven hundred to twenty-three hundred, departs"
    " seven oh five, arrives seven fifty",
    "Take 1-2 tabs q4-6h, max 8 tabs/24h, x 7 days": "Take one to two tabs every four to six hours, max eight"
    " tabs per twenty-four hours, x seven days",
    "500 mg q8h x 7 days": "five hundred milligrams every eight hours for seven days",
    "WBC 7.2 x 10^9/L, 24 mEq/L, 35 U/L": "WBC seven point two times ten to the power of nine per liter,"
    " twenty-four milliequivalents per liter, thirty-five units per liter",
    "Her vision is 20/40": "Her vision is twenty forty",
    "INR 2.5 or INR 250": "INR two point five or two hundred fifty rupees",
    "42 U.S.C. § 1983, Fed. R. Civ. P. 12": "forty-two U S C section nineteen eighty-three, Fed. R. Civ. P."
    " twelve",
    "No. 19-1392, at 45 n.3": "Number nineteen, thirteen ninety-two, at forty-five note three",
    "Smith v Jones [2019] EWCA Civ 5": "Smith versus Jones [twenty nineteen] EWCA Civ five",
    "arXiv:2301.12345": "arXiv two three zero one point one two three four five",
    "5! = 120, sin(x)/x = 1, n(n+1)/2 = 3": "five factorial equals one hundred twenty, sin(x) over x equals"
    " one, n(n plus one) over two equals three",
    "(x+1)(x-1) = x² - 1": "(x plus one)(x minus one) equals x squared minus one",
    "x = (-b ± √(b² - 4ac)) / 2a": "x equals (minus b plus or minus the square root of (b squared minus four"
    " ac)) divided by two a",
    "ΔH = −92, 2**10, |x| < 5": "ΔH equals minus ninety-two, two to the power of ten, |x| is less than five",
    "∀x ∈ A ∪ B": "for all x in A union B",
    "1. e4 e5 2. Nf3 Nc6 3. Bb5": "one. e four e five two. knight f three knight c six three. bishop b five",
    "20. Qxh7+ O-O-O 21. Rh8#": "twenty. queen takes h seven check castles queenside twenty-one. rook h eight"
    " mate",
    "Play C#m7b5, F#7, then Bb7": "Play C sharp m seven flat five, F sharp seven, then B flat seven",
    "♩ = 120, 6/8 time, in 6/8.": "quarter note equals one hundred twenty, six eight time, in six eight.",
    "Sonata Op. 27 in 3/4 of cases": "Sonata Opus twenty-seven in three quarters of cases",
    "a ii–V–I, I-I-I see": "a two five one, I-I-I see",
    "Dec −5° 23′ 28″, 5'6\"": "Dec minus five degrees twenty-three minutes twenty-eight seconds, five feet"
    " six inches",
    "EUR/USD 1.08, ▲ 0.4%, +3 bps": "EUR/USD one point zero eight, up zero point four percent, plus three"
    " basis points",
    "14:30:12,345 ERROR": "fourteen thirty and twelve point three four five seconds ERROR",
    "[05/Mar/2024:14:30:12 +0100]": "[March fifth, twenty twenty-four at fourteen thirty and twelve seconds,"
    " U T C plus one]",
    "At 14:30:00+00:00": "At fourteen thirty and zero seconds, U T C",
    "Gadget,19.50,25": "Gadget,nineteen point five zero,twenty-five",
    "Lv.50, p.12, layers.0": "Level fifty, page twelve, layers point zero",
    "@a & @b #100DaysOfCode #1": "at a and at b hashtag one hundred DaysOfCode number one",
    "SCENE 12A, JANE (30s), [Chorus x2]": "SCENE twelve A, JANE (thirties), [Chorus times two]",
    "0151/12345678, 1300 655 506": "zero one five one, one two three four five six seven eight, one three"
    " zero zero, six five five, five zero six",
    "(212) 555-0199 x204, text HOME to 74174": "two one two, five five five, zero one nine nine extension two"
    " zero four, text HOME to seven four one seven four",
    "Unit 4/12 Smith St, c/o John, Fl. 3": "Unit four, twelve Smith Street, care of John, Floor three",
    "(1/3) A thread": "(one of three) A thread",
}


@pytest.mark.parametrize("written", ENGLISH)
def test_kinds_of_english_text(written: str) -> None:
    assert bare(normalise(written, "en").text) == bare(ENGLISH[written])
