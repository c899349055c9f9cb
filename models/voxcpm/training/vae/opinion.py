"""DistillMOS (Microsoft, MIT): an estimate of how listeners would rate speech, 1 to 5. Optional.

pip install --no-deps distillmos xls-r-sqa
"""

from __future__ import annotations

import importlib.util
import sys
import types

from torch import nn


def opinion_model() -> nn.Module | None:
    """Takes audio [B, samples] at 16 kHz and gives scores [B, 1]; None where distillmos is not installed."""
    if importlib.util.find_spec("distillmos") is None:
        return None
    # It imports torchaudio for its command line alone; torchaudio's wheels are tied to one torch.
    sys.modules.setdefault("torchaudio", types.ModuleType("torchaudio"))
    from distillmos import ConvTransformerSQAModel

    return ConvTransformerSQAModel().eval()
