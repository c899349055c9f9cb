"""What clients are promised, and how often that may be missed."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from gateway.settings.kinds import Seconds

Share = Annotated[float, Field(gt=0, lt=1)]


class ObjectiveSettings(BaseModel):
    """What clients are promised, and how often that may be missed: metrics and alerts go by it."""

    objective_first_audio_seconds: Seconds = 1.0
    """What is promised: the first audio within this time of the request."""
    objective_first_audio_budget: Share = 0.005
    """Share of clips and live utterances whose first audio may be later, in 30 days."""
    objective_first_token_seconds: Seconds = 2.0
    """What is promised of text models: the first token within this time of the request."""
    objective_first_token_budget: Share = 0.005
    """Share of answers whose first token may be later, in 30 days."""
    objective_lost_budget: Share = 0.001
    """Share of requests that may fail after a worker took them, in 30 days."""
    objective_refused_budget: Share = 0.01
    """Share of requests that may be refused for want of room, in 30 days."""
    objective_underruns_budget: Share = 0.01
    """Share of clips and live sessions whose player may run dry, in 30 days."""
