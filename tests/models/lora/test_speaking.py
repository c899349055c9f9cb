"""Adapters through engine and Python API: who has one, who has none, and what the cache may share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from engine.errors import RequestError
from models.lora.adapter import Adapter, AdapterError
from models.lora.files import write_adapter
from models.lora.pool import AdapterPool
from models.lora.rows import LoadedAdapter
from models.voxcpm import VoxCPM
from models.voxcpm.adapters import load_adapter
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.engine import VoxCPMEngine
from tests.models.conftest import assert_close, latents, request, run
from tests.models.lora.conftest import CHECKPOINT, LORA, random_adapter

Engines = Callable[..., VoxCPMEngine]
TEXT, CLIP = "hello world again", {"seed": 1, "min_seconds": 0.12, "max_seconds": 0.12}


@pytest.fixture(scope="module")
def voice() -> Iterator[VoxCPM]:
    with VoxCPM.from_pretrained(
        str(CHECKPOINT), silence_guard=False, max_adapters=2, part_characters=20
    ) as loaded:
        yield loaded


@pytest.fixture(autouse=True)
def nothing_stays(voice: VoxCPM) -> Iterator[None]:
    yield
    voice.reset_lora()


def test_an_adapter_is_used_by_name_or_as_the_default(voice: VoxCPM, written: Path) -> None:
    plain = voice.synthesize(TEXT, **CLIP)
    info = voice.load_lora(written, "anna")
    assert (info.rank, info.base, info.enabled) == (4, "tiny", True) and voice.list_loras() == [info]
    assert np.array_equal(voice.synthesize(TEXT, **CLIP), plain)
    adapted = voice.synthesize(TEXT, lora="anna", **CLIP)
    assert not np.allclose(adapted, plain, atol=1e-3)
    voice.load_lora(written)
    assert_close(voice.synthesize(TEXT, **CLIP), adapted, 1e-4)
    assert_close(voice.synthesize(TEXT, lora="", **CLIP), plain, 1e-4)


def test_a_switched_off_default_leaves_the_model_as_it_is(voice: VoxCPM, written: Path) -> None:
    plain = voice.synthesize(TEXT, **CLIP)
    voice.load_lora(written)
    voice.set_lora_enabled(False)
    assert_close(voice.synthesize(TEXT, **CLIP), plain, 1e-4)
    with pytest.raises(RequestError, match="switched off") as raised:
        voice.generate(TEXT, lora="default")
    assert (raised.value.param, raised.value.code) == ("adapter", "adapter_disabled")
    voice.set_lora_enabled(True, "default")
    assert not np.allclose(voice.synthesize(TEXT, **CLIP), plain, atol=1e-3)


def test_unknown_names_and_too_many_adapters_are_refused(voice: VoxCPM, written: Path) -> None:
    with pytest.raises(RequestError, match="unknown") as raised:
        voice.generate(TEXT, lora="nobody")
    assert (raised.value.param, raised.value.code) == ("adapter", "unknown_adapter")
    voice.load_lora(written, "anna")
    voice.load_lora(written, "anna")
    voice.load_lora(written, "ben")
    with pytest.raises(AdapterError, match="the limit is 2"):
        voice.load_lora(written, "carl")
    assert voice.unload_lora("ben") and not voice.unload_lora("ben")
    for name in ("", 5, None):
        with pytest.raises(AdapterError, match=f"1 to 100 characters, got {name!r}"):
            voice.load_lora(written, name)  # type: ignore[arg-type]


def test_one_too_many_is_refused_before_it_takes_memory(checkpoint: Checkpoint) -> None:
    loaded = []

    def load(adapter: Adapter) -> LoadedAdapter:
        loaded.append(adapter)
        return load_adapter(checkpoint.model, adapter)

    pool, adapter = AdapterPool(load, limit=1), random_adapter()
    pool.add("anna", adapter)
    with pytest.raises(AdapterError, match="the limit is 1"):
        pool.add("ben", adapter)
    pool.add("anna", adapter)
    assert len(loaded) == 2


def test_a_request_keeps_the_adapter_it_began_with(voice: VoxCPM, written: Path) -> None:
    voice.load_lora(written, "anna")
    expected = voice.synthesize(TEXT, lora="anna", **CLIP)
    stream = voice.generate(TEXT, lora="anna", **CLIP)
    voice.unload_lora("anna")
    assert_close(np.concatenate(list(stream)), expected, 1e-4)


def test_all_parts_of_a_text_keep_the_adapter_it_began_with(voice: VoxCPM, written: Path) -> None:
    text, clip = "Hello world. Good day.", {"seed": 1, "max_seconds": 0.3}
    voice.load_lora(written)
    expected = voice.synthesize(text, **clip)
    for change in (voice.unload_lora, lambda: voice.set_lora_enabled(False), voice.reset_lora):
        voice.load_lora(written)
        outputs = voice.generate(text, **clip).outputs()
        first = next(outputs).audio
        change()
        rest = [output.audio for output in outputs]
        assert_close(np.concatenate([first, *rest]), expected, 1e-4)


def test_a_default_adapter_that_is_unloaded_at_that_moment_is_no_error(
    voice: VoxCPM, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapters = voice._engine.adapters

    class Unloading(nullcontext[None]):
        def __exit__(self, *ended: object) -> None:
            adapters._adapters.clear()

    voice.load_lora(written)
    expected = voice.synthesize(TEXT, **CLIP)
    monkeypatch.setattr(adapters, "_lock", Unloading())
    assert_close(voice.synthesize(TEXT, **CLIP), expected, 1e-4)
    assert voice.list_loras() == []


def test_the_prefix_cache_tells_adapters_apart(make_engine: Engines, tmp_path: Path) -> None:
    """The same text many times over, in one engine with its cache, is what engines without one make of it."""
    text = "hello world again " * 4
    for seed, name in enumerate(("anna", "ben")):
        write_adapter(tmp_path / name, random_adapter(seed), LORA)
    names = [None, "anna", "ben", "anna", None]

    def spoken(**options: bool) -> list[np.ndarray]:
        engine = make_engine(**options)
        for name in ("anna", "ben"):
            engine.adapters.add(name, engine.read_adapter(tmp_path / name))
        outputs = [run(engine, request("r", text, adapter=name))["r"] for name in names]
        engine.close()
        return [latents(found) for found in outputs]

    shared, alone = spoken(), spoken(enable_prefix_caching=False)
    for left, right in zip(shared, alone, strict=True):
        assert_close(left, right, 1e-4)
    assert not np.allclose(shared[1], shared[2], atol=1e-2)
    assert not np.allclose(shared[0], shared[1], atol=1e-2)


def test_an_engine_of_programs_refuses_adapters(programs: Engines, written: Path) -> None:
    engine = programs()
    with pytest.raises(RequestError, match="not served on cpu") as raised:
        engine.adapters.add("anna", engine.read_adapter(written))
    assert raised.value.code == "adapters_unsupported"
    engine.close()
