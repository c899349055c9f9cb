"""VoxCPM as a speech engine: requests in, patches of audio out (`models.speech.SpeechEngine`).

What a `SpeechRequest` asks for becomes a sequence (`requests/sequence_builder.py`), which the model-agnostic
`engine.llm_engine.LLMEngine` schedules and a `VoxCPMRunner` computes:

    engine = load_engine("bundled", device="cpu", max_num_seqs=8)
    engine.add_request(SpeechRequest("r1", "Hello there.", seed=7))
    while engine.has_unfinished():
        for output in engine.step(): ...
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.config import EngineConfig
from engine.cpu.threads import StepThreads
from engine.device.devices import runs_triton
from engine.errors import EngineError, RequestError
from engine.llm_engine import LLMEngine, SequenceOutput
from engine.model_engine import ModelEngine, threads_on
from engine.parallel.launch import threads_of_rank
from engine.parallel.part import PARAM
from engine.sequence import Sequence
from models.lora.adapter import Adapter
from models.lora.files import most_bytes, read_adapter, received_adapter
from models.lora.pool import AdapterInfo, AdapterPool
from models.lora.rows import LoadedAdapter
from models.speech import (
    AudioRole,
    SpeechOutput,
    SpeechRequest,
)
from models.voxcpm.adapters import adaptable, load_adapter, make_early_copies
from models.voxcpm.checkpoint import Checkpoint, Progress
from models.voxcpm.description import describe, generation_defaults
from models.voxcpm.kv_sizing import second_tier_slots
from models.voxcpm.noise import patch_noise
from models.voxcpm.options import EngineOptions
from models.voxcpm.parallel.launch import blocks_of_all, make_leader
from models.voxcpm.programs.step_programs import ProgramPlan
from models.voxcpm.requests.sequence_builder import SequenceBuilder
from models.voxcpm.runner import NoiseSource, Patch, VoxCPMRunner
from models.voxcpm.vae.adapted_decoder import decoder_layers
from models.voxcpm.vae.audio_encoding import AudioEncoder

if TYPE_CHECKING:
    from models.lora.bank import SlotAdapter

__all__ = ["EngineOptions", "VoxCPMEngine"]

logger = logging.getLogger(__name__)

PREFILL_TOKENS_PER_DECODE = 4
"""A decode passes once through the language models and, at ten solver steps, as 200 tokens through the DiT:
in VoxCPM2 it costs as much as 25 positions of a prompt.
"""


class VoxCPMEngine(ModelEngine[SpeechRequest, SpeechOutput]):
    """See `models.speech.SpeechEngine`, whose methods these are."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: EngineOptions | None = None,
        noise: NoiseSource = patch_noise,
        progress: Progress | None = None,
    ) -> None:
        self.checkpoint, self.config = checkpoint, checkpoint.config
        self.device = str(checkpoint.device)
        self.options = options or EngineOptions()
        self.max_model_len = self.options.max_model_len or self.config.max_length
        if self.options.kv_blocks is not None:
            self.max_model_len = min(self.max_model_len, self.options.kv_blocks * self.options.block_size)
        self._ranks = checkpoint.ranks
        beside = not self._wants_programs and self._ranks is None and checkpoint.device.type == "cpu"
        threads = self._make_threads()
        self._encoder = AudioEncoder(checkpoint, self.max_model_len)
        self._references: dict[str, np.ndarray] = {}
        self._defaults = generation_defaults(checkpoint)
        self._takes_adapters = self._may_take_adapters()
        self.info = describe(checkpoint, self.options, self._takes_adapters)
        self.adapters = AdapterPool(self._load_adapter, self.options.max_adapters)
        self._sequences = SequenceBuilder(
            checkpoint,
            self.options,
            self.info,
            self.max_model_len,
            self._voice_reference,
            self._defaults["temperature"],
            self.adapters,
        )
        self._runner = self._make_runner(noise, threads if beside else None)
        engine_config = EngineConfig(
            max_num_seqs=self.options.max_num_seqs,
            max_num_batched_tokens=self.options.batched_tokens(checkpoint.device.type),
            max_prefill_tokens=self.options.max_prefill_tokens,
            prefill_tokens_per_decode=PREFILL_TOKENS_PER_DECODE,
            max_decodes=self.options.max_decodes,
            max_step_seconds=self.options.max_step_seconds,
            block_size=self.options.block_size,
            num_blocks=self._runner.num_blocks,
            max_model_len=self.max_model_len,
            enable_prefix_caching=self.options.enable_prefix_caching,
            bring_back=self.options.kv_bring_back,
            look_ahead=self._wants_programs or beside,
        )
        super().__init__(LLMEngine(self._runner, engine_config), threads)
        self._early_copies = make_early_copies(self._runner.adapters, self._llm.scheduler)
        self._prepare_programs(progress)

    def _make_threads(self) -> StepThreads | None:
        threads, size = self.options.threads, self.checkpoint.part.size
        if size > 1:
            threads = threads_of_rank(threads, size)
        return threads_on(self.checkpoint.device, threads, beside=size == 1)

    def _make_runner(self, noise: NoiseSource, beside: StepThreads | None) -> VoxCPMRunner:
        """beside: the threads of steps that begin beside the audio of others."""
        checkpoint, options, length = self.checkpoint, self.options, self.max_model_len
        blocks = options.kv_blocks or blocks_of_all(checkpoint, options, length)
        sizes = {
            "num_blocks": blocks,
            "block_size": options.block_size,
            "max_num_seqs": options.max_num_seqs,
            "max_model_len": length,
            "attention_backend": options.attention_backend,
        }
        if self._ranks is not None:
            return make_leader(checkpoint, noise, sizes)
        of_device = self.config, options, blocks, checkpoint.device, checkpoint.dtype
        return VoxCPMRunner(
            checkpoint.model,
            checkpoint.vae,
            **sizes,
            host_slots=second_tier_slots(*of_device),
            noise=noise,
            threads=beside,
            adapter_room=options.adapter_room,
        )

    def when_lost(self, lost: Callable[[EngineError], object]) -> None:
        """See `engine.loop.LosableEngine`."""
        if self._ranks is not None:
            self._ranks.on_lost.append(lost)

    def close(self) -> None:
        super().close()
        self._runner.close()

    def prepare(self, request: SpeechRequest) -> Sequence:
        if request.adapter is not None:
            self._check_one_rank()
        return self._sequences.build(request)

    def add(self, prepared: Sequence) -> None:
        super().add(prepared)
        if self._early_copies is not None:
            self._early_copies.begin(prepared)

    def step(self) -> list[SpeechOutput]:
        outputs = super().step()
        if self._early_copies is not None:
            self._early_copies.go_on()
        return outputs

    def resume(self, request_id: str) -> bool:
        found, sequence = super().resume(request_id), self._llm.scheduler.get(request_id)
        if self._early_copies is not None and sequence is not None:
            self._early_copies.begin(sequence)
        return found

    def encode_audio(self, samples: np.ndarray, sample_rate: int, role: AudioRole) -> np.ndarray:
        return self._encoder.encode(samples, sample_rate, role)

    def load_adapter(self, name: str, directory: Path) -> AdapterInfo:
        """Raises AdapterError, RequestError where this device serves none."""
        return self.adapters.add(name, self.read_adapter(directory))

    def read_adapter(self, directory: Path) -> Adapter:
        """An adapter of this model, see `models.lora.files`. Raises AdapterError."""
        return read_adapter(directory, adaptable(self.config), *self._bases)

    def received_adapter(self, config: Mapping[str, Any], weights: bytes) -> Adapter:
        """The adapter in the contents of its two files. Raises AdapterError."""
        return received_adapter(config, weights, adaptable(self.config), *self._bases)

    @property
    def _bases(self) -> tuple[Callable[[], str], Callable[[], str]]:
        """Digests of what adapters are of."""
        return lambda: self.checkpoint.weights_digest, lambda: self.checkpoint.vae_digest

    @property
    def max_adapter_bytes(self) -> int:
        """No file of weights of an adapter of this model is larger."""
        return most_bytes(adaptable(self.config))

    def _may_take_adapters(self) -> bool:
        if self.checkpoint.part.size > 1:
            return False
        if runs_triton(self.checkpoint.device):
            return self.options.adapter_slots is not None
        return not self._wants_programs

    def _load_adapter(self, adapter: Adapter) -> LoadedAdapter | SlotAdapter:
        self._check_one_rank()
        if not self._takes_adapters:
            device = self.checkpoint.device
            raise RequestError(
                f"adapters are not served on {device}: a GPU serves them with adapter_slots above 0, "
                "a CPU without recorded steps (graphs); or merge it (python -m models.voxcpm.merging)",
                param="adapter",
                code="adapters_unsupported",
            )
        if self._runner.adapters is not None:
            found = self._runner.adapters.load(adapter)
        else:
            found = load_adapter(self.checkpoint.model, adapter)
        layers = decoder_layers(dict(adapter.scaled()))
        return replace(found, decoder=self._runner.streams.decoder_with(layers)) if layers else found

    def _check_one_rank(self) -> None:
        if (size := self.checkpoint.part.size) > 1:
            problem = f"adapters need a {PARAM} of 1, this engine has {size}"
            raise RequestError(problem, param="adapter", code="adapters_unsupported")

    @property
    def _wants_programs(self) -> bool:
        graphs = self.options.graphs
        return graphs == "static" or (graphs == "auto" and self.checkpoint.device.type == "cuda")

    def _prepare_programs(self, progress: Progress | None) -> None:
        if not self._wants_programs:
            return
        plan = ProgramPlan(
            self._defaults["inference_timesteps"], self.options.max_num_seqs, self.max_model_len
        )
        try:
            self._runner.prepare(
                plan,
                lambda share: progress and progress("graphs", 0.5 + 0.4 * share),
                record=self.options.graphs != "static",
            )
        except (EngineError, RuntimeError) as error:
            if self.options.graphs != "auto" or self._ranks is not None:
                raise
            logger.warning("steps run without CUDA graphs: %s: %s", type(error).__name__, error)

    def warm_up(self) -> None:
        """Run one short request, so that the first real one pays for no lazy initialisation.

        Raises EngineError when it fails, as all others would.
        """
        request = SpeechRequest("warm-up", "Hello.", seed=0, max_seconds=4 * self.config.patch_seconds)
        self.add_request(request)
        while self.has_unfinished():
            for output in self.step():
                if output.finish_reason == "error":
                    raise EngineError(f"the engine cannot speak: {output.error}")
        for voice in self.info.voices:
            self._voice_reference(voice)

    def _voice_reference(self, name: str) -> np.ndarray | None:
        """Latents of a named voice; encoded once, at warm-up, since requests ask on the event loop."""
        voice = self.checkpoint.voices.get(name)
        if voice is None or voice.audio is None:
            return None
        if name not in self._references:
            self._references[name] = self._encoder.encode_file(voice.audio, "reference")
        return self._references[name]

    def _output(self, output: SequenceOutput) -> SpeechOutput:
        sequence, result = output.sequence, output.result
        if result is not None and isinstance(result.output, Patch):
            patch = result.output
            return SpeechOutput(
                sequence.request_id,
                patch.index,
                patch.audio,
                patch.latents,
                output.finish_reason,
                output.error,
                patch.flaw,
                patch.silent,
                self._llm.computing_seconds(sequence) if sequence.num_new_tokens == 1 else None,
            )
        not_finite = output.error is None and result is not None
        error = result.output if not_finite else output.error
        reason = output.finish_reason or "error"
        return SpeechOutput.ending(
            sequence.request_id, sequence.payload.index, reason, error, not_finite=not_finite
        )
