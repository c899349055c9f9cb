"""Settings: where they come from, which of them is stronger, and what is refused."""

from pathlib import Path

import pytest

from worker.protocol import is_loopback
from worker.settings import SettingsError, load_settings


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PORT", "SLOTS", "SECRET", "HOST", "MODEL", "URLS"):
        monkeypatch.delenv(f"VOXFLEET_WORKER_{name}", raising=False)


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text("serve: {port: 1}\nworker: {port: 22500, slots: 5, model: synthetic}\n")
    return path


def test_the_command_line_beats_the_environment_beats_the_file(
    config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOXFLEET_WORKER_SLOTS", "6")
    monkeypatch.setenv("VOXFLEET_WORKER_PORT", "22600")
    settings = load_settings(config_file, port=22700, host=None)
    assert (settings.port, settings.slots, settings.model) == (22700, 6, "synthetic")
    assert settings.host == "127.0.0.1"


def test_a_variable_of_the_gateway_is_none_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXFLEET_WORKER_URLS", "http://127.0.0.1:22400")
    assert load_settings().port == 22400


@pytest.mark.parametrize(
    "options",
    [
        {"port": 70_000},
        {"slots": 0},
        {"step_ms": -1},
        {"device": "tpu"},
        {"device": ""},
        {"device": "cuda:first"},
        {"worker_id": "a b"},
        {"secret": ""},
        {"host": "0.0.0.0"},
        {"log_format": "xml"},
        {"max_audio_seconds": float("inf")},
        {"prot": 1},
        {"max_model_len": 0},
        {"attention": "fast"},
        {"slots": 9, "max_num_batched_tokens": 8},
        {"gateway_urls": "ftp://a"},
        {"gateway_urls": "http://a/path"},
        {"advertised_url": "here"},
        {"gateway_urls": "http://ann:hunter2@a:1"},
        {"advertised_url": "http://a:99999"},
        {"gateway_urls": "http://a", "host": "0.0.0.0", "secret": "s"},
    ],
)
def test_a_wrong_setting_is_refused(options: dict) -> None:
    with pytest.raises(SettingsError):
        load_settings(**options)


def test_a_rule_that_is_broken_is_told_in_its_own_words() -> None:
    with pytest.raises(SettingsError, match=r"^advertised_url: Invalid IPv6 URL$"):
        load_settings(advertised_url="http://[::1")


@pytest.mark.parametrize(
    "content", ["worker: [1]", "- worker", "worker: {prot: 1}", "{", "worker: {slots: many}"]
)
def test_a_wrong_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(content)
    with pytest.raises(SettingsError):
        load_settings(path)


def test_a_file_without_the_section_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text("gateway: {max_queue: 3}\n")
    assert load_settings(path).slots == load_settings().slots


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:1"])
def test_a_worker_runs_on_the_cpu_or_a_gpu(device: str) -> None:
    assert load_settings(device=device).device == device


def test_gateways_to_dial_in_at_may_be_given_with_commas_between_them() -> None:
    assert load_settings(gateway_urls="http://a:1/, http://b:2").gateway_urls == ["http://a:1", "http://b:2"]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path / "none.yaml")


def test_the_network_needs_a_secret_and_the_secret_stays_one() -> None:
    settings = load_settings(host="0.0.0.0", secret="canary-secret-0123")
    assert "canary-secret-0123" not in f"{settings!r} {settings.model_dump_json()}"


def test_errors_quote_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXFLEET_WORKER_SECRET", "canary-secret-0123")
    with pytest.raises(SettingsError) as caught:
        load_settings(slots=0)
    assert "canary-secret-0123" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.3.2.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:10.0.0.1", False),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_loopback_means_this_machine_alone(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_memory_on_the_host_is_a_number_or_a_part_of_what_the_workers_of_a_machine_share() -> None:
    settings = load_settings(kv_host_gib=2.5, kv_bring_back="always")
    for options in (settings.engine_options(), settings.text_options()):
        assert (options["kv_host_gib"], options["kv_bring_back"]) == (2.5, "always")
    settings = load_settings(kv_host_gib="auto", workers_on_machine=5)
    for options in (settings.engine_options(), settings.text_options()):
        assert options["kv_host_gib"] is None
        assert options["kv_host_share"] == pytest.approx(0.05)
    with pytest.raises(SettingsError, match="kv_host_gib"):
        load_settings(kv_host_gib=-1)


def test_text_workers_with_all_keys_on_the_host_share_half_of_what_is_available() -> None:
    settings = load_settings(kv_offload=True, gpu_kv_blocks=8, workers_on_machine=5)
    options = settings.text_options()
    assert (options["kv_offload"], options["gpu_kv_blocks"], options["kv_host_gib"]) == (True, 8, None)
    assert options["kv_host_share"] == pytest.approx(0.05)
    assert settings.engine_options()["kv_host_gib"] == 0, "speech has no such form"
    assert "kv_offload" not in settings.engine_options()
    given = load_settings(kv_offload=True, kv_host_gib=3).text_options()
    assert given["kv_host_gib"] == 3 and "gpu_kv_blocks" not in given
    with pytest.raises(SettingsError, match="gpu_kv_blocks"):
        load_settings(gpu_kv_blocks=1)


def test_off_in_a_file_is_the_word(tmp_path: Path) -> None:
    file = tmp_path / "worker.yaml"
    file.write_text("worker:\n  graphs: off\n")
    assert load_settings(file).graphs == "off"
    file.write_text("worker:\n  graphs: on\n")
    with pytest.raises(SettingsError, match="graphs"):
        load_settings(file)


def test_a_worker_has_as_many_slots_for_adapters_as_an_engine_that_python_loads() -> None:
    assert "adapter_slots" not in load_settings().engine_options()
    assert load_settings(adapter_slots=0).engine_options()["adapter_slots"] == 0


@pytest.mark.parametrize("attention", ["flash", "torch_varlen"])
def test_attention_that_wants_large_blocks_gets_them_unless_told_otherwise(attention: str) -> None:
    settings = load_settings(attention=attention)
    for options in (settings.engine_options(), settings.text_options()):
        assert (options["attention_backend"], options["block_size"]) == (attention, 256)
    assert load_settings(attention=attention, block_size=512).text_options()["block_size"] == 512
    assert "block_size" not in load_settings().text_options()


@pytest.mark.parametrize("value", ["", "hunter2"])
def test_what_is_no_json_is_refused_in_words_and_not_repeated(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOXFLEET_WORKER_OTLP_HEADERS", value)
    with pytest.raises(SettingsError, match=r"^otlp_headers: in the environment.* JSON") as refused:
        load_settings()
    assert "hunter2" not in str(refused.value)
