"""The streaming VAE decoder for CUDA: thirty-six kernels for VoxCPM2, whatever the number of streams.

    decoder = FusedDecoder(vae, num_slots=8)        # used as `streaming_vae.StreamingDecoder`

Every convolution or product is one kernel that also reads and writes its states and applies what follows it
up to the next product: bias, residual, the sample rate's condition, snake (`models.voxcpm.fused.vae_stages`).
A decode launches the same kernels whatever the slots hold and never waits, so a graph may hold it.

Weights of products lie in one buffer. So another decoder's are as many elements further for every layer, and
one decode serves streams of different decoders.

Products are of TF32 operands and accumulate in fp32, as the published package's convolutions do on CUDA,
where cuDNN's default is TF32; everything else is fp32. No global setting is read or changed.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from engine.device.staging import upload
from models.voxcpm.fused.vae_stages import (
    Arithmetic,
    Call,
    DepthwiseStage,
    OutputStage,
    ProductStage,
    SeparableStage,
    Signal,
    Stage,
    gather,
    product_stage,
    snake_steps,
    upsample_stage,
)
from models.voxcpm.vae.audio_vae import (
    AudioVAE,
    CausalConv1d,
    CausalUpsample1d,
    DecoderBlock,
    ResidualUnit,
    SampleRateCondition,
    Snake,
)
from models.voxcpm.vae.streaming_layers import WindowState
from models.voxcpm.vae.streaming_vae import StreamingDecoder

WEIGHT_ALIGNMENT = 64
"""Elements. Those of layers begin at multiples of it, as kernels take for granted."""


class FusedDecoder(StreamingDecoder):
    """See the module and `StreamingDecoder`, whose results it gives to within the precision of products."""

    def __init__(
        self,
        vae: AudioVAE,
        num_slots: int,
        like: FusedDecoder | None = None,
        *,
        precision: str = "tf32",
        processors: int | None = None,
    ) -> None:
        """`precision` of products: "tf32" or "ieee", fp32 throughout. `processors` of the device, by default
        asked from it.
        """
        device = next(vae.parameters()).device
        if processors is None:
            processors = (
                torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
            )
        self._arithmetic = Arithmetic(precision, processors)
        super().__init__(vae, num_slots, like)

    def of(self, vae: AudioVAE) -> FusedDecoder:
        """See `StreamingDecoder.of`."""
        precision, processors = self._arithmetic.precision, self._arithmetic.processors
        return FusedDecoder(vae, self.num_slots, self, precision=precision, processors=processors)

    @torch.inference_mode()
    def start(self, slot: int, history: Tensor) -> None:
        """See `StreamingDecoder.start`."""
        self._storage[slot].zero_()
        if len(history):
            slots = upload(np.array([slot]), self._storage.device)
            self._run(history.flatten(0, 1)[None], slots)

    @torch.inference_mode()
    def decode(self, patches: Tensor, slots: Tensor, own: Tensor | None = None) -> Tensor:
        """See `StreamingDecoder.decode`."""
        return self._run(patches, slots, own)

    def way_to(self, other: StreamingDecoder) -> int:
        """See `StreamingDecoder.way_to`: so many elements after the weights of this decoder are its."""
        assert isinstance(other, FusedDecoder)
        return (other._weights.data_ptr() - self._weights.data_ptr()) // self._weights.element_size()

    def _run(self, latents: Tensor, slots: Tensor, own: Tensor | None = None) -> Tensor:
        signal, slots = Signal(None, latents.contiguous()), slots.contiguous()
        call = Call(slots, gather(self._storage, slots), own)
        for stage in self._stages:
            signal = stage(signal, call)
        return signal.activation

    @torch.inference_mode()
    def _build_layers(self, vae: AudioVAE) -> list[WindowState]:
        """The stages; returns their states."""
        self._stages: list[Stage] = []
        *modules, output = vae.decoder.model
        conditions = getattr(vae.decoder, "sr_cond_model", {})
        for i, module in enumerate(modules):
            if str(i) in conditions:
                self._add_condition(conditions[str(i)], vae.decoder.sample_rate_bucket)
            self._add(module)
        self._stages.append(OutputStage(self._arithmetic, output))
        self._gather_weights()
        return [stage.state for stage in self._stages if stage.state.size]

    def _gather_weights(self) -> None:
        weighted = [part for stage in self._stages for part in stage.weighted]
        tensors = [tensor for part in weighted for tensor in (part.weight, part.bias)]
        sizes = [-(-tensor.numel() // WEIGHT_ALIGNMENT) * WEIGHT_ALIGNMENT for tensor in tensors]
        self._weights = tensors[0].new_zeros(sum(sizes))
        places = zip(tensors, self._weights.split(sizes), strict=True)
        placed = iter([place[: of.numel()].view(of.shape).copy_(of) for of, place in places])
        for part in weighted:
            part.weight, part.bias = next(placed), next(placed)

    def _add(self, module: nn.Module) -> None:
        if isinstance(module, Snake):
            self._add_snake(module.alpha.flatten())
        elif isinstance(module, DecoderBlock):
            for child in module.block:
                self._add(child)
        elif isinstance(module, ResidualUnit):
            self._add_unit(module)
        elif isinstance(module, CausalUpsample1d):
            self._add_product(upsample_stage(self._arithmetic, module))
        elif isinstance(module, CausalConv1d) and module.groups == 1:
            self._add_product(product_stage(self._arithmetic, module))
        elif isinstance(module, CausalConv1d) and module.groups == module.in_channels == module.out_channels:
            self._stages.append(DepthwiseStage(self._arithmetic, module, None))
        else:
            raise TypeError(f"no streaming form of {module}")

    def _add_product(self, product: ProductStage) -> None:
        before = self._stages[-1] if self._stages else None
        if isinstance(before, DepthwiseStage):
            self._stages[-1] = SeparableStage(before, product)
            return
        if before is not None:
            before.epilogue.rounded = self._arithmetic.precision == "tf32"
        self._stages.append(product)

    def _add_unit(self, unit: ResidualUnit) -> None:
        snake, conv, *rest = unit.block
        if conv.groups == conv.in_channels == conv.out_channels:
            self._stages.append(DepthwiseStage(self._arithmetic, conv, snake))
        else:
            self._stages[-1].epilogue.keep = True
            rest = [snake, conv, *rest]
        for module in rest:
            self._add(module)
        self._stages[-1].epilogue.residual = True

    def _add_snake(self, alpha: Tensor) -> None:
        epilogue = self._stages[-1].epilogue
        epilogue.alpha, epilogue.reciprocal = snake_steps(alpha)

    def _add_condition(self, condition: SampleRateCondition, bucket: Tensor) -> None:
        """A factor and an offset per channel; an embedding that is appended is a constant of the product."""
        epilogue = self._stages[-1].epilogue
        if condition.cond_type.startswith("scale_bias"):
            epilogue.scale = condition.scale_embed(bucket)[0]
            epilogue.shift = condition.bias_embed(bucket)[0]
        elif condition.cond_type == "add":
            epilogue.shift = condition.cond_embed(bucket)[0]
            epilogue.scale = torch.ones_like(epilogue.shift)
        if not len(condition.out_layer):
            return
        snake, conv = condition.out_layer
        weight = conv.weight[..., 0]
        size, bias = len(weight), conv.bias
        self._add_snake(snake.alpha.flatten()[:size])
        if condition.cond_type == "concat":
            appended = condition.cond_embed(bucket).transpose(0, 1)[None]
            joined = torch.cat([appended.new_zeros(1, size, 1), appended], dim=1)
            bias = bias + weight[:, size:] @ snake(joined)[0, size:, 0]
        self._add_product(ProductStage(self._arithmetic, weight[:, :size].contiguous(), bias, 1, 1, 1))
