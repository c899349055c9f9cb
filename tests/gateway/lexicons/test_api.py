"""`/api/lexicon` of a real gateway: who may change what, and whose words a clip is spoken with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from websockets.sync.client import connect

from gateway.lexicons.file import read_file
from tests.gateway.callers.owners import API_KEYS, KEYS, client
from tests.gateway.stages.processes import GatewayProcess, check_error, pcm_of, started_fleets

SEED = 5


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    folder = tmp_path_factory.mktemp("data")
    (folder / "words.yaml").write_text('"gif": "file jif"\n"Xerxes": "Zurk sees"\n')
    settings = {
        "api_keys": API_KEYS,
        "data_dir": folder,
        "lexicon_file": folder / "words.yaml",
        "max_lexicon_entries": 3,
        "max_lexicons": 1,
    }
    with started_fleets() as start:
        running, _ = start(1, step_ms=1, gateway=settings)
        yield running
        assert not running.defects()


@pytest.fixture
def ann(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with client(gateway, KEYS["ann"]) as opened:
        yield opened
        assert opened.delete("/api/lexicon").status_code == 200


@pytest.fixture
def bob(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with client(gateway, KEYS["bob"]) as opened:
        yield opened


@pytest.fixture
def admin(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=gateway.url, headers=gateway.admin, timeout=60, trust_env=False) as opened:
        yield opened
        assert opened.delete("/api/lexicon", params={"scope": "service"}).status_code == 200


def says(http: httpx.Client, text: str, **fields: Any) -> bytes:
    body = {"text": text, "seed": SEED, "format": "pcm", **fields}
    response = http.post("/tts", json=body)
    assert response.status_code == 200, response.text
    return response.content


def test_ones_own_words_are_kept_and_spoken(ann: httpx.Client, bob: httpx.Client) -> None:
    assert ann.get("/api/lexicon").json() == {"entries": {}, "max_entries": 3}
    put = ann.put("/api/lexicon", json={"entries": {"Nguyen": " Nwin ", "b": "bee"}})
    assert (
        put.json()["entries"] == {"b": "bee", "Nguyen": "Nwin"} == ann.get("/api/lexicon").json()["entries"]
    )
    assert says(ann, "Hello Nguyen.") == pcm_of("Hello Nwin.", SEED)
    assert says(bob, "Hello Nguyen.") == pcm_of("Hello Nguyen.", SEED)
    assert bob.get("/api/lexicon").json()["entries"] == {}


def test_one_word_is_added_changed_and_forgotten(ann: httpx.Client) -> None:
    path = f"/api/lexicon/words/{quote('AC/DC? 100%', safe='')}"
    assert ann.put(path, json={"spoken": "first"}).json()["entries"] == {"AC/DC? 100%": "first"}
    assert ann.put(path, json={"spoken": "acey dee cee"}).json()["entries"] == {"AC/DC? 100%": "acey dee cee"}
    assert says(ann, "AC/DC? 100%") == pcm_of("acey dee cee", SEED)
    assert ann.delete(path).json()["entries"] == {}
    check_error(ann.delete(path), 404)
    assert says(ann, "AC/DC? 100%") == pcm_of("AC/DC? 100%", SEED)


def test_request_owner_service_and_file_come_in_this_order(admin: httpx.Client, ann: httpx.Client) -> None:
    text = "A gif."
    assert says(ann, text) == pcm_of("A file jif.", SEED)
    scope = {"scope": "service"}
    put = admin.put("/api/lexicon/words/gif", params=scope, json={"spoken": "service jif"})
    assert put.json()["of_file"] == {"gif": "file jif", "Xerxes": "Zurk sees"}
    assert says(ann, text) == pcm_of("A service jif.", SEED)
    ann.put("/api/lexicon/words/gif", json={"spoken": "own jif"})
    assert says(ann, text) == pcm_of("A own jif.", SEED)
    assert says(ann, text, lexicon={"gif": "this jif"}) == pcm_of("A this jif.", SEED)
    assert says(ann, "Xerxes") == pcm_of("Zurk sees", SEED)
    assert ann.get("/api/lexicon", params=scope).json()["entries"] == {"gif": "service jif"}


def test_only_administrators_change_the_service(ann: httpx.Client, gateway: GatewayProcess) -> None:
    scope = {"scope": "service"}
    check_error(ann.put("/api/lexicon", params=scope, json={"entries": {}}), 401)
    check_error(ann.delete("/api/lexicon", params=scope), 401)
    check_error(ann.put("/api/lexicon/words/a", params=scope, json={"spoken": "b"}), 401)
    check_error(ann.delete("/api/lexicon/words/a", params=scope), 401)
    check_error(ann.get("/api/lexicon", params={"scope": "all"}), 422)
    check_error(
        ann.put("/api/lexicon", json={"entries": {}}, headers={"Origin": "https://evil.example"}), 403
    )
    with client(gateway, "a key that nobody has") as stranger:
        check_error(stranger.get("/api/lexicon"), 401)
        check_error(stranger.get("/api/lexicon", params=scope), 401)


@pytest.mark.parametrize(
    ("entries", "param"),
    [
        ({"a": "b", "c": "d", "e": "f", "g": "h"}, "entries"),
        ({"": "x"}, "entries"),
        ({"a": "x" * 129}, "entries"),
        ({"a": 5}, "entries.a"),
        ({"\u0000a": "x"}, "entries"),
    ],
)
def test_what_is_wrong_is_refused(ann: httpx.Client, entries: dict[str, Any], param: str) -> None:
    assert check_error(ann.put("/api/lexicon", json={"entries": entries}), 422)["param"] == param


def test_a_lexicon_and_their_number_are_bounded(ann: httpx.Client, bob: httpx.Client) -> None:
    for word in "abc":
        assert ann.put(f"/api/lexicon/words/{word}", json={"spoken": "x"}).status_code == 200
    check_error(ann.put("/api/lexicon/words/d", json={"spoken": "x"}), 409)
    assert ann.put("/api/lexicon/words/a", json={"spoken": "y"}).status_code == 200
    check_error(bob.put("/api/lexicon/words/a", json={"spoken": "x"}), 409)
    check_error(ann.put("/api/lexicon/words/a", json={"spoken": "y", "more": 1}), 422)
    check_error(ann.put("/api/lexicon/words/--", json={"spoken": "y"}), 422)


@pytest.mark.parametrize("lexicon", [{str(n): "x" for n in range(101)}, {"a": ""}, ["a"], {"a": 1}])
def test_the_lexicon_of_a_request_is_bounded(bob: httpx.Client, lexicon: Any) -> None:
    body = {"text": "Hi.", "lexicon": lexicon}
    assert check_error(bob.post("/tts", json=body), 422)["param"].startswith("lexicon")


def said_on_socket(gateway: GatewayProcess, path: str, *messages: dict[str, Any]) -> bytes:
    """The audio that ann gets."""
    url = f"ws://127.0.0.1:{gateway.port}{path}"
    headers = {"Authorization": f"Bearer {KEYS['ann']}"}
    with connect(url, additional_headers=headers, proxy=None, compression=None) as socket:
        for message in messages:
            socket.send(json.dumps(message))
        return b"".join(message for message in socket if isinstance(message, bytes))


def test_a_stream_and_a_live_session_use_it_too(gateway: GatewayProcess, ann: httpx.Client) -> None:
    ann.put("/api/lexicon/words/Nguyen", json={"spoken": "Nwin"})
    owed = pcm_of("Hello Nwin.", SEED)
    assert said_on_socket(gateway, "/ws/tts", {"text": "Hello Nguyen.", "seed": SEED}) == owed
    pieces = [{"type": "append", "text": text} for text in ("Hello Ngu", "yen.")]
    start, stop = {"type": "start", "seed": SEED}, {"type": "stop"}
    assert said_on_socket(gateway, "/ws/live", start, *pieces, stop) == owed


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    path = tmp_path / "words.yaml"
    for content, problem in (
        ("no: yes", "quotes"),
        ("- a", "mapping"),
        ("{", "expected"),
        ('"a": ""', "'a'"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=problem):
            read_file(path)
    with pytest.raises(ValueError, match="No such file"):
        read_file(tmp_path / "none")
    path.write_text("")
    assert read_file(path) == {} == read_file(None)
