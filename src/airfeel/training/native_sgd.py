"""The C++ kernel as a backend of local training."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int64, UInt8
from torch import Tensor

from airfeel.training import native
from airfeel.training.dropout import MaskNumbers
from airfeel.training.flat import FlatModel
from airfeel.training.look import NativeLook, serves
from airfeel.training.recipe import Recipe, Uniforms, Updates
from airfeel.training.rules import Momentum, PlainSGD, Proximal, Rule
from airfeel.types import Dataset

_MASK_BYTES = 2**25  # of dropout masks in one call
_BLOCK_BYTES = 2**23  # of updates that native devices make in one call: each call costs some steps


@dataclass(frozen=True)
class Native:
    """The C++ kernel; one core per call.

    network: the layers as the kernel reads them. data: the samples. recipe, rule: as for `Torch`;
    the rule is plain SGD, momentum or the proximal one.
    """

    network: native.Network
    data: Dataset
    recipe: Recipe = field(default_factory=Recipe)
    rule: Rule = field(default_factory=PlainSGD)
    name: ClassVar[str] = "native"

    @property
    def block(self) -> int:
        return int(np.clip(_BLOCK_BYTES // (4 * self.network.parameters), 1, 128))

    @property
    def look(self) -> NativeLook | None:
        """What it trains it evaluates too, if the test set is stored as the kernel reads it."""
        return NativeLook(self.network) if serves(self.data.test_x) else None

    def __call__(
        self,
        theta: Float[Tensor, "D"],
        batches: Int64[np.ndarray, "n H B"],
        learning_rate: float,
        seeds: Sequence[int] | None = None,
        uniforms: Uniforms = None,
    ) -> Updates:
        data = self.data
        shift, scale = data.shift.float(), data.scale.float()
        moves = None if uniforms is None else self.recipe.augment.moves(uniforms, data.shape)
        delta = torch.empty((len(batches), len(theta)))
        loss = np.empty(len(batches))
        for part in self._parts(batches.shape):
            some = None if moves is None else moves[part]
            own = self._keep(seeds, part, *batches.shape[1:])
            _, loss[part] = native.local_sgd(
                *(self.network, theta, data.train_x, data.train_y, batches[part], learning_rate),
                *(shift, scale),
                moves=some,
                terms=self._terms,
                keep=own,
                out=delta[part],
            )
        return delta, loss

    def _parts(self, shape: tuple[int, ...]) -> list[slice]:
        """Devices of one call each: as many as have dropout masks of bounded size."""
        n, steps, batch = shape
        each = max(steps * batch * self.network.units, 1)
        size = max(_MASK_BYTES // each, 1)
        return [slice(first, first + size) for first in range(0, n, size)]

    def _keep(
        self, all_seeds: Sequence[int] | None, part: slice, steps: int, batch: int
    ) -> UInt8[np.ndarray, "n H U"] | None:
        """Which units are kept, drawn as PyTorch's backend draws them; None if all are."""
        if all_seeds is None or not self.network.places:
            return None
        seeds = all_seeds[part]
        keep = np.empty((len(seeds), steps, batch * self.network.units), np.uint8)
        for device, seed in zip(keep, seeds, strict=True):
            numbers = MaskNumbers(seed)
            for step in device:
                at = 0
                for place in self.network.places:
                    drawn = place.draw(batch, numbers)
                    step[at : at + drawn.numel()] = drawn.numpy().ravel()
                    at += drawn.numel()
        return keep

    @property
    def _terms(self) -> native.Terms:
        rule, recipe = self.rule, self.recipe
        return native.Terms(
            weight_decay=recipe.weight_decay,
            clip_norm=recipe.clip_norm,
            momentum=rule.beta if isinstance(rule, Momentum) else 0.0,
            pull=rule.mu if isinstance(rule, Proximal) else 0.0,
            label_smoothing=recipe.label_smoothing,
        )


def why_not(model: FlatModel, data: Dataset, rule: Rule, recipe: Recipe) -> str | None:
    """Why the kernel cannot train this model by this rule; None if it can."""
    if type(rule) not in (PlainSGD, Momentum, Proximal):
        return f"it has the rules sgd, momentum and proximal, not {type(rule).__name__}"
    if model.device.type != "cpu" or model.dtype != torch.float32:
        return f"it computes in float32 on the CPU, not in {model.dtype} on {model.device}"
    if recipe.augment.own is not None:
        return f"it has crop, flip and cutout, not {recipe.augment.own}"
    if not model.classes or data.train_x.dtype not in (torch.uint8, torch.float32):
        return "it trains classifiers on uint8 or float32 inputs"
    try:
        native.describe(model.module, data.shape)
    except native.Unsupported as error:
        return str(error)
    return native.KERNEL.missing
