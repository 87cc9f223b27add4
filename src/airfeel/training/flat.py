"""A network as a function of one flat parameter vector theta [D]."""

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from airfeel.training.dropout import Dropout
from airfeel.training.global_rng import SeededWork, warn_of_evaluation
from airfeel.types import BadInput, Dataset, Scores, Spread

_TEST_BATCH = 500


@dataclass(frozen=True)
class Replica:
    """A private copy of the network whose parameters are views into one flat vector."""

    module: nn.Module
    flat: Float[Tensor, "D"]
    parameters: list[Tensor]

    def __call__(self, x: Tensor) -> Tensor:
        return self.module(x)


class FlatModel:
    """The trainable parameters of a module, in the module's own order, as one vector.

    Only parameters are trained, compressed and sent. Modules with buffers have state that no update
    carries; they are refused unless `buffers = "frozen"`, which keeps every buffer at its initial
    value. Running statistics of batch norm are refused always: frozen, they would normalize by
    mean 0 and variance 1. The module is in training mode while it trains, else in evaluation mode.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        classes: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        buffers: str = "refuse",
    ) -> None:
        _check(module, buffers)
        self.module = module.eval().to(device=device, dtype=dtype)
        self.dtype = dtype
        self.device = torch.device(device)
        self.classes = classes
        self.shapes = [p.shape for p in self._trained(self.module)]
        self.sizes = [s.numel() for s in self.shapes]
        self.names = [n for n, p in self.module.named_parameters() if p.requires_grad]
        self.dim = sum(self.sizes)
        self._convolves = any(isinstance(part, nn.Conv2d) for part in module.modules())
        if self.dim == 0:
            raise BadInput("model: has no trainable parameter; at least one is needed")
        self.has_dropout = any(_drops(part) for part in module.modules())
        self.seeded = SeededWork(self.device)
        self._local = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """All but the threads' replicas: another process makes its own."""
        return {name: value for name, value in vars(self).items() if name != "_local"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _local=threading.local())

    @staticmethod
    def _trained(module: nn.Module) -> list[nn.Parameter]:
        return [p for p in module.parameters() if p.requires_grad]

    def initial(self) -> Float[Tensor, "D"]:
        """The vector the module was made with."""
        return torch.cat([p.detach().flatten() for p in self._trained(self.module)])

    def split(self, theta: Float[Tensor, "D"]) -> dict[str, Tensor]:
        """Views into a vector as the module's trainable parameters, by name."""
        parts = torch.split(theta, self.sizes)
        shaped = (part.view(shape) for part, shape in zip(parts, self.shapes, strict=True))
        return dict(zip(self.names, shaped, strict=True))

    def laid_out(self, x: Tensor) -> Tensor:
        """Inputs in the memory order that convolutions on a CPU are fastest with."""
        return x.contiguous(memory_format=torch.channels_last) if self._convolves else x

    def named(self, theta: Float[Tensor, "D"]) -> dict[str, Tensor]:
        """Copies on the CPU as the module's parameters, by name; `load_state_dict` takes them."""
        return {name: part.clone().cpu() for name, part in self.split(theta).items()}

    def replica(self) -> Replica:
        """This thread's own copy of the network; its `flat` may be written to."""
        replica: Replica | None = getattr(self._local, "replica", None)
        if replica is None:
            replica = self._local.replica = self._make()
        return replica

    @contextmanager
    def training(self) -> Iterator[Replica]:
        """This thread's own copy in training mode; it must leave all buffers as they were."""
        net = self.replica()
        net.module.train()
        try:
            yield net
        finally:
            net.module.eval()
        for (name, own), initial in zip(
            net.module.named_buffers(), self.module.buffers(), strict=True
        ):
            if not torch.equal(own, initial):
                own.copy_(initial)
                raise BadInput(
                    f"model.buffers = 'frozen': training changed the buffer {name}, which no "
                    "update carries; use a model whose buffers are constants"
                )

    def _make(self) -> Replica:
        module = copy.deepcopy(self.module)
        flat = self.initial()
        parameters = self._trained(module)
        for p, view, shape in zip(
            parameters, torch.split(flat, self.sizes), self.shapes, strict=True
        ):
            p.data = view.view(shape)
        return Replica(module, flat, list(parameters))

    def loss(self, output: Tensor, target: Tensor, smoothing: float = 0.0) -> Tensor:
        """Mean cross-entropy; half the mean squared error where the target is a number.

        smoothing: of the labels, as for torch.nn.CrossEntropyLoss.
        """
        if self.classes:
            return F.cross_entropy(output, target, label_smoothing=smoothing)
        return 0.5 * F.mse_loss(output.squeeze(-1), target.to(output.dtype))

    def evaluate(
        self, data: Dataset, theta: Float[Tensor, "D"], spread: Spread = map
    ) -> tuple[float, float]:
        """Share of the test set that is classified rightly (NaN for regression), and its mean loss.

        `spread` maps a function over batches, perhaps on several threads; sums are made in batch
        order.
        """

        @torch.no_grad()
        def batch(start: int) -> Scores:
            net = self.replica()
            net.flat.copy_(theta)
            part = slice(start, start + _TEST_BATCH)
            target = data.test_y[part]
            output = net(self.laid_out(data.inputs(data.test_x[part], self.dtype)))
            hits = int((output.argmax(dim=-1) == target).sum()) if self.classes else 0
            return hits, float(self.loss(output, target)) * len(target)

        before = self.seeded.state()
        rows = list(spread(batch, range(0, len(data.test_y), _TEST_BATCH)))
        if self.seeded.state() != before:
            warn_of_evaluation()
        total = len(data.test_y)
        accuracy = sum(hits for hits, _ in rows) / total if self.classes else float("nan")
        return accuracy, sum(loss for _, loss in rows) / total


def _check(module: nn.Module, buffers: str) -> None:
    for name, part in module.named_modules():
        if isinstance(part, _NormBase) and part.running_mean is not None:
            raise BadInput(
                f"model.buffers = {buffers!r}: {name or 'the model'} is {type(part).__name__}, "
                "whose running statistics no update carries; use GroupNorm, LayerNorm, or "
                "track_running_stats=False"
            )
    names = [name for name, _ in module.named_buffers()]
    if names and buffers != "frozen":
        raise BadInput(
            f"model.buffers = {buffers!r}: the model has buffers ({', '.join(names[:3])}) that no "
            'update carries; use "frozen" where they are constants'
        )


def _drops(part: nn.Module) -> bool:
    return isinstance(part, Dropout | nn.modules.dropout._DropoutNd) and part.p > 0
