"""The audio VAE computed as images of height one, for training on a GPU.

cuDNN runs two-dimensional convolutions in tensor-core layout without turning every activation around
first, which is a third of the time of a step. The weights and their names stay the same, and so do the
values: activations are [B, C, 1, T] instead of [B, C, T].

    compute_as_images(vae)                                   # before weight norm is added
    audio = vae.decoder(latents.unsqueeze(2)).squeeze(2)
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from models.voxcpm.vae.audio_vae import CausalConv1d, CausalUpsample1d, Snake


class _ImageConv(CausalConv1d):
    def forward(self, x: Tensor) -> Tensor:
        padded = F.pad(x, (self.context, 0)) if self.context else x
        stride, dilation = (1, self.stride[0]), (1, self.dilation[0])
        return F.conv2d(padded, self.weight.unsqueeze(2), self.bias, stride, 0, dilation, self.groups)


class _ImageUpsample(CausalUpsample1d):
    def forward(self, x: Tensor) -> Tensor:
        stride = self.stride[0]
        return F.conv_transpose2d(x, self.weight.unsqueeze(2), self.bias, (1, stride))[..., :-stride]


class _ImageSnake(Snake):
    def forward(self, x: Tensor) -> Tensor:
        alpha = self.alpha.unsqueeze(2)
        return x + (alpha + 1e-9).reciprocal() * (alpha * x).sin().square()


IMAGE_FORMS = {CausalConv1d: _ImageConv, CausalUpsample1d: _ImageUpsample, Snake: _ImageSnake}


def compute_as_images(module: nn.Module) -> None:
    """Let every layer of an encoder or decoder take and give [B, C, 1, T]; weights are untouched.

    The layers keep their class's fields and change its forward alone. Not for conditioned decoders, whose
    embeddings stay in one dimension.
    """
    for layer in module.modules():
        if type(layer) in IMAGE_FORMS:
            layer.__class__ = IMAGE_FORMS[type(layer)]
