"""A clip over HTTP in ElevenLabs' form, and its lists."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from gateway.errors import ApiError
from gateway.protocols.elevenlabs.formats import FORMATS, OutputFormat, output_format
from tests.gateway.audio.samples import decoded_seconds
from tests.gateway.stages.processes import LONG_TEXT, TEXT, GatewayProcess, pcm_of, started_fleets

CLIP = "/v1/text-to-speech"
RACHEL = "21m00Tcm4TlvDq8ikWAM"
SECONDS = len(pcm_of(TEXT, 5)) / 2 / 24000


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        settings = {"data_dir": tmp_path_factory.mktemp("data")}
        gateway, _ = start(1, slots=4, step_ms=2, gateway=settings)
        yield gateway
        assert not gateway.defects()


async def ask(
    fleet: GatewayProcess, way: str = "", format: str = "pcm_24000", voice: str = "default", **fields: Any
) -> httpx.Response:
    async with fleet.http() as http:
        body = {"text": TEXT, "seed": 5, **fields}
        return await http.post(f"{CLIP}/{voice}{way}", params={"output_format": format}, json=body)


@pytest.mark.parametrize("way", ["", "/stream"])
async def test_raw_audio_is_the_clip_to_the_sample(fleet: GatewayProcess, way: str) -> None:
    spoken = await ask(fleet, way)
    assert spoken.content == pcm_of(TEXT, 5)
    assert spoken.headers["request-id"] == spoken.headers["X-Request-Id"]
    assert spoken.headers["Content-Type"].startswith("audio/")


async def test_mp3_is_what_comes_when_nothing_is_asked(fleet: GatewayProcess) -> None:
    async with fleet.http() as http:
        spoken = await http.post(f"{CLIP}/default", json={"text": TEXT})
    assert (spoken.headers["Content-Type"], spoken.headers["X-Sample-Rate"]) == ("audio/mpeg", "44100")


@pytest.mark.parametrize("name", ["mp3_22050_32", "mp3_44100_192", "opus_48000_64", "wav_16000"])
async def test_codec_rate_and_bit_rate_are_as_asked(fleet: GatewayProcess, name: str) -> None:
    codec, rate, *kbit = name.split("_")
    spoken = await ask(fleet, format=name)
    assert spoken.headers["X-Sample-Rate"] == rate
    assert decoded_seconds(spoken.content, codec, int(rate)) == pytest.approx(SECONDS, abs=0.2)
    if codec == "mp3":
        assert len(spoken.content) * 8 / SECONDS / 1000 == pytest.approx(int(kbit[0]), rel=0.15)


@pytest.mark.parametrize("name", ["ulaw_8000", "alaw_8000"])
async def test_telephony_has_a_byte_a_sample(fleet: GatewayProcess, name: str) -> None:
    spoken = await ask(fleet, format=name)
    assert len(spoken.content) / 8000 == pytest.approx(SECONDS, abs=0.01)
    assert spoken.headers["Content-Type"].startswith("audio/")


def test_every_format_is_understood_and_no_other() -> None:
    assert FORMATS["mp3_44100_128"] == OutputFormat("mp3", 44100, 128_000)
    assert len(FORMATS) == 7 + 7 + 2 + 7 + 5
    for name, socket in (("mp3_44100", False), ("pcm_11025", False), ("", False), ("wav_8000", True)):
        with pytest.raises(ApiError) as refused:
            output_format(name, over_socket=socket)
        assert (refused.value.status_code, refused.value.param) == (422, "output_format")


async def test_their_ids_mean_the_default_voice(fleet: GatewayProcess) -> None:
    assert (await ask(fleet, voice=RACHEL)).content == pcm_of(TEXT, 5)
    refused = await ask(fleet, voice="nobody")
    assert refused.status_code == 404
    detail = refused.json()["detail"]
    assert (detail["status"], detail["param"]) == ("unknown_voice", "voice_id")


async def test_what_shapes_their_models_is_ignored_and_named(fleet: GatewayProcess) -> None:
    settings = {"stability": 0.5, "similarity_boost": 0.7, "speed": 1.0}
    spoken = await ask(fleet, voice_settings=settings, previous_text="Before.", model_id="eleven_v3")
    assert spoken.content == pcm_of(TEXT, 5)
    ignored = spoken.headers["X-Ignored-Fields"]
    assert ignored == "previous_text, voice_settings.similarity_boost, voice_settings.stability"
    nothing = {"voice_settings": None, "apply_text_normalization": None, "next_text": None}
    for empty in (nothing, {"voice_settings": {"speed": None}}):
        assert (await ask(fleet, **empty)).content == pcm_of(TEXT, 5)


async def test_speed_is_taken(fleet: GatewayProcess) -> None:
    spoken = await ask(fleet, voice_settings={"speed": 1.25})
    assert len(spoken.content) / 2 / 24000 == pytest.approx(SECONDS / 1.25, abs=0.01)


async def test_a_whole_clip_with_times(fleet: GatewayProcess) -> None:
    answer = (await ask(fleet, "/with-timestamps", text=LONG_TEXT)).json()
    assert base64.b64decode(answer["audio_base64"]) == pcm_of(LONG_TEXT, 5)
    check_times(answer["alignment"], LONG_TEXT, len(pcm_of(LONG_TEXT, 5)) / 2 / 24000)
    assert answer["normalized_alignment"] == answer["alignment"]


@pytest.mark.parametrize("format", ["pcm_24000", "mp3_44100_128"])
async def test_a_line_for_each_piece_with_times(fleet: GatewayProcess, format: str) -> None:
    answer = await ask(fleet, "/stream/with-timestamps", format, text=LONG_TEXT)
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert len(lines) > 3
    audio = b"".join(base64.b64decode(line["audio_base64"]) for line in lines)
    seconds = len(pcm_of(LONG_TEXT, 5)) / 2 / 24000
    if format == "pcm_24000":
        assert audio == pcm_of(LONG_TEXT, 5)
    together: dict[str, list[Any]] = {}
    for line in lines:
        for name, values in (line["alignment"] or {}).items():
            together.setdefault(name, []).extend(values)
    check_times(together, LONG_TEXT, seconds)


def check_times(alignment: dict[str, list[Any]], text: str, seconds: float) -> None:
    starts, ends = alignment["character_start_times_seconds"], alignment["character_end_times_seconds"]
    assert "".join(alignment["characters"]) == text
    assert starts == sorted(starts) and ends == sorted(ends)
    assert all(start <= end for start, end in zip(starts, ends, strict=True))
    assert 0.5 * seconds < ends[-1] <= seconds + 0.002


async def test_text_without_words_is_a_moment_of_silence(fleet: GatewayProcess) -> None:
    spoken = await ask(fleet, text="...")
    assert spoken.content == bytes(4800)
    assert (await ask(fleet, "/with-timestamps", text="…")).json()["alignment"]["characters"] == ["…"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"seed": 2**32}, "seed"),
        ({"format": "ogg"}, "output_format"),
        ({"text": " "}, "text"),
        ({"text": "x" * 100_001}, "text"),
        ({"voice_settings": {"speed": 9.0}}, "voice_settings.speed"),
        ({"language_code": "English please"}, "language_code"),
    ],
)
async def test_what_is_wrong_is_told_in_their_shape(
    fleet: GatewayProcess, fields: dict[str, Any], param: str
) -> None:
    refused = await ask(fleet, **fields)
    assert refused.status_code == 422
    (problem,) = refused.json()["detail"]
    assert problem["loc"] == ["body", param] and problem["msg"] and problem["type"]


async def test_the_edge_speaks_their_shape_too(fleet: GatewayProcess) -> None:
    async with fleet.http() as http:
        too_large = await http.post(f"{CLIP}/default", content=b"x" * (1 << 21))
        json_type = {"Content-Type": "application/json"}
        not_json = await http.post(f"{CLIP}/default", content=b"{", headers=json_type)
        ours = await http.post("/tts", content=b"{", headers=json_type)
    assert (too_large.status_code, too_large.json()["detail"]["code"]) == (413, "body_too_large")
    assert (not_json.status_code, not_json.json()["detail"]["code"]) == (400, "invalid_json")
    assert ours.json()["error"]["code"] == "invalid_json"


async def test_voices_and_models_are_listed(fleet: GatewayProcess) -> None:
    async with fleet.http() as http:
        voices = (await http.get("/v1/voices")).json()["voices"]
        page = (await http.get("/v2/voices", params={"page_size": 1, "search": "def"})).json()
        listed = [("voice_ids", "default"), ("voice_ids", "other"), ("language", "en"), ("language", "de")]
        none = (await http.get("/v2/voices", params=listed)).json()
        one = (await http.get("/v2/voices", params=listed[:2])).json()
        too_many = await http.get("/v2/voices", params={"page_size": 101})
        voice = (await http.get("/v1/voices/default")).json()
        missing = await http.get("/v1/voices/nobody")
        theirs = (await http.get("/v1/models", headers={"xi-api-key": "any"})).json()
        openai = (await http.get("/v1/models")).json()
        assert (await http.get(voice["preview_url"])).content.startswith(b"RIFF")
        behind_tls = await http.get("/v1/voices/default", headers={"X-Forwarded-Proto": "https"})
    assert voices[0] == voice == page["voices"][0]
    assert (voice["voice_id"], voice["category"]) == ("default", "premade")
    assert voice["preview_url"].startswith(f"{fleet.url}/")
    assert behind_tls.json()["preview_url"] == voice["preview_url"].replace("http", "https", 1)
    assert page == {"voices": [voice], "has_more": False, "total_count": 1, "next_page_token": None}
    assert one == page and (none["voices"], none["total_count"]) == ([], 0)
    assert too_many.status_code == 422 and too_many.json()["detail"][0]["loc"] == ["body", "page_size"]
    assert missing.status_code == 404 and missing.json()["detail"]["status"] == "voice_not_found"
    assert theirs[0]["can_do_text_to_speech"] and theirs[0]["model_id"] == openai["data"][0]["id"]


async def test_cues_are_read_by_models_that_have_none_alone(fleet: GatewayProcess) -> None:
    text = f'[whispers] {TEXT}<break time="1.0s" />'
    whispered = await ask(fleet, text=text, model_id="eleven_v4")
    assert whispered.content == pcm_of(TEXT, 5) + bytes(48000)
    read = await ask(fleet, text=text, model_id="eleven_multilingual_v2")
    assert len(read.content) > len(whispered.content)
