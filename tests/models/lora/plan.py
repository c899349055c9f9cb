"""The steps that are prepared for an engine with adapters in slots."""

from __future__ import annotations

from models.voxcpm.programs.step_programs import ProgramPlan

PLAN = ProgramPlan(2, 2, 48, text_chunks=((2, 16),), audio_chunks=((1, 16),), decode_rows=[2])
