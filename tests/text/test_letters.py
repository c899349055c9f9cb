"""Letters are spelt by their names for models that read words alone; capitals that are words stay words."""

from __future__ import annotations

import pytest

from gateway.streams.clip.parts import WORDS_ONLY, Reading
from gateway.text import Lexicon, normalise
from gateway.text.english.letters import NAMES
from tests.gateway.stages.fleet import describe_model

MODEL, WORDS_MODEL = describe_model(), describe_model(features=(WORDS_ONLY,))


def said(text: str) -> str:
    return normalise(text, "en", spell=True).text


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("The FBI called.", "The eff bee eye called."),
        ("The CEOs like CDs and DVDs.", "The see ee ohs like see dees and dee vee dees."),
        ("The BBC's news.", "The bee bee see's news."),
        ("It is spelled S-M-I-T-H.", "It is spelled ess em eye tee aitch."),
        ("It is S. M. I. T. H. You know.", "It is ess em eye tee aitch. You know."),
        ("We watched T V in the U S A.", "We watched tee vee in the you ess ay."),
        ("He came to the U.S. at 9:30 a.m. today.", "He came to the you ess at nine thirty ay em today."),
        ("J. K. Rowling has a Ph.D. in law.", "jay kay Rowling has a pee aitch dee in law."),
        ("We tested GPT-3.5.", "We tested gee pee tee three point five."),
        ("US troops left.", "you ess troops left."),
        (
            "My CPU/GPU runs TCP/IP, or I/O.",
            "My see pee you gee pee you runs tee see pee eye pee, or eye oh.",
        ),
        ("It is OK, I/we said ok.", "It is okay, I/we said okay."),
        ("See invoice no. AB-12.", "See invoice number AB twelve."),
        ("Call 555-1234.", "Call five five five. one two three four."),
        ("Call +1 415 555 2671.", "Call plus one. four one five. five five five. two six seven one."),
    ],
)
def test_letters_are_named(written: str, spoken: str) -> None:
    assert said(written) == spoken


@pytest.mark.parametrize(
    "text",
    [
        "DO NOT OPEN THIS DOOR!",
        "GIVE US A BREAK NOW!",
        "I am NOT going, do it NOW.",
        "NASA went up.",
        "MRS JONES said HMM.",
        "Plan B, a T-shirt and an X-ray.",
        "The letters are A, B, C, D, and E.",
        "I am a man.",
        "One, two, three four, five.",
    ],
)
def test_words_in_capitals_single_letters_and_lists_stay(text: str) -> None:
    assert said(text) == text


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("From Łódź to a Straße of Søren.", "From Lódź to a Strasse of Soren."),
        ("Say [so] to {one} | two, «three» @ home_page.", 'Say (so) to (one), two, "three" at home page.'),
        ("Acme™ is © by us ~ ok\\then.", "Acme is copyright by us  okay then."),
        ("The soft\u00adhyphen, the zero\u200bwidth.", "The softhyphen, the zerowidth."),
    ],
)
def test_letters_and_signs_without_a_token_are_put_into_others(written: str, spoken: str) -> None:
    assert said(written) == spoken


def test_every_letter_has_a_name_of_its_own() -> None:
    names = said(f"It says {'-'.join(NAMES)}.").removeprefix("It says ").removesuffix(".").split()
    assert len(set(names)) == 26 and all(len(name) > 1 for name in names)


def test_the_way_back_leads_to_the_letters() -> None:
    spoken = normalise("Ask the FBI about $5.", "en", spell=True)
    bee = spoken.text.index("bee")
    assert spoken.written[slice(*spoken.written_range(bee, bee + 3))] == "FBI"
    assert spoken.spoken_range(8, 11) == (8, 8 + len("eff bee eye"))


def test_what_a_lexicon_says_is_left_alone() -> None:
    lexicon = Lexicon.of({"API": "A P I", "SQL": "sequel"})
    assert (
        normalise("An API, SQL or XML.", "en", lexicon, spell=True).text == "An A P I, sequel or ex em ell."
    )


def test_a_model_that_reads_words_alone_gets_names_and_another_model_letters() -> None:
    assert [part.spoken for part in Reading(WORDS_MODEL, language="en").cut("The FBI.")] == [
        "The eff bee eye."
    ]
    assert [part.spoken for part in Reading(MODEL, "on", "en").cut("The FBI.")] == ["The FBI."]
