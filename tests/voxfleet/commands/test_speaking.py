"""What `voxfleet say` makes of a text: words of figures, passages and pauses, and whose voice they have."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from typer.main import get_command

from gateway.text.ssml import PARAGRAPH_SECONDS
from models.voxcpm import VoxCPM
from tests.voxfleet.commands.saying import TINY, command
from voxfleet.cli import app
from voxfleet.commands.say import SayError, say


def test_figures_are_put_into_words_where_that_is_wanted(tmp_path: Path) -> None:
    """The same seed and the same words are the same audio."""

    def spoken(text: str, normalize: str) -> bytes:
        output = tmp_path / "out.wav"
        say(text, output, model=str(TINY), seed=3, normalize=normalize)
        return output.read_bytes()

    figures, words = "5 dogs and a cat are here.", "five dogs and a cat are here."
    assert spoken(figures, "on") == spoken(words, "off")
    assert spoken(figures, "off") != spoken(words, "off")


def test_figures_are_read_in_the_language_that_is_told(tmp_path: Path) -> None:
    """German has no rules: its figures stay as they are written."""

    def spoken(**options: Any) -> bytes:
        output = tmp_path / "out.wav"
        say("Um 3.", output, model=str(TINY), seed=3, **options)
        return output.read_bytes()

    assert spoken(normalize="on", language="de") == spoken(normalize="off")
    assert spoken(normalize="on", language="en") != spoken(normalize="off")
    with pytest.raises(SayError, match="'german' is no ISO 639 code"):
        spoken(language="german")


def tiny(folder: Path, *features: str) -> str:
    """The checkpoint with these features, and those that it has anyway."""
    shutil.copytree(TINY, folder, ignore=shutil.ignore_patterns("golden"))
    (folder / "generation_config.json").write_text(json.dumps({"features": features}))
    return str(folder)


def samples_of(text: str, tmp_path: Path, **options: Any) -> np.ndarray:
    output = tmp_path / "clip.wav"
    say(text, output, device="cpu", seed=3, **options)
    return soundfile.read(output)[0]


def test_a_model_that_cannot_spell_is_told_the_names_of_letters(tmp_path: Path) -> None:
    model = tiny(tmp_path / "model", "words_only")
    spelt, named = (samples_of(text, tmp_path, model=model) for text in ("The FBI.", "The eff bee eye."))
    assert np.array_equal(spelt, named)


def test_ssml_is_spoken_with_its_pauses_and_rates(tmp_path: Path) -> None:
    model = tiny(tmp_path / "model")  # that imitates nobody, so that each passage is as if by itself
    one, other = (samples_of(text, tmp_path, model=model) for text in ("Hello.", "Good night."))
    slow = '<prosody rate="50%">Good night.</prosody>'
    document = f'<speak>Hello.<break time="1500ms"/>{slow}<break time="1s"/></speak>'
    output = tmp_path / "out.wav"
    arguments = ("-o", str(output), "--model", model, "--seed", "3", "--device", "cpu")
    result = command(document, "--input-type", "ssml", *arguments)
    assert result.exit_code == 0, result.stderr
    spoken, rate = soundfile.read(output)
    assert np.array_equal(spoken[: len(one)], one)
    assert not spoken[len(one) : len(one) + 3 * rate // 2].any()
    slow = spoken[len(one) + 3 * rate // 2 : -rate]
    assert len(slow) == pytest.approx(2 * len(other), abs=0.02 * rate)
    assert not spoken[-rate:].any()


def test_paragraphs_are_said_apart_unless_no_pause_is_wanted(tmp_path: Path) -> None:
    model = tiny(tmp_path / "model")  # that imitates nobody, so that each paragraph is as if by itself
    one, other = (samples_of(text, tmp_path, model=model) for text in ("A title", "Good night."))
    both = samples_of("A title\n\nGood night.\n", tmp_path, model=model)
    rate = soundfile.info(tmp_path / "clip.wav").samplerate
    silence = np.zeros(round(PARAGRAPH_SECONDS * rate))
    assert np.array_equal(both, np.concatenate((one, silence, other)))
    longer = samples_of("A title\n\nGood night.", tmp_path, model=model, paragraph_pause=1.5)
    assert len(longer) == len(one) + round(1.5 * rate) + len(other)
    text = "A title\n\nGood night."
    with VoxCPM.from_pretrained(model, device="cpu") as speaker:
        as_one = speaker.synthesize(text, seed=3)
    assert len(samples_of(text, tmp_path, model=model, paragraph_pause=0)) == len(as_one)


def test_a_pause_that_is_none_is_refused_before_the_model_is_loaded(tmp_path: Path) -> None:
    arguments = ("-o", str(tmp_path / "out.wav"), "--model", "./no model is looked for")
    for pause in ("-1", "nan", "6"):
        result = command("Hello.", "--paragraph-pause", pause, *arguments)
        assert (result.exit_code, "from 0 to 5 s" in result.stderr) == (1, True)


def test_the_pause_between_paragraphs_is_the_one_that_the_help_names() -> None:
    (option,) = (one for one in get_command(app).commands["say"].params if one.name == "paragraph_pause")
    assert option.help.endswith(f"default: {PARAGRAPH_SECONDS:g}]")


def test_what_is_no_ssml_is_refused_before_the_model_is_loaded(tmp_path: Path) -> None:
    arguments = (
        "--input-type",
        "ssml",
        "-o",
        str(tmp_path / "out.wav"),
        "--model",
        "./no model is looked for",
    )
    result = command("<speak><audio/></speak>", *arguments)
    assert result.exit_code == 1
    assert "<audio> is not supported" in result.stderr


@pytest.mark.parametrize("feature", ["reference", "prompt"])
def test_passages_of_a_speaker_that_is_made_up_have_one_voice(tmp_path: Path, feature: str) -> None:
    """The first passage is a recording for the second."""
    model = tiny(tmp_path / "model", feature)
    with VoxCPM.from_pretrained(model, device="cpu") as speaker:
        recording = speaker.synthesize("Hello.", seed=3), speaker.sample_rate
        words = {"prompt_text": "Hello."} if feature == "prompt" else {}
        second = speaker.synthesize("Good night.", seed=3, **{f"{feature}_audio": recording}, **words)
        stranger = speaker.synthesize("Good night.", seed=3)
    document = '<speak>Hello.<break time="1s"/>Good night.</speak>'
    both = samples_of(document, tmp_path, model=model, input_type="ssml")
    assert np.allclose(both[-len(second) :], second, atol=1e-4)
    assert not np.allclose(both[-len(stranger) :], stranger, atol=1e-2)
