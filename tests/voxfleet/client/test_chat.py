"""Chats by the Python client and `voxfleet chat`, against a gateway with a worker that writes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.stages.processes import GatewayProcess, all_free, started_fleets
from tests.text_models import STORY, telling_model
from tests.worker.harness import WorkerProcess
from voxfleet.client import AsyncClient, CapacityError, Client, InvalidRequestError, UnreachableError

ROOT = Path(__file__).parents[3]
QUESTION = "What is new?"
CONVERSATION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
SHORT = {"max_tokens": 12, "seed": 3}
ENDLESS = {"max_tokens": 4000, "seed": 3}
Fleet = tuple[GatewayProcess, list[WorkerProcess]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return telling_model(tmp_path_factory.mktemp("models") / "teller")


@pytest.fixture(scope="module")
def fleet(model: Path) -> Iterator[Fleet]:
    with started_fleets() as start:
        yield start(1, model=str(model), device="cpu", slots=2)


@pytest.fixture
def client(fleet: Fleet) -> Iterator[Client]:
    with Client(fleet[0].url) as opened:
        yield opened


def test_an_answer_and_the_same_in_pieces(client: Client) -> None:
    whole = client.chat(CONVERSATION, **SHORT)
    assert whole.text.startswith(STORY[0])
    assert (whole.model, whole.finish_reason) == ("teller", "length")
    assert (whole.seed, whole.completion_tokens) == (3, 12)
    stream = client.stream_chat(CONVERSATION, **SHORT)
    assert stream.answer is None
    assert "".join(stream) == whole.text
    assert stream.answer == whole


def test_a_text_is_what_the_user_says(client: Client) -> None:
    said = client.chat(QUESTION, **SHORT)
    assert said == client.chat([{"role": "user", "content": QUESTION}], **SHORT)


async def test_a_stream_that_is_left_early_ends_on_the_server(fleet: Fleet) -> None:
    async with AsyncClient(fleet[0].url) as client:
        for _ in range(5):  # with two slots the third would have to wait if any stayed
            stream = client.stream_chat(QUESTION, **ENDLESS)
            async for _piece in stream:
                break
            await stream.aclose()
            assert stream.answer is None
    await all_free(fleet[0])


def test_a_stream_without_asyncio_may_be_given_up(client: Client) -> None:
    stream = client.stream_chat("Tell me a story.", max_tokens=50)
    pieces = iter(stream)
    assert next(pieces)
    stream.close()
    assert list(pieces) == []
    assert list(stream) == [] and stream.answer is None


def test_what_is_refused_is_typed_in_both_forms(client: Client) -> None:
    for ask in (client.chat, lambda *said, **options: list(client.stream_chat(*said, **options))):
        with pytest.raises(InvalidRequestError) as caught:
            ask(QUESTION, temperature=-1)
        assert (caught.value.status_code, caught.value.param) == (422, "temperature")
        with pytest.raises(ValueError, match="n is no option"):
            ask(QUESTION, n=2)
    with Client("http://127.0.0.1:9") as nobody, pytest.raises(UnreachableError, match=r"^cannot reach"):
        list(nobody.stream_chat(QUESTION))


async def test_an_answer_that_nobody_can_go_on_with_is_an_error(model: Path) -> None:
    impatient = {"failover_timeout_seconds": 0.5, "no_worker_grace_seconds": 0.3}
    text = ""
    with started_fleets() as start:
        gateway, [worker] = start(1, model=str(model), device="cpu", slots=1, gateway=impatient)
        async with AsyncClient(gateway.url) as client:
            stream = client.stream_chat(QUESTION, **ENDLESS)
            with pytest.raises(CapacityError) as caught:
                async for piece in stream:
                    text += piece
                    if len(text) > 40:
                        worker.kill()
    assert caught.value.retry_after_seconds
    assert text.startswith(STORY[0]) and stream.answer is None


def chat_command(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "voxfleet", "chat", *arguments]
    return subprocess.run(command, input=typed, capture_output=True, text=True, timeout=60)


def test_the_command_prints_an_answer(fleet: Fleet, client: Client) -> None:
    result = chat_command(QUESTION, "--url", fleet[0].url, "--max-tokens", "12", "--seed", "3")
    assert (result.returncode, result.stdout) == (0, client.chat(QUESTION, **SHORT).text + "\n")


def test_the_command_remembers_what_was_said(fleet: Fleet, client: Client) -> None:
    options = ("--url", fleet[0].url, "--max-tokens", "12", "--seed", "3", "--system", "Be brief.")
    result = chat_command(*options, typed=f"{QUESTION}\n\nAnd then?\n")
    first = client.chat(CONVERSATION, **SHORT).text
    said = ({"role": "assistant", "content": first}, {"role": "user", "content": "And then?"})
    second = [*CONVERSATION, *said]
    assert result.stdout == f"{first}\n{client.chat(second, **SHORT).text}\n"


def test_the_command_says_what_is_wrong(fleet: Fleet) -> None:
    unknown = chat_command(QUESTION, "--url", fleet[0].url, "--model", "of nobody")
    assert unknown.returncode == 1 and unknown.stderr.startswith("error: ")
    assert "Traceback" not in unknown.stderr
    assert chat_command(QUESTION, "--url", "nowhere").returncode == 2


def test_the_javascript_client_gets_the_same(fleet: Fleet, client: Client) -> None:
    program = f"""
        import {{ VoxFleet }} from "{ROOT}/frontend/static/js/client/voxfleet.js";
        const fleet = new VoxFleet({{ url: "{fleet[0].url}" }});
        const options = {json.dumps(SHORT)};
        const stream = fleet.streamChat("{QUESTION}", options);
        let text = "";
        for await (const piece of stream) text += piece;
        for (let i = 0; i < 4; i++) {{
          for await (const piece of fleet.streamChat("{QUESTION}", {{ max_tokens: 4000 }})) break;
        }}
        console.log(JSON.stringify([text, stream.answer, await fleet.chat("{QUESTION}", options)]));
    """
    command = ["node", "--input-type=module", "--eval", program]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    text, streamed, whole = json.loads(result.stdout)
    expected = client.chat(QUESTION, **SHORT)
    assert text == expected.text
    assert streamed == whole
    assert (whole["text"], whole["seed"], whole["finishReason"]) == (text, 3, "length")
    assert (whole["promptTokens"], whole["completionTokens"]) == (expected.prompt_tokens, 12)
