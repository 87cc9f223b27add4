"""Local rules: what a step of local training does with a gradient."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol, runtime_checkable

import torch
from torch import Tensor

from airfeel.ranges import Below1, NotNegative, about

Memory = dict[str, list[Tensor]]  # a device's own, empty before its first step of a round


@runtime_checkable
class Rule(Protocol):
    """Moves the weights, in place, given their gradient.

    weights, gradient, start: tensors of equal shapes; `start` is the model that the round began
    with. rate: η. memory: for the rule itself, kept from step to step of a device in a round.
    """

    def __call__(
        self,
        weights: list[Tensor],
        gradient: Sequence[Tensor],
        start: Sequence[Tensor],
        rate: float,
        memory: Memory,
    ) -> None: ...


@dataclass(frozen=True)
class PlainSGD:
    """w ← w − η g (Algorithm 1)."""

    def __call__(
        self,
        weights: list[Tensor],
        gradient: Sequence[Tensor],
        start: Sequence[Tensor],
        rate: float,
        memory: Memory,
    ) -> None:
        torch._foreach_add_(weights, list(gradient), alpha=-rate)


@dataclass(frozen=True)
class Momentum:
    """v ← β v + g, w ← w − η v; v starts at 0 in every round."""

    beta: Annotated[Below1, about("share of the last step's direction that is kept")] = 0.9

    def __call__(
        self,
        weights: list[Tensor],
        gradient: Sequence[Tensor],
        start: Sequence[Tensor],
        rate: float,
        memory: Memory,
    ) -> None:
        velocity = memory.setdefault("velocity", [torch.zeros_like(w) for w in weights])
        torch._foreach_mul_(velocity, self.beta)
        torch._foreach_add_(velocity, list(gradient))
        torch._foreach_add_(weights, velocity, alpha=-rate)


@dataclass(frozen=True)
class Proximal:
    """w ← w − η (g + μ (w − w_start)): FedProx (Li et al. 2020), which holds devices together."""

    mu: Annotated[NotNegative, about("strength of the pull to the global model")] = 0.01

    def __call__(
        self,
        weights: list[Tensor],
        gradient: Sequence[Tensor],
        start: Sequence[Tensor],
        rate: float,
        memory: Memory,
    ) -> None:
        pull = torch._foreach_sub(weights, list(start))
        torch._foreach_add_(weights, list(gradient), alpha=-rate)
        torch._foreach_add_(weights, list(pull), alpha=-rate * self.mu)
