"""Sentences made from templates: numbers, times, dates, money, letters, short replies, questions.

They teach what running prose rarely shows but people type at once, such as
`It is 10:45 on the 3rd of May, 2024, and the ticket costs $18.50.`
"""

from __future__ import annotations

import random
from collections.abc import Callable


def _words(text: str, separator: str = " ") -> tuple[str, ...]:
    return tuple(" ".join(text.split()).split(separator))


MONTHS = _words("""
    January February March April May June July August September October November December
""")
DAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
NAMES = _words("""
    Anna Peter Maria John Emily David Sarah Michael Laura Robert Alice Thomas Julia Daniel Emma James
    Sophie William Olivia Henry Grace Samuel Hannah Oscar Lucy George Nina Paul Clara Martin Rachel
    Simon Kate
""")
PLACES = _words("""
    London Paris Berlin Boston Chicago Tokyo Madrid Rome Vienna Dublin Sydney Toronto Beijing Oslo Cairo
    Seattle Denver Austin Houston Lisbon Prague Athens Moscow Delhi Mumbai Shanghai Singapore
""")
REPLIES = _words(
    """
    Yes. / No. / Maybe. / Hello. / Hello there! / Hi. / Good morning. / Good evening. / Good night. /
    Goodbye. / Thank you. / Thank you very much. / Thanks a lot. / You're welcome. / Please wait. / One
    moment, please. / I'm sorry. / Excuse me. / Of course. / Sure. / Never mind. / I don't know. / I
    think so. / I hope so. / That's right. / That's all. / Well done! / How are you? / I'm fine, thanks.
    / What time is it? / Where are you? / Who is it? / Why not? / What do you mean? / See you tomorrow.
    / See you later. / Come in. / Sit down, please. / Let's go. / Wait a minute. / Not yet. / All right.
    / Welcome. / Welcome back. / Are you sure? / Try again. / Done. / Ready. / Stop. / Go ahead. /
    Congratulations! / Happy birthday! / Testing. / This is a test. / Testing, one, two, three. / Can
    you hear me? / Speak up. / Nice to meet you. / Take care.
""",
    " / ",
)
OBJECTS = _words("""
    apples books tickets people files houses cars letters questions minutes pages students miles chairs
    boxes
""")
QUESTIONS = (
    "What is {}?",
    "Where is {}?",
    "Who is {}?",
    "How do I get to {}?",
    "Do you know {}?",
    "Have you seen {}?",
    "When does {} start?",
    "Why is {} late?",
    "Could you tell me about {}?",
    "Is this {}?",
    "Would you like {}?",
)
SPELLED = (
    "The letters are {}",
    "{} is what it says",
    "Please spell {}",
    "{}",
    "{}",
    "The code is {}",
    "Type {} here",
)
ACRONYMS = _words("""
    BBC NBA CIA FBI UN EU UK CD DVD PC CPU GPU API URL HTML PDF USB SMS GPS ATM CEO MP DJ ID IT IQ
    VIP AM PM BMW IBM KLM NHS NBC CNN HBO MTV DNA RNA XML SQL TCP IP VPN LED LCD RSVP FAQ PR HR DIY
""")
ABOUT_ACRONYMS = (
    "The {0} and the {1} are both in {2}.",
    "She works for the {0} in {2}.",
    "Do you have a {0} or a {1}?",
    "He has been at the {1} since the {0} closed.",
    "{0} stands for something else in {2}.",
    "Is that {0} or {1}?",
)
PLEAS = (
    "Please call {} at {}.",
    "{} will be here at {}.",
    "I will meet {} at {}.",
    "Tell {} that the meeting is at {}.",
    "{} left the house at {} and came back late.",
    "Good morning, {}, it is {}.",
)


def short_reply(rng: random.Random, words: list[str]) -> str:
    return " ".join(rng.sample(REPLIES, rng.choice((1, 1, 1, 2))))


def clock(rng: random.Random) -> str:
    hour, minute = rng.randint(1, 12), rng.randint(0, 59)
    return rng.choice(
        (f"{hour}:{minute:02d}", f"{hour} o'clock", f"{hour} a.m.", f"{hour}:{minute:02d} p.m.")
    )


def number(rng: random.Random) -> str:
    value = int(10 ** rng.uniform(0, 6.3))
    return rng.choice(
        (str(value), f"{value:,}", str(rng.randint(0, 120)), f"{rng.randint(0, 99)}.{rng.randint(0, 99)}")
    )


def ordinal(value: int) -> str:
    suffix = "th" if 10 <= value % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{suffix}"


def date(rng: random.Random) -> str:
    day, month, year = rng.randint(1, 28), rng.choice(MONTHS), rng.randint(1500, 2060)
    return rng.choice(
        (
            f"{month} {day}, {year}",
            f"the {ordinal(day)} of {month}",
            f"{rng.choice(DAYS)}, {month} {ordinal(day)}",
            f"{day} {month} {year}",
            f"{month} {year}",
            str(year),
            rng.choice(DAYS),
        )
    )


def money(rng: random.Random) -> str:
    return rng.choice(
        (
            f"${rng.randint(1, 999)}",
            f"${rng.randint(1, 99)}.{rng.randint(1, 99):02d}",
            f"{number(rng)} dollars",
            f"${number(rng)}",
        )
    )


def capitals(rng: random.Random, count: int) -> list[str]:
    return [chr(rng.randint(65, 90)) for _ in range(count)]


def joined(rng: random.Random, letters: list[str]) -> str:
    """Letters as people write them one by one."""
    listed = ", ".join(letters[:-1]) + rng.choice((", and ", " and ")) + letters[-1]
    spaced = (", ".join(letters), ", ".join(letters), " ".join(letters))
    return rng.choice((*spaced, listed, "-".join(letters), ". ".join(letters)))


def initials(rng: random.Random, words: list[str]) -> str:
    letters = joined(rng, capitals(rng, rng.randint(2, 6)))
    return rng.choice(SPELLED).format(letters) + "."


def spelling(rng: random.Random, words: list[str]) -> str:
    """A word or a name letter by letter, or a piece of the alphabet."""
    word = rng.choice((rng.choice(NAMES), rng.choice(words), rng.choice(words)))[:9]
    letters = [c for c in word.upper() if c.isalpha()]
    if len(letters) < 2 or rng.random() < 0.2:
        first = rng.randint(65, 87)
        return joined(rng, [chr(c) for c in range(first, min(first + rng.randint(3, 9), 91))]) + "."
    return rng.choice(("{0} is spelled {1}.", "{0}: {1}.", "{1} spells {0}.", "{1}.")).format(
        word, joined(rng, letters)
    )


def acronym(rng: random.Random, words: list[str]) -> str:
    names = [rng.choice((" ", " ", "")).join(rng.choice(ACRONYMS)) for _ in range(2)]
    return rng.choice(ABOUT_ACRONYMS).format(*names, rng.choice(PLACES))


def repetition(rng: random.Random, words: list[str]) -> str:
    """A sentence of a word or two, again and again."""
    some = rng.sample(words, rng.choice((1, 1, 1, 2)))
    times = rng.randint(2, 7) if len(some) == 1 else rng.randint(2, 4)
    between = rng.choice((" ", ", ")) if len(some) == 1 else rng.choice((", ", " and "))
    return between.join([" ".join(some)] * times) + rng.choice("..!?")


def alliteration(rng: random.Random, words: list[str]) -> str:
    """Words that begin alike, some of them twice; `words` in the order of the alphabet."""
    at = rng.randrange(len(words))
    alike = words[max(0, at - 60) : at + 60]
    chosen = [rng.choice(alike) for _ in range(rng.randint(3, 6))]
    again = chosen[: rng.randint(0, 3)]
    between = rng.choice(("", "", " the", " and the", ", but the"))
    return " ".join(chosen) + (f"{between} {' '.join(again)}" if again else "") + "."


def person(rng: random.Random) -> str:
    name = rng.choice(NAMES)
    return rng.choice(
        (
            name,
            name,
            f"{rng.choice(('Mr.', 'Mrs.', 'Dr.', 'Ms.'))} {rng.choice(NAMES)}son",
            f"{name} and {rng.choice(NAMES)}",
        )
    )


def counting(rng: random.Random, words: list[str]) -> str:
    thing = rng.choice(OBJECTS)
    return rng.choice(
        (
            f"There are {number(rng)} {thing} in {rng.choice(PLACES)}.",
            f"{number(rng)} of the {number(rng)} {thing} were lost.",
            f"I counted {number(rng)} {thing}, not {number(rng)}.",
            f"About {rng.randint(1, 100)}% of the {thing} cost more than {money(rng)}.",
            f"The {ordinal(rng.randint(1, 130))} of {number(rng)} {thing}.",
            f"The number is {rng.randint(200, 999)}-{rng.randint(0, 9999):04d}.",
            f"{rng.randint(1, 50)} plus {rng.randint(1, 50)} equals {rng.randint(2, 100)}.",
            f"It is {rng.randint(-20, 110)} degrees, and it will be {rng.randint(0, 110)} tomorrow.",
            " ".join(str(rng.randint(0, 9)) for _ in range(rng.randint(3, 9))) + ".",
        )
    )


def calendar(rng: random.Random, words: list[str]) -> str:
    return rng.choice(
        (
            f"The meeting is on {date(rng)} at {clock(rng)}.",
            f"It was {date(rng)} when {person(rng)} moved to {rng.choice(PLACES)}.",
            f"The train to {rng.choice(PLACES)} leaves at {clock(rng)} on {date(rng)}.",
            f"From {date(rng)} to {date(rng)}, the price was {money(rng)}.",
            f"The ticket to {rng.choice(PLACES)} costs {money(rng)}.",
            f"{person(rng)} was born on {date(rng)}.",
            f"It is {clock(rng)}.",
        )
    )


def talk(rng: random.Random, words: list[str]) -> str:
    topic = rng.choice(
        (
            person(rng),
            rng.choice(PLACES),
            f"the {rng.choice(words)}",
            f"a {rng.choice(words)}",
            f"your {rng.choice(words)}",
        )
    )
    return rng.choice(
        (rng.choice(QUESTIONS).format(topic), rng.choice(PLEAS).format(person(rng), clock(rng)))
    )


def single_word(rng: random.Random, words: list[str]) -> str:
    return rng.choice(words).capitalize() + rng.choice(".?!")


TEMPLATES: tuple[tuple[float, Callable[[random.Random, list[str]], str]], ...] = (
    (0.16, short_reply),
    (0.2, counting),
    (0.14, calendar),
    (0.1, talk),
    (0.12, initials),
    (0.1, spelling),
    (0.03, acronym),
    (0.05, repetition),
    (0.05, alliteration),
    (0.05, single_word),
)


def template_sentence(rng: random.Random, words: list[str]) -> str:
    """One sentence from a random template; `words` fills the open places."""
    weights, makers = zip(*TEMPLATES, strict=True)
    text = rng.choices(makers, weights)[0](rng, words)
    return text[0].upper() + text[1:]
