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

from airfeel.learn import native
from airfeel.learn.flat import FlatModel, Replica
from airfeel.learn.look import NativeLook, serves
from airfeel.learn.models import dropout_dice
from airfeel.learn.rules import Memory, PlainSGD, Rule
from airfeel.ranges import about
from airfeel.types import BadInput, Dataset

Drops = Annotated[bool, about("whether the model has dropout")]

_STACK_BYTES = 2**28  # of parameters and gradients in a block of stacked devices
_DRAWS = "training.backend = 'stacked': the model draws random numbers in training; use 'torch'"
_BLOCK_BYTES = 2**23  # of updates that native devices make in one call: each call costs some steps
_Out = tuple[Float[Tensor, "n D"], Float64[np.ndarray, "n"]]


@runtime_checkable
class Backend(Protocol):
    """local_sgd(theta, batches, …) → Δ [n D] and the mean batch loss [n].

    theta: w, the global model. batches: sample indices, H steps of B samples for each device.
    learning_rate: η. seeds: one for each device's dropout masks; None without dropout.
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
    ) -> _Out: ...


@dataclass(frozen=True)
class Torch:
    """One device after the other: any module, any compute device, any rule, dropout.

    model: the network as a vector. data: the samples. rule: what a step does with a gradient.
    """

    model: FlatModel
    data: Dataset
    rule: Rule = field(default_factory=PlainSGD)
    name: ClassVar[str] = "torch"
    block: ClassVar[int] = 1

    def __call__(
        self,
        theta: Float[Tensor, "D"],
        batches: Int64[np.ndarray, "n H B"],
        learning_rate: float,
        seeds: Sequence[int] | None = None,
    ) -> _Out:
        delta = theta.new_empty((len(batches), len(theta)))
        loss = np.empty(len(batches))
        for n, steps in enumerate(torch.from_numpy(batches).to(theta.device)):
            seed = None if seeds is None else seeds[n]
            work = partial(self._device, theta, steps, learning_rate, seed, delta[n])
            loss[n] = self.model.seeded(work, seed or 0)
        return delta, loss

    def _device(
        self,
        theta: Float[Tensor, "D"],
        steps: Int64[Tensor, "H B"],
        learning_rate: float,
        seed: int | None,
        out: Float[Tensor, "D"],
    ) -> float:
        dice = None if seed is None else torch.Generator().manual_seed(seed)
        token = dropout_dice.set(dice)
        try:
            with self.model.training() as net:
                return self._steps(net, theta, steps, learning_rate, out)
        finally:
            dropout_dice.reset(token)

    def _steps(
        self,
        net: Replica,
        theta: Float[Tensor, "D"],
        steps: Int64[Tensor, "H B"],
        learning_rate: float,
        out: Float[Tensor, "D"],
    ) -> float:
        data = self.data
        net.flat.copy_(theta)
        start, memory = list(self.model.split(theta).values()), Memory()
        losses = []
        for index in steps:
            x = data.inputs(data.train_x[index], theta.dtype)
            loss = self.model.loss(net(self.model.laid_out(x)), data.train_y[index])
            gradient = torch.autograd.grad(loss, net.parameters)
            with torch.no_grad():
                self.rule(net.parameters, gradient, start, learning_rate, memory)
            losses.append(loss.detach())
        torch.sub(net.flat, theta, out=out)
        return float(torch.stack(losses).to(torch.float64).mean())


@dataclass(frozen=True)
class Stacked:
    """All devices of a block advance together: vmap of the gradient over the devices.

    model: the network as a vector. data: the samples. rule: what a step does with a gradient.
    """

    model: FlatModel
    data: Dataset
    rule: Rule = field(default_factory=PlainSGD)
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
    ) -> _Out:
        before = self.model.seeded.state()
        try:
            with self.model.training() as net:
                result = self._steps(net, theta, batches, learning_rate)
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
    ) -> _Out:
        model, data = self.model, self.data

        def loss_of(flat: Tensor, x: Tensor, y: Tensor) -> Tensor:
            return model.loss(torch.func.functional_call(net.module, model.split(flat), x), y)

        gradient = torch.func.vmap(torch.func.grad_and_value(loss_of))
        flat = theta.expand(len(batches), -1).clone()
        losses, memory = [], Memory()
        for index in torch.from_numpy(batches).to(theta.device).transpose(0, 1):
            x = data.train_x[index]
            x = data.inputs(x.flatten(0, 1), theta.dtype).view(x.shape)
            step, loss = gradient(flat, x, data.train_y[index])
            self.rule([flat], [step], [theta], learning_rate, memory)
            losses.append(loss.detach())
        mean = torch.stack(losses).to(torch.float64).mean(dim=0)
        return flat - theta, mean.cpu().numpy()


@dataclass(frozen=True)
class Native:
    """The C++ kernel, plain SGD alone; one core per call.

    network: the layers as the kernel reads them. data: the samples.
    """

    network: native.Network
    data: Dataset
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
    ) -> _Out:
        data = self.data
        shift, scale = data.shift.float(), data.scale.float()
        delta, loss = native.local_sgd(
            self.network, theta, data.train_x, data.train_y, batches, learning_rate, shift, scale
        )
        return delta, loss.numpy()


def fastest(
    model: FlatModel, data: Dataset, rule: Rule | None = None, dropout: Drops = False
) -> Backend:
    """The fastest backend that can train this model by this rule here.

    Args:
        model: the network as a vector; names its compute device and number type.
        data: the samples.
        rule: what a step does with a gradient; plain SGD unless given.
        dropout: whether the model has dropout.
    """
    rule = PlainSGD() if rule is None else rule
    dropout = dropout or model.has_dropout
    why = _not_native(model, data, rule, dropout)
    if why is None:
        return Native(native.describe(model.module, data.shape), data)
    on_cpu = model.device.type == "cpu"
    if on_cpu and model.dtype == torch.float32 and not dropout:
        _say_once(f"the native backend cannot be used ({why}); training with PyTorch instead")
    return Torch(model, data, rule) if on_cpu or dropout else Stacked(model, data, rule)


def stacked(
    model: FlatModel, data: Dataset, rule: Rule | None = None, dropout: Drops = False
) -> Backend:
    """`Stacked`, which has no dropout; arguments as for `fastest`."""
    if dropout or model.has_dropout:
        raise BadInput("training.backend = 'stacked': has no dropout; use 'torch'")
    return Stacked(model, data, PlainSGD() if rule is None else rule)


def compiled(
    model: FlatModel, data: Dataset, rule: Rule | None = None, dropout: Drops = False
) -> Backend:
    """`Native`, or an error that says why it cannot train this; arguments as for `fastest`."""
    why = _not_native(model, data, PlainSGD() if rule is None else rule, dropout)
    if why is not None:
        raise BadInput(f"training.backend = 'native': {why}; use 'auto' or 'torch'")
    return Native(native.describe(model.module, data.shape), data)


def _not_native(model: FlatModel, data: Dataset, rule: Rule, dropout: bool) -> str | None:
    """Why the kernel cannot train this model by this rule; None if it can."""
    if not isinstance(rule, PlainSGD):
        return f"it knows plain SGD, not {type(rule).__name__}"
    if model.device.type != "cpu" or model.dtype != torch.float32:
        return f"it computes in float32 on the CPU, not in {model.dtype} on {model.device}"
    if dropout:
        return "it has no dropout"
    if not model.classes or data.train_x.dtype not in (torch.uint8, torch.float32):
        return "it trains classifiers on uint8 or float32 inputs"
    try:
        native.describe(model.module, data.shape)
    except native.Unsupported as error:
        return str(error)
    return native.KERNEL.missing


@cache
def _say_once(text: str) -> None:
    logging.getLogger("airfeel").warning(text)
