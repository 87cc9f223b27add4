"""The networks that come with the package, each a function of the input's shape and the classes.

shape: channels, height and width of one sample. classes: one output each; 0 for regression.
"""

import inspect
import threading
from typing import Annotated

import torch
from torch import nn

from airfeel.catalogue import Table
from airfeel.catalogues import MODELS
from airfeel.errors import quote, reason
from airfeel.ranges import Below1, Count, about
from airfeel.training.dropout import Dropout as Dropout
from airfeel.types import BadInput

Shape = tuple[int, int, int]
Drop = Annotated[
    Below1 | tuple[Below1, ...], about("share of units dropped in training, or one for each place")
]
Hidden = Annotated[Count, about("hidden units")]
_DICE = threading.Lock()  # of torch's default generator, which all threads of a process share


def paper_cnn(shape: Shape, classes: int, *, dropout: Drop = 0.0) -> nn.Module:
    """The paper's network: 258 898 parameters for 3×32×32 inputs and 10 classes (section V).

    Dropout has three places: after each pooling, and before the last layer.

    >>> sum(p.numel() for p in paper_cnn((3, 32, 32), 10).parameters())
    258898
    """
    c, h, w = shape
    _classifies("paper-cnn", classes)
    side = [((n - 4) // 2 - 4) // 2 for n in (h, w)]
    _fits("paper-cnn", shape, min(side) >= 1, "at least 16 × 16")
    first, second, last = _dropouts("paper-cnn", dropout, 3)
    return nn.Sequential(
        *(nn.Conv2d(c, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *first,
        *(nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *second,
        *(nn.Flatten(), nn.Linear(64 * side[0] * side[1], 120), nn.ReLU()),
        *last,
        nn.Linear(120, classes),
    )


def small_cnn(shape: Shape, classes: int, *, dropout: Drop = 0.0) -> nn.Module:
    """Two padded convolutions (16 and 32 channels) with pooling: for digits and Fashion-MNIST.

    Dropout has two places: after each pooling; the last layer follows the second.
    """
    c, h, w = shape
    _classifies("small-cnn", classes)
    _fits("small-cnn", shape, min(h, w) >= 4, "at least 4 × 4")
    first, last = _dropouts("small-cnn", dropout, 2)
    return nn.Sequential(
        *(nn.Conv2d(c, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *first,
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *last,
        nn.Flatten(),
        nn.Linear(32 * (h // 4) * (w // 4), classes),
    )


def mlp(shape: Shape, classes: int, *, hidden: Hidden = 64, dropout: Drop = 0.0) -> nn.Module:
    """One hidden layer with ReLU; one output where the targets are numbers.

    Dropout has one place: before the last layer.
    """
    (last,) = _dropouts("mlp", dropout, 1)
    inputs = shape[0] * shape[1] * shape[2]
    return nn.Sequential(
        *(nn.Flatten(), nn.Linear(inputs, hidden), nn.ReLU()),
        *last,
        nn.Linear(hidden, classes or 1),
    )


def logistic(shape: Shape, classes: int) -> nn.Module:
    """Softmax regression: convex."""
    _classifies("logistic", classes)
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[0] * shape[1] * shape[2], classes))


def linear(shape: Shape, classes: int) -> nn.Module:
    """Linear regression with squared error, for data whose targets are numbers."""
    if classes:
        raise BadInput(f"model.name = 'linear': data with {classes} classes; use 'logistic'")
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[0] * shape[1] * shape[2], 1))


def make(
    name: str,
    shape: Shape,
    classes: int,
    *,
    init: str,
    seed: int,
    hidden: int = 64,
    dropout: float | tuple[float, ...] = 0.0,
    options: Table | None = None,
) -> nn.Module:
    """The model `name` initialised from `seed`; `options` are for a user's `module:factory`.

    Args:
        name: in the catalogue, or `module:factory`.
        shape: channels, height and width of one sample.
        classes: one output each; 0 where targets are numbers.
        init: "default" (PyTorch's), "xavier", "kaiming" or "zeros".
        seed: of the initial weights.
        hidden: hidden units, for models that have such.
        dropout: share of units dropped in training, likewise; a number is for the last place.
        options: arguments of a user's factory.

    >>> sum(p.numel() for p in make("mlp", (1, 8, 8), 10, init="zeros", seed=0).parameters())
    4810
    """
    factory = MODELS.find(name)
    arguments = dict(options or {})
    if name in MODELS:
        if arguments:
            raise BadInput(f"model.options: {name!r} takes none; they are for module:factory")
        settings = {"hidden": hidden, "dropout": dropout}
        takes = inspect.signature(factory).parameters
        arguments = {key: value for key, value in settings.items() if key in takes}
    if isinstance(dropout, tuple) and "dropout" not in arguments:
        raise BadInput(
            f"model.dropout = {quote(list(dropout))}: model.name = {quote(name)} has no places for "
            "dropout, must be a number"
        )
    with _DICE, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            module = factory(shape, classes, **arguments)
        except BadInput:
            raise
        except Exception as error:  # also "no memory", for which torch has no type of its own
            raise BadInput(
                f"model.name = {quote(name)}: cannot be made ({reason(error)})"
            ) from error
        if not isinstance(module, nn.Module):
            other = type(module).__name__
            raise BadInput(f"model.name = {quote(name)}: must make an nn.Module, made {other}")
        _initialise(module, init)
    return module


def size(name: str, shape: Shape, classes: int, hidden: int = 64) -> int:
    """D of a model of the catalogue, made without its weights; 0 for a user's own.

    >>> size("mlp", (1, 8, 8), 10), size("mlp", (1, 8, 8), 10, hidden=10**9)
    (4810, 75000000010)
    """
    if name not in MODELS:
        return 0
    try:
        with torch.device("meta"):
            module = make(name, shape, classes, init="default", seed=0, hidden=hidden)
    except BadInput as error:
        if isinstance(error.__cause__, RuntimeError | OverflowError):
            what = reason(error.__cause__)
            raise BadInput(f"model.hidden = {hidden}: too large for any machine ({what})") from None
        raise
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


def _initialise(module: nn.Module, init: str) -> None:
    """Glorot and Bengio 2010 (uniform), He et al. 2015 (normal, variance 2/fan_in), or zeros.

    Biases are zero. With "kaiming" other vectors, such as the scales of a norm, stay as they are.
    """
    if init == "default":
        return
    for name, p in module.named_parameters():
        if init == "kaiming" and p.dim() > 1:
            nn.init.kaiming_normal_(p, mode="fan_in", nonlinearity="relu")
        elif init == "kaiming" and not name.endswith("bias"):
            continue
        elif init == "xavier" and p.dim() > 1:
            nn.init.xavier_uniform_(p)
        else:
            nn.init.zeros_(p)


def _dropouts(name: str, shares: float | tuple[float, ...], places: int) -> list[list[nn.Module]]:
    """Return what stands at each place: one share is for the last place, a tuple for all."""
    if not isinstance(shares, tuple):
        return [*[[] for _ in range(places - 1)], [Dropout(shares)] if shares else []]
    if len(shares) != places:
        raise BadInput(
            f"model.dropout = {quote(list(shares))}: has {len(shares)} values, model.name = "
            f"{name!r} takes one number or a list of {places}, one for each place"
        )
    return [[Dropout(p, coarse=True)] if p else [] for p in shares]


def _fits(name: str, shape: Shape, fits: bool, legal: str) -> None:
    if not fits:
        raise BadInput(
            f"model.name = {name!r}: needs inputs of {legal}, got {shape[1]} × {shape[2]}"
        )


def _classifies(name: str, classes: int) -> None:
    if classes == 0:
        raise BadInput(f"model.name = {name!r}: classifies, but the data's targets are numbers")
