"""Recordings become what is learnt from: examined, encoded, and cut as the base was trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.finetuning.journal import Journal
from models.voxcpm.finetuning.pace import Pace
from models.voxcpm.finetuning.recordings.checks import ADVISED_TOTAL_SECONDS
from models.voxcpm.finetuning.recordings.corpus import Material, Spoken, encode, examine, examine_together
from models.voxcpm.finetuning.recordings.dataset import Recording
from models.voxcpm.training.recipe import LMRecipe

LONGEST_DOCUMENT, LONGEST_SECONDS = 1000, 30.0


class Preparation:
    """Prepares recordings for training on one base checkpoint.

    Args:
        batch_positions: positions that a training step sees together.
        work: folder of the run, where latents are kept.
        normalise: puts figures of transcripts into words.

    Attributes:
        recipe: what a step sees.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        batch_positions: int,
        work: Path,
        journal: Journal,
        normalise: Callable[[str], str],
    ) -> None:
        self.recipe = batches_of(checkpoint, batch_positions)
        self._checkpoint, self._work, self._journal, self._normalise = checkpoint, work, journal, normalise

    def material(self, recordings: list[Recording]) -> Material:
        """What is learnt from, as latents. Raises DatasetError where too little can be used."""
        spoken = self._examined(recordings)
        material = encode(spoken, self._checkpoint, self._work / "latents", self._share)
        self._sum_up(spoken, material.seconds)
        return material

    def check(self, recordings: list[Recording]) -> bool:
        """Whether all of them can be used. Raises as `material`, which tells the same."""
        spoken = self._examined(recordings)
        self._sum_up(spoken, sum(item.speech.seconds for item in spoken))
        return len(spoken) == len(recordings)

    def _examined(self, recordings: list[Recording]) -> list[Spoken]:
        """The recordings that can be used. Reports what was found in all of them."""
        longest = self.recipe.longest_document
        longest_seconds = min(longest * self._checkpoint.config.patch_seconds / 2, LONGEST_SECONDS)
        journal, self._pace = self._journal, Pace()
        spoken, findings = examine(
            recordings, self._checkpoint, longest_seconds, longest, self._normalise, self._share, self._work
        )
        journal.found(findings)
        journal.found(examine_together(spoken))
        return spoken

    def _share(self, state: str, share: float) -> None:
        self._pace.step()
        on_cpu = self._checkpoint.device.type == "cpu"
        self._journal.share(state, share, self._pace.cpu_share if on_cpu else None)

    def _sum_up(self, spoken: list[Spoken], seconds: float) -> None:
        self._journal("encoded", recordings=len(spoken), seconds_of_speech=seconds)
        if seconds < ADVISED_TOTAL_SECONDS:
            message = f"{seconds:.0f} s are little; 3 to 10 minutes sound better"
            self._journal("found", kind="little", files=[], message=message)


def batches_of(checkpoint: Checkpoint, tokens: int) -> LMRecipe:
    """What a step sees: documents as the base was trained with, as far as its files tell."""
    config, generation = checkpoint.config, checkpoint.generation
    longest = min(config.max_length, LONGEST_DOCUMENT, tokens)
    space = checkpoint.tokenizer.encode("a b")
    prompts = "prompt" in generation.get("features", ()) and len(space) == 3
    ours = "max_reference_seconds" in generation
    return replace(
        LMRecipe(),
        tokens=tokens,
        documents=tokens // 16,
        audio_rows=tokens,
        flow_rows=tokens // 4,
        most_feedback_noise=LMRecipe.most_feedback_noise if ours else 0.0,
        references=config.supports_reference,
        default_reference_share=0.3,
        prompt_share=0.25 if prompts else 0.0,
        space_token=space[1] if prompts else 0,
        longest_document=longest,
    )
