"""What makes up a local step beside its rule, the same for all backends; all of it off by default.

g = ∇F(w; augment(batch)) + λw, then g ← g·min(1, c/‖g‖), then the rule: w ← w − η g for plain SGD.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from airfeel.handed import guarded
from airfeel.training.augment import Augment
from airfeel.training.rules import Memory, PlainSGD, Proximal, Rule

Uniforms = Float64[np.ndarray, "n H B W"] | None  # for each sample's augmentation, if there is any
Updates = tuple[Float[Tensor, "n D"], Float64[np.ndarray, "n"]]  # Δ, and the mean batch loss
_SETTINGS = {"augment": "data.augment"}  # the others are in the section training


@dataclass(frozen=True)
class Recipe:
    """Training settings that every backend carries out, or refuses with a reason.

    augment: what is done to each image of a batch. weight_decay: λ, of all parameters. clip_norm:
    c, largest norm of a step's gradient after weight decay; None without. label_smoothing: as for
    torch.nn.CrossEntropyLoss, in training alone.
    """

    augment: Augment = field(default_factory=Augment)
    weight_decay: float = 0.0
    clip_norm: float | None = None
    label_smoothing: float = 0.0

    @property
    def used(self) -> list[str]:
        """The settings that are not at their defaults."""
        plain = Recipe()
        names = [f.name for f in fields(self) if getattr(self, f.name) != getattr(plain, f.name)]
        return [_SETTINGS.get(name, f"training.{name}") for name in names]

    def step(
        self,
        rule: Rule,
        weights: list[Tensor],
        gradient: Sequence[Tensor],
        start: Sequence[Tensor],
        rate: float,
        memory: Memory,
        *,
        stacked: bool = False,
    ) -> None:
        """Add weight decay to the gradient, clip it, and move the weights by the rule, in place.

        A proximal term is clipped with the gradient, as a term of the loss would be. Other
        arguments as for `Rule`.

        stacked: the first dimension of each tensor is that of the devices, each clipped alone.
        """
        if self.weight_decay:
            gradient = torch._foreach_add(list(gradient), weights, alpha=self.weight_decay)
        if self.clip_norm is not None:
            if type(rule) is Proximal:
                pull = [w - s for w, s in zip(weights, start, strict=True)]
                gradient = torch._foreach_add(list(gradient), pull, alpha=rule.mu)
                rule = PlainSGD()
            gradient = _clipped(gradient, self.clip_norm, stacked)
        with guarded("training.rule", rule):
            rule(weights, gradient, start, rate, memory)


def _clipped(gradient: Sequence[Tensor], most: float, stacked: bool) -> list[Tensor]:
    """The gradient, scaled down to that norm as by torch.nn.utils.clip_grad_norm_."""
    if stacked:
        each = [g.flatten(1).norm(dim=1) for g in gradient]
        factor = (most / (torch.stack(each).norm(dim=0) + 1e-6)).clamp(max=1.0)
        return [g * factor.view(-1, *[1] * (g.dim() - 1)) for g in gradient]
    norm = torch.stack([g.norm() for g in gradient]).norm()
    return list(torch._foreach_mul(list(gradient), (most / (norm + 1e-6)).clamp(max=1.0)))
