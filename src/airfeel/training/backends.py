"""Ways of carrying out the same local SGD, all behind one signature and fed with the same batches.

| name      | what it is                                       | where it is at home             |
|-----------|--------------------------------------------------|---------------------------------|
| `native`  | a C++ kernel, float32, sequential networks       | a CPU with a compiler           |
| `stacked` | all devices of a block at once (vmap of grad)    | a GPU; small models             |
| `torch`   | one device after the other, any `nn.Module`      | everywhere                      |
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Annotated, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.errors import shorten
from airfeel.ranges import about
from airfeel.training import native
from airfeel.training.dropout import MaskNumbers, mask_numbers
from airfeel.training.flat import FlatModel, Replica
from airfeel.training.native_sgd import Native, why_not
from airfeel.training.recipe import Recipe, Uniforms, Updates
from airfeel.training.rules import Memory, PlainSGD, Rule
from airfeel.types import BadInput, Dataset

Drops = Annotated[bool, about("whether the model has dropout")]

_REASON = 160  # most characters of a reason
_STACK_BYTES = 2**28  # of parameters and gradients in a block of stacked devices
_DRAWS = "training.backend = 'stacked': the model draws random numbers in training; use 'torch'"


@runtime_checkable
class Backend(Protocol):
    """local_sgd(theta, batches, …) → Δ [n D] and the mean batch loss [n].

    theta: w, the global model. batches: sample indices, H steps of B samples for each device.
    learning_rate: η. seeds: of each device's dropout masks; None without.
    """

    @property
    def name(self) -> str: ...
    @property
    def block(self) -> int: ...  # devices that one call should have, at most
    def __call__(
        self,
        theta: Float[Tensor, "D"],
        batches: Int64[np.ndarray, "n H B"],
        learning_rate: float,
        seeds: Sequence[int] | None = None,
    ) -> Updates: ...


@runtime_checkable
class Augmenting(Protocol):
    """A backend that takes a recipe. uniforms: for its augmentation; None without."""

    def __call__(
        self,
        theta: Float[Tensor, "D"],
        batches: Int64[np.ndarray, "n H B"],
        learning_rate: float,
        seeds: Sequence[int] | None = None,
        uniforms: Uniforms = None,
    ) -> Updates: ...


@dataclass(frozen=True)
class Torch:
    """One device after the other: any module, any compute device, any rule, dropout.

    model: the network as a vector. data: the samples. rule: what a step does with a gradient.
    recipe: what else makes up a step.
    """

    model: FlatModel
    data: Dataset
    rule: Rule = field(default_factory=PlainSGD)
    recipe: Recipe = field(default_factory=Recipe)
    name: ClassVar[str] = "torch"
    block: ClassVar[int] = 1

    def __call__(
        self,
        theta: Float[Tensor, "D"],
        batches: Int64[np.ndarray, "n H B"],
        learning_rate: float,
        seeds: Sequence[int] | None = None,
        uniforms: Uniforms = None,
    ) -> Updates:
        delta = theta.new_empty((len(batches), len(theta)))
        loss = np.empty(len(batches))
        for n, steps in enumerate(torch.from_numpy(batches).to(theta.device)):
            seed = None if seeds is None else seeds[n]
            own = None if uniforms is None else uniforms[n]
            work = partial(self._device, theta, steps, learning_rate, seed, delta[n], own)
            loss[n] = self.model.seeded(work, seed or 0)
        return delta, loss

    def _device(
        self,
        theta: Float[Tensor, "D"],
        steps: Int64[Tensor, "H B"],
        learning_rate: float,
        seed: int | None,
        out: Float[Tensor, "D"],
        uniforms: Float64[np.ndarray, "H B W"] | None,
    ) -> float:
        token = mask_numbers.set(None if seed is None else MaskNumbers(seed))
        try:
            with self.model.training() as net:
                return self._steps(net, theta, steps, learning_rate, out, uniforms)
        finally:
            mask_numbers.reset(token)

    def _steps(
        self,
        net: Replica,
        theta: Float[Tensor, "D"],
        steps: Int64[Tensor, "H B"],
        learning_rate: float,
        out: Float[Tensor, "D"],
        uniforms: Float64[np.ndarray, "H B W"] | None,
    ) -> float:
        data = self.data
        net.flat.copy_(theta)
        start, memory = list(self.model.split(theta).values()), Memory()
        losses = []
        for h, index in enumerate(steps):
            x = data.train_x[index]
            if uniforms is not None:
                x = self.recipe.augment(x, uniforms[h])
            x = data.inputs(x, theta.dtype)
            output = net(self.model.laid_out(x))
            loss = self.model.loss(output, data.train_y[index], self.recipe.label_smoothing)
            gradient = torch.autograd.grad(loss, net.parameters)
            with torch.no_grad():
                self.recipe.step(self.rule, net.parameters, gradient, start, learning_rate, memory)
            losses.append(loss.detach())
        torch.sub(net.flat, theta, out=out)
        return float(torch.stack(losses).to(torch.float64).mean())


@dataclass(frozen=True)
class Stacked:
    """All devices of a block advance together: vmap of the gradient over the devices.

    model: the network as a vector. data: the samples. rule: what a step does with a gradient.
    recipe: what else makes up a step.
    """

    model: FlatModel
    data: Dataset
    rule: Rule = field(default_factory=PlainSGD)
    recipe: Recipe = field(default_factory=Recipe)
    name: ClassVar[str] = "stacked"

    @property
    def block(self) -> int:
        each = 3 * self.model.dim * torch.finfo(self.model.dtype).bits // 8
        return int(np.clip(_STACK_BYTES // each, 1, 1024))

    def __call__(
        self,
        theta: Float[Tensor, "D"],
        batches: Int64[np.ndarray, "n H B"],
        learning_rate: float,
        seeds: Sequence[int] | None = None,
        uniforms: Uniforms = None,
    ) -> Updates:
        before = self.model.seeded.state()
        try:
            with self.model.training() as net:
                result = self._steps(net, theta, batches, learning_rate, uniforms)
        except RuntimeError as error:
            if "randomness" in str(error):
                raise BadInput(_DRAWS) from error
            raise
        if self.model.seeded.state() != before:
            raise BadInput(_DRAWS)
        return result

    def _steps(
        self,
        net: Replica,
        theta: Float[Tensor, "D"],
        batches: Int64[np.ndarray, "n H B"],
        learning_rate: float,
        uniforms: Uniforms,
    ) -> Updates:
        model, data = self.model, self.data

        def loss_of(flat: Tensor, x: Tensor, y: Tensor) -> Tensor:
            output = torch.func.functional_call(net.module, model.split(flat), x)
            return model.loss(output, y, self.recipe.label_smoothing)

        gradient = torch.func.vmap(torch.func.grad_and_value(loss_of))
        flat = theta.expand(len(batches), -1).clone()
        losses, memory = [], Memory()
        for h, index in enumerate(torch.from_numpy(batches).to(theta.device).transpose(0, 1)):
            x = data.train_x[index]
            if uniforms is not None:
                x = self.recipe.augment(x, uniforms[:, h])
            x = data.inputs(x.flatten(0, 1), theta.dtype).view(x.shape)
            step, loss = gradient(flat, x, data.train_y[index])
            self.recipe.step(
                self.rule, [flat], [step], [theta], learning_rate, memory, stacked=True
            )
            losses.append(loss.detach())
        mean = torch.stack(losses).to(torch.float64).mean(dim=0)
        return flat - theta, mean.cpu().numpy()


def fastest(
    model: FlatModel,
    data: Dataset,
    rule: Rule | None = None,
    dropout: Drops = False,
    recipe: Recipe | None = None,
) -> Backend:
    """The fastest backend that can train this model by this rule here.

    Args:
        model: the network as a vector; names its compute device and number type.
        data: the samples.
        rule: what a step does with a gradient; plain SGD unless given.
        dropout: whether the model has dropout.
        recipe: what else makes up a step; nothing unless given.
    """
    dropout = dropout or model.has_dropout
    rule, recipe = rule or PlainSGD(), recipe or Recipe()
    why = why_not(model, data, rule, recipe)
    if why is None:
        return Native(native.describe(model.module, data.shape), data, recipe, rule)
    on_cpu = model.device.type == "cpu"
    if on_cpu and model.dtype == torch.float32:
        _say_once(f"training with PyTorch, not with the native kernel: {shorten(why, _REASON)}")
    kind = Torch if on_cpu or dropout else Stacked
    return kind(model, data, rule, recipe)


def stacked(
    model: FlatModel,
    data: Dataset,
    rule: Rule | None = None,
    dropout: Drops = False,
    recipe: Recipe | None = None,
) -> Backend:
    """`Stacked`, which has no dropout; arguments as for `fastest`."""
    if dropout or model.has_dropout:
        raise BadInput("training.backend = 'stacked': has no dropout; use 'torch'")
    return Stacked(model, data, rule or PlainSGD(), recipe or Recipe())


def compiled(
    model: FlatModel,
    data: Dataset,
    rule: Rule | None = None,
    dropout: Drops = False,
    recipe: Recipe | None = None,
) -> Backend:
    """`Native`, or an error that says why it cannot train this; arguments as for `fastest`."""
    rule, recipe = rule or PlainSGD(), recipe or Recipe()
    why = why_not(model, data, rule, recipe)
    if why is not None:
        raise BadInput(f"training.backend = 'native': {why}; use 'auto' or 'torch'")
    return Native(native.describe(model.module, data.shape), data, recipe, rule)


def in_words(backend: Backend) -> str:
    """Say in one line which backend trains and, if it is not the native one, why.

    Args:
        backend: of local training.
    """
    if backend.name == "native":
        return "training with the native kernel"
    if not isinstance(backend, Torch | Stacked):
        return f"training with backend {backend.name}"
    why = why_not(backend.model, backend.data, backend.rule, backend.recipe)
    because = f"not the native kernel: {why}" if why else "as training.backend says"
    return f"training with backend {backend.name}, {shorten(because, _REASON)}"


@cache
def _say_once(text: str) -> None:
    logging.getLogger("airfeel.backend").warning(text)
