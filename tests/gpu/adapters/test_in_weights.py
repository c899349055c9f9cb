"""An adapter that everybody has goes into the weights: it speaks the same, and leaves no trace."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.gpu.engines.ours import relative
from models.lora import in_weights
from tests.gpu.adapters.adapted import Engines, random_adapter, request, speak
from tests.gpu.device import CUDA, needs_gpu

pytestmark = needs_gpu


def test_everybody_speaks_as_beside_others(engines: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engines()
    weights = engine._runner.adapters.in_weights
    engine.adapters.add("anna", random_adapter(engine, 5, 16))
    work, plain = [request("ab", "anna"), request("b", "anna")], request("cd", None)
    expected, before = speak(engine, *work), speak(engine, plain)["cd"]
    monkeypatch.setattr(in_weights, "LAUNCHES_BEFORE", 1)
    for times in (1, 2):
        found = speak(engine, *work)
        assert weights.num_added == times and weights.digest is not None
        for name, latents in expected.items():
            assert relative(found[name], latents) < 1e-3, name
        np.testing.assert_array_equal(speak(engine, plain)["cd"], before)
        assert weights.digest is None


@pytest.mark.skipif(not CUDA, reason="the CPU has nobody to wait for")
def test_nothing_waits_while_an_adapter_goes_in_and_out(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engines(torch.bfloat16)
    bank = engine._runner.adapters
    engine.adapters.add("anna", random_adapter(engine, 0, 16))
    monkeypatch.setattr(in_weights, "LAUNCHES_BEFORE", 1)
    anna = engine.adapters.get("anna")
    bank.begin_anew()
    with torch.inference_mode():
        assert bank.place([anna])[0] >= 0
        before = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")
        try:
            assert bank.place([anna, anna]) == [-1, -1]
            assert bank.place([anna, None])[1] == -1
        finally:
            torch.cuda.set_sync_debug_mode(before)
    assert bank.in_weights.digest is None
