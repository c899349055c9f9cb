"""Text is cut where it is written and spoken in words, the same way on every attempt."""

from __future__ import annotations

import pytest

from gateway.requests import StreamRequest, TtsRequest
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.parts import WORDS_ONLY, Part, Reading
from gateway.streams.clip.start import start_request
from gateway.streams.resumption.token import ResumeTokens
from gateway.synthesis.synthesis import Synthesis
from gateway.text import Lexicon, language
from models import speech
from tests.gateway.stages.fleet import describe_model
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import Ear, gateway_of
from tests.gateway.streams.stage import speak as speak_text
from worker.protocol import ModelDescription

TEXT = "It costs $5.20 on 3/4/2025. Call +1 415 555 2671 at 9:30 am, or 1,234,567 people will, by Nov. 5th."
FIGURES = ("$5.20", "3/4/2025", "+1 415 555 2671", "9:30 am", "1,234,567", "Nov. 5th")


def model(*features: str, part_characters: int | None = None, most: int = 500) -> ModelDescription:
    described = describe_model(part_characters=part_characters)
    return described.model_copy(update={"features": features, "max_text_characters": most})


def cut_text(text: str, normalize: str, described: ModelDescription) -> list[Part]:
    return Reading(described, normalize).cut(text)


def test_a_model_that_reads_words_alone_is_given_words() -> None:
    (part,) = cut_text("It is 5.", "auto", model(WORDS_ONLY))
    assert (part.written, part.spoken) == ("It is 5.", "It is five.")


@pytest.mark.parametrize(
    ("normalize", "features", "spoken"),
    [("auto", (), "It is 5."), ("off", (WORDS_ONLY,), "It is 5."), ("on", (), "It is five.")],
)
def test_a_request_decides_and_auto_asks_the_model(
    normalize: str, features: tuple[str, ...], spoken: str
) -> None:
    assert [part.spoken for part in cut_text("It is 5.", normalize, model(*features))] == [spoken]


@pytest.mark.parametrize("limit", [30, 60, 90, 160])
def test_parts_fit_in_words_and_cut_no_figure(limit: int) -> None:
    parts = cut_text(TEXT * 3, "on", model(part_characters=limit))
    assert all(0 < len(part.spoken) <= limit for part in parts)
    assert "".join(part.written for part in parts).replace(" ", "") == (TEXT * 3).replace(" ", "")
    spoken = " ".join(part.spoken for part in parts)
    assert spoken.count("five dollars and twenty cents") == 3
    if limit >= 60:
        assert all(any(figure in part.written for part in parts) for figure in FIGURES)


def test_a_model_without_parts_is_given_no_more_than_it_takes() -> None:
    parts = cut_text("1,234,567 " * 40, "on", model(most=500))
    assert len(parts) > 1 and all(len(part.spoken) <= 500 for part in parts)
    assert sum(part.spoken.count("one million") for part in parts) == 40


async def test_the_worker_hears_words_and_the_clip_keeps_what_was_written() -> None:
    worker = ScriptedWorker([Act()], features=(WORDS_ONLY,))
    async with gateway_of(worker) as gateway:
        assert (await speak_text(gateway, Ear(), "Pay $5.20.")).finish_reason == "stop"
    assert [start.text for start in worker.requests] == ["Pay five dollars and twenty cents."]


def test_a_resumed_clip_says_the_same_words() -> None:
    described = model(WORDS_ONLY, part_characters=60)
    clip = Clip(StreamRequest(text=TEXT), 7, 60.0)
    clip.begin(described)
    tokens = ResumeTokens(None, 60.0)
    clip.commit(bytes(4 * described.patch_size * described.latent_dim), described.patch_samples)
    clip.end_part("stop")
    clip.commit(bytes(4 * described.patch_size * described.latent_dim), described.patch_samples)
    resumed, _ = tokens.open(tokens.begin("client").extend(clip).text, "client")
    assert start_request(resumed, "r", 2).text == start_request(clip, "r", 2).text
    assert resumed.text.written == clip.text.written and clip.part == 1


async def test_a_long_text_is_cut_the_same_in_a_thread() -> None:
    described = model(WORDS_ONLY, part_characters=160)
    one, other = (Clip(StreamRequest(text=TEXT * 20), 7, 60.0) for _ in range(2))
    one.begin(described)
    other.begin(described)
    await one.text.prepare()
    assert one.text.written == other.text.written and len(one.text.written) > 10


def test_gateway_and_models_mean_the_same_feature() -> None:
    assert WORDS_ONLY == speech.WORDS_ONLY


async def test_the_worker_hears_respellings_also_where_figures_stay() -> None:
    worker = ScriptedWorker([Act()], features=())
    async with gateway_of(worker) as gateway:
        request = TtsRequest(text="Pay Nguyen $5.", seed=3, lexicon={"Nguyen": "Nwin"})
        assert (await Synthesis(gateway, request, "r1", Ear()).run()).finish_reason == "stop"
    assert [start.text for start in worker.requests] == ["Pay Nwin $5."]


def test_a_resumed_clip_keeps_its_respellings() -> None:
    described = model(WORDS_ONLY, part_characters=60)
    clip = Clip(StreamRequest(text=TEXT, lexicon={"people": "peeple"}), 7, 60.0)
    clip.say_with(Lexicon.of({"people": "peeple", "call": "kawl", "unused": "never"}))
    clip.begin(described)
    clip.say_with(Lexicon.of({"call": "too late"}))
    clip.commit(bytes(4 * described.patch_size * described.latent_dim), described.patch_samples)
    tokens = ResumeTokens(None, 60.0)
    resumed, _ = tokens.open(tokens.begin("client").extend(clip).text, "client")
    assert resumed.respelt == clip.respelt == {"Call": "kawl", "people": "peeple"}
    assert resumed.text.spoken == clip.text.spoken
    assert resumed.text.written == clip.text.written


def test_a_part_ends_in_no_word_of_the_lexicon() -> None:
    text = "We met at Yahoo! Inc. yesterday. " * 4
    reading = Reading(model(part_characters=24), "off", lexicon=Lexicon.of({"Yahoo! Inc.": "Yahoo ink"}))
    cut = reading.cut(text)
    assert sum("Yahoo! Inc." in part.written and "Yahoo ink" in part.spoken for part in cut) == 4
    assert all(len(part.spoken) <= 24 for part in cut)


GERMAN = "Der Zug nach Hamburg fährt um 15:30 Uhr vom Gleis 7 ab."


def polyglot(*features: str, part_characters: int = 60) -> ModelDescription:
    described = model(*features, part_characters=part_characters)
    return described.model_copy(update={"languages": ("en", "zh", "de", "fr")})


def test_each_part_is_read_in_its_own_language() -> None:
    text = f"It costs $5 today.\n\n{GERMAN}\n\n门票100元。\n\nWe paid 20 dollars for the tickets."
    parts = Clip(TtsRequest(text=text, normalize="on"), 1, 60.0)
    parts.begin(polyglot())
    assert [(part.spoken, part.language) for part in parts.text.parts] == [
        ("It costs five dollars today.", "en"),
        (GERMAN, "de"),
        ("门票一百元。", "zh"),
        ("We paid twenty dollars for the tickets.", "en"),
    ]


@pytest.mark.parametrize(
    ("text", "languages", "features", "spoken"),
    [("Um 3.", ("en", "de"), (), "Um 3."),
     ("Il fait 20 °C.", ("en", "fr", "de"), (), "Il fait 20 °C."),
     ("3,5 km", ("en", "de"), (), "3,5 km"),
     ("It is 5 pm.", ("en", "zh"), (), "It is five p m."),
     ("It is 5.", (), (), "It is five."),
     ("It is 5.", ("en", "de"), (WORDS_ONLY,), "It is five."),
     ("It costs 5 dollars for us.", ("en", "de"), (), "It costs five dollars for us.")],
)  # fmt: skip
def test_what_may_be_german_is_not_put_into_english_words(
    text: str, languages: tuple[str, ...], features: tuple[str, ...], spoken: str
) -> None:
    described = model(*features).model_copy(update={"languages": languages})
    assert [part.spoken for part in cut_text(text, "on", described)] == [spoken]


def test_a_german_sentence_within_an_english_part_stays_as_it_is() -> None:
    text = f"The meeting is at 5 pm in room 12. {GERMAN} We then paid $20 for the **30** taxis of Dr. Smith."
    described = polyglot(part_characters=400)
    reading = Reading(described, "on", lexicon=Lexicon.of({"Hamburg": "Hambourg", "Dr. Smith": "him"}))
    (part,) = reading.cut(text)
    german = GERMAN.replace("Hamburg", "Hambourg")
    assert (part.language, part.spoken) == (
        "en",
        f"The meeting is at five p m in room twelve. {german} We then paid twenty dollars for the thirty"
        " taxis of him.",
    )
    assert reading.read(text).text == part.spoken
    given = Reading(described, "on", "en").read(GERMAN).text
    assert "fifteen thirty" in given


def test_which_parts_are_put_into_words_is_known() -> None:
    clip = Clip(TtsRequest(text=f"It costs $5 today.\n\n{GERMAN}", normalize="on"), 1, 60.0)
    clip.begin(polyglot())
    assert [clip.text.in_words(number) for number in range(2)] == [True, False]
    clip = Clip(TtsRequest(text="Um 3.", normalize="on"), 1, 60.0)
    clip.begin(polyglot())
    assert not clip.text.in_words(0)


def test_ideograms_alone_are_japanese_within_japanese() -> None:
    described = model().model_copy(update={"languages": ("en", "zh", "ja")})
    clip = Clip(TtsRequest(text="2024年10月3日\n\nそれは楽しい一日でした。", normalize="on"), 1, 60.0)
    clip.begin(described)
    assert [(part.spoken, part.language) for part in clip.text.parts] == [
        ("2024年10月3日", "ja"),
        ("それは楽しい一日でした。", "ja"),
    ]


def test_what_tells_no_language_is_read_like_the_text_around_it() -> None:
    clip = Clip(TtsRequest(text="今天的会议时间是下午。\n\n3:30\n\n请准时参加。", normalize="on"), 1, 60.0)
    clip.begin(polyglot())
    assert [part.language for part in clip.text.parts] == ["zh", "zh", "zh"]
    assert clip.text.parts[1].spoken == "三点三十分"


def test_a_language_that_is_given_holds_for_all_parts() -> None:
    clip = Clip(TtsRequest(text=f"It is 5.\n\n{GERMAN}", normalize="on", language="de-AT"), 1, 60.0)
    clip.begin(polyglot("language"))
    assert [part.spoken for part in clip.text.parts] == ["It is 5.", GERMAN]
    assert start_request(clip, "r", 1).language == "de-AT"


@pytest.mark.parametrize(("features", "told"), [((), None), (("language",), "de")])
def test_a_model_that_wants_to_know_is_told_the_language(features: tuple[str, ...], told: str | None) -> None:
    clip = Clip(TtsRequest(text=GERMAN), 1, 60.0)
    clip.begin(polyglot(*features))
    assert start_request(clip, "r", 1).language == told


def test_nothing_is_loaded_where_the_language_is_of_no_interest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "_load", lambda: pytest.fail("loaded"))
    clip = Clip(TtsRequest(text=GERMAN), 1, 60.0)
    clip.begin(polyglot())
    assert clip.text.reading.is_quick and clip.text.parts[0].language is None
    clip = Clip(TtsRequest(text="It is 5 o'clock in the morning."), 1, 60.0)
    clip.begin(model(WORDS_ONLY))
    assert clip.text.reading.is_quick and clip.text.parts[0].language == "en"


SPELT = (
    "<speak>Flight <say-as interpret-as='characters'>ab1</say-as> of <sub alias='A B'>Air</sub> leaves at "
    "<say-as interpret-as='time'>9:30am</say-as>, gate <say-as interpret-as='spell-out'>C</say-as>.</speak>"
)


@pytest.mark.parametrize("normalize", ["auto", "off"])
def test_letters_that_an_author_has_spelt_are_named_for_a_model_that_cannot_spell(normalize: str) -> None:
    spoken = {}
    for features in ((), (WORDS_ONLY,)):
        clip = Clip(TtsRequest(text=SPELT, input_type="ssml", normalize=normalize), 1, 60.0)
        clip.begin(model(*features))
        spoken[features] = clip.text.spoken
    assert spoken[()] == "Flight A B one of A B leaves at nine thirty a m, gate C."
    assert spoken[WORDS_ONLY,] == "Flight ay bee one of A B leaves at nine thirty ay em, gate see."
