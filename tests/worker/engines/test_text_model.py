"""A worker with a text model: what it announces, writes, refuses, and goes on with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from models.llm import SamplingParams
from models.llm.engine import TextRequest
from tests.text_models import SPECIAL, random_model
from tests.worker.harness import Client, StartWorker, WorkerProcess, ready_worker
from tests.worker.process import wait_until
from worker.engines.loading import load_engine
from worker.protocol import Accepted, ErrorMessage, Frame, FrameKind
from worker.settings import load_settings

PROMPT = "Once upon a time"
DRAWN = {"max_tokens": 60, "temperature": 0.9, "logprobs": None}


@pytest.fixture(scope="module")
def text_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    model = random_model(tmp_path_factory.mktemp("text") / "tiny-qwen3")
    with ready_worker(model=str(model), device="cpu", slots=4, text_gather_seconds=0) as process:
        yield process


@pytest.fixture
def writer(text_process: WorkerProcess) -> Iterator[WorkerProcess]:
    yield text_process
    text_process.wait_for(lambda status: status.state == "IDLE" and status.slots_used == 0)


async def written(process: WorkerProcess, **fields) -> list[Frame]:
    async with process.connect() as websocket:
        client = Client(websocket)
        await client.start_text(**fields)
        return await client.receive_text()


def tokens_of(frames: list[Frame]) -> list[int]:
    return [token for frame in frames for token in frame.tokens]


def text_of(frames: list[Frame]) -> str:
    return "".join(frame.text for frame in frames)


async def refusal(process: WorkerProcess, **fields) -> ErrorMessage:
    async with process.connect() as websocket:
        client = Client(websocket)
        await client.start_text(**fields)
        message = await client.receive()
    assert isinstance(message, ErrorMessage)
    return message


def test_it_announces_a_text_model(writer: WorkerProcess) -> None:
    model = writer.health().model
    assert (model.kind, model.name, model.vocab_size, model.max_model_len) == (
        "text",
        "tiny-qwen3",
        300,
        2048,
    )
    assert model.features == ("chat", "thinking", "cache_salt")


async def test_an_answer_comes_token_by_token_in_order(writer: WorkerProcess) -> None:
    before = writer.health().counters.tokens
    frames = await written(writer, prompt=PROMPT, sampling=DRAWN)
    assert [frame.sequence for frame in frames] == list(range(60))
    assert [frame.last for frame in frames] == [False] * 59 + [True]
    assert frames[-1].finish_reason == "length"
    assert writer.health().counters.tokens == before + 60


async def test_the_same_seed_writes_the_same_and_another_seed_something_else(writer: WorkerProcess) -> None:
    first, again, other = [
        tokens_of(await written(writer, prompt=PROMPT, seed=seed, sampling=DRAWN)) for seed in (1, 1, 2)
    ]
    assert first == again
    assert first != other


@pytest.mark.parametrize("begun", [1, 17, 59])
async def test_an_answer_goes_on_from_the_tokens_of_another_worker(writer: WorkerProcess, begun: int) -> None:
    whole = await written(writer, prompt=PROMPT, sampling=DRAWN)
    ids = tokens_of(whole)
    rest = await written(writer, prompt=PROMPT, sampling=DRAWN, resume_ids=ids[:begun], attempt=2)
    assert rest[0].sequence == begun
    assert ids[:begun] + tokens_of(rest) == ids
    assert text_of(whole[:begun]) + text_of(rest) == text_of(whole)


async def test_a_stop_string_is_found_across_a_change_of_workers(writer: WorkerProcess) -> None:
    text = text_of(whole := await written(writer, prompt=PROMPT, sampling=DRAWN))
    stop = text[20:24]
    sampling = {**DRAWN, "stop": [stop]}
    stopped = await written(writer, prompt=PROMPT, sampling=sampling)
    assert text_of(stopped) == text[: text.index(stop)]
    assert stopped[-1].finish_reason == "stop"
    for begun in range(1, len(tokens_of(stopped))):
        rest = await written(
            writer, prompt=PROMPT, sampling=sampling, resume_ids=tokens_of(whole)[:begun], attempt=2
        )
        assert text_of(stopped[:begun]) + text_of(rest) == text_of(stopped)


async def test_a_conversation_is_laid_out_by_the_template_of_the_model(writer: WorkerProcess) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello!"}]
    laid_out = (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n"
    )
    plain = tokens_of(await written(writer, prompt=laid_out, sampling=DRAWN))
    assert tokens_of(await written(writer, messages=messages, sampling=DRAWN)) == plain
    options = {"enable_thinking": False}
    silent = tokens_of(await written(writer, messages=messages, template_options=options, sampling=DRAWN))
    assert silent == tokens_of(
        await written(writer, prompt=laid_out + "<think>\n\n</think>\n\n", sampling=DRAWN)
    )


@pytest.mark.parametrize(
    ("prompt", "thinking"), [("Why?", False), ("Why?<think>\n", True), ("<think>\n\n</think>\n\n", False)]
)
async def test_the_acceptance_says_how_much_goes_in_and_whether_it_opens_a_thought(
    writer: WorkerProcess, prompt: str, thinking: bool
) -> None:
    async with writer.connect() as websocket:
        client = Client(websocket)
        await client.start_text(prompt=prompt, sampling={"max_tokens": 1})
        accepted, *_ = await client.receive_all()
    assert isinstance(accepted, Accepted)
    assert (accepted.prompt_tokens, accepted.sample_rate) == (len(prompt), None)
    assert accepted.thinking is thinking


async def test_log_probabilities_tell_tokens_as_text_and_as_bytes(writer: WorkerProcess) -> None:
    frames = await written(writer, prompt=PROMPT, sampling={**DRAWN, "logprobs": 3})
    facts = [fact for frame in frames for fact in frame.facts]
    assert len(facts) == 60
    data = b"".join(bytes(fact.data) for fact in facts if fact.token not in SPECIAL)
    assert data.decode(errors="replace") == text_of(frames)
    for fact in facts:
        likely = [entry.logprob for entry in fact.top]
        assert len(likely) == 3
        assert likely == sorted(likely, reverse=True)
        assert fact.logprob <= likely[0] <= 0


async def test_answers_beside_each_other_are_the_same_as_alone(writer: WorkerProcess) -> None:
    alone = [tokens_of(await written(writer, prompt=PROMPT, seed=seed, sampling=DRAWN)) for seed in (1, 2, 3)]
    async with writer.connect() as a, writer.connect() as b, writer.connect() as c:
        clients = [Client(socket) for socket in (a, b, c)]
        for seed, client in enumerate(clients, 1):
            await client.start_text(request_id=f"r{seed}", prompt=PROMPT, seed=seed, sampling=DRAWN)
        together = [tokens_of(await client.receive_text()) for client in clients]
    assert together == alone


async def test_an_answer_that_is_cancelled_frees_its_slot(writer: WorkerProcess) -> None:
    async with writer.connect() as websocket:
        client = Client(websocket)
        await client.start_text(prompt=PROMPT, sampling={"max_tokens": 2000})
        await client.receive()
        await client.cancel()
        frames = await client.receive_all_until_last()
    assert frames[-1].finish_reason == "cancelled"


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"prompt": PROMPT, "sampling": {"temperature": -1.0}}, "temperature", "out_of_range"),
        ({"prompt": PROMPT, "sampling": {"max_tokens": 0}}, "max_tokens", "out_of_range"),
        ({"prompt": PROMPT, "sampling": {"logprobs": 21}}, "logprobs", "out_of_range"),
        ({"prompt": PROMPT, "sampling": {"logit_bias": {300: 1.0}}}, "logit_bias", "invalid_request"),
        ({"prompt_ids": [300]}, "prompt", "invalid_request"),
        ({"prompt": ""}, "prompt", "empty_prompt"),
        ({"prompt": PROMPT * 200}, "prompt", "too_long"),
        (
            {"prompt": PROMPT, "sampling": {"max_tokens": 2}, "resume_ids": [1, 2]},
            *("resume_ids", "nothing_to_resume"),
        ),
        (
            {"messages": [{"role": "user", "content": "Hi"}], "template_options": {"messages": 1}},
            *("messages", "invalid_request"),
        ),
    ],
)  # fmt: skip
async def test_what_is_out_of_range_is_refused_by_name(
    writer: WorkerProcess, fields: dict, param: str, code: str
) -> None:
    detail = (await refusal(writer, **fields)).error
    assert (detail.type, detail.param, detail.code) == ("invalid_request_error", param, code)


async def test_a_request_for_the_other_kind_of_model_is_no_fault_of_the_request(
    writer: WorkerProcess,
) -> None:
    async with writer.connect() as websocket:
        client = Client(websocket)
        await client.start("Hello.")
        message = await client.receive()
    assert message.error.code == "worker_failed"
    answer = writer.request("POST", "/encode", content=b"RIFF")
    assert answer.status_code == 404


async def test_text_is_in_no_line_of_the_log(writer: WorkerProcess) -> None:
    secret = "the launch code is 4711"
    text = text_of(await written(writer, messages=[{"role": "user", "content": secret}], sampling=DRAWN))
    wait_until(lambda: any("finished" in line for line in writer.log[-3:]) or None, lambda: "no log")
    assert not any(secret in line or text[:10] in line for line in writer.log)


@pytest.mark.parametrize("attention", ["flash", "torch_varlen"])
def test_attention_that_is_not_to_be_had_is_refused_before_the_weights_are_read(
    tmp_path: Path, start_worker: StartWorker, attention: str
) -> None:
    model = random_model(tmp_path / "tiny")
    environment = {"VOXFLEET_WORKER_ATTENTION": attention}
    process = start_worker("cli", environment=environment, model=str(model), device="cpu", step_ms=None)
    status = process.wait_for(lambda status: status.state == "ERROR")
    assert f"attention {attention} does not serve cpu: " in status.error
    log = "".join(process.log)
    assert '"weights"' not in log and "Traceback" not in log


async def test_tokens_that_follow_closely_leave_together(tmp_path: Path, start_worker) -> None:
    model = random_model(tmp_path / "tiny")
    process = start_worker(model=str(model), device="cpu", text_gather_seconds=1).wait_until_ready()
    frames = await written(process, prompt=PROMPT, sampling=DRAWN)
    assert len(frames[0].tokens) == 1
    assert len(frames) <= 4
    assert frames[-1].kind is FrameKind.TEXT
    assert [frame.sequence for frame in frames[1:]] == [
        sum(len(frame.tokens) for frame in frames[:place]) for place in range(1, len(frames))
    ]
    assert len(tokens_of(frames)) == 60


def test_keys_and_values_on_the_host_change_no_answer(tmp_path: Path) -> None:
    model = str(random_model(tmp_path / "tiny-qwen3"))

    def answered(**chosen) -> list[int | None]:
        settings = load_settings(model=model, device="cpu", slots=2, block_size=8, **chosen)
        engine = load_engine(settings, lambda stage, share: None)
        try:
            assert engine.options.kv_offload is settings.kv_offload
            params = SamplingParams(temperature=0, max_tokens=30)
            engine.add_request(TextRequest("r", PROMPT * 10, params))
            outputs = []
            while engine.has_unfinished():
                outputs += engine.step()
            return [output.token for output in outputs]
        finally:
            engine.close()

    offloaded = answered(kv_offload=True, gpu_kv_blocks=2, kv_host_gib=0.05)
    assert offloaded == answered() and len(offloaded) == 30
