"""From an nn.Sequential to the layer descriptions that the native kernel reads."""

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field, replace
from enum import IntEnum

import numpy as np
from jaxtyping import Bool, Float32, Int64
from torch import Tensor, nn

from airfeel.training.dropout import Dropout, MaskNumbers, kept
from airfeel.types import BadInput

Shape = tuple[int, int, int]
LARGEST = 2**30  # floats in one layer's image or weights: the kernel counts them in 32 bits,
MOST_OUTPUTS = 2**16  # and the outputs of a convolution in 16


class Unsupported(BadInput):
    """A network that the native kernel cannot train; the message says which part and why."""


class Kind(IntEnum):
    """What a layer does before its ReLU and its pooling."""

    PASS = 0
    CONV = 1
    LINEAR = 2


@dataclass(frozen=True)
class Layer:
    """A layer with ReLU, max-pool and dropout behind it; the kernel's `Layer`, field by field."""

    kind: Kind
    channels: int
    height: int
    width: int
    outputs: int
    kernel: int = 1
    padding: int = 0
    bias: bool = False
    relu: bool = False
    pool: bool = False
    drop: bool = False

    @property
    def out(self) -> Shape:
        """Shape of the output: channels, height, width."""
        if self.kind == Kind.LINEAR:
            return (self.outputs, 1, 1)
        grow = 2 * self.padding - self.kernel + 1
        shrink = 2 if self.pool else 1
        return (self.outputs, (self.height + grow) // shrink, (self.width + grow) // shrink)

    @property
    def parameters(self) -> int:
        """Weights and biases."""
        if self.kind == Kind.PASS:
            return 0
        area = self.height * self.width if self.kind == Kind.LINEAR else self.kernel**2
        return self.outputs * (self.channels * area + self.bias)


@dataclass(frozen=True)
class Place:
    """A dropout behind a layer.

    p: share of units dropped. coarse: as for `Dropout`. shape: of the units, as PyTorch has them.
    image: the same as channels, height, width.
    """

    p: float
    coarse: bool
    shape: tuple[int, ...]
    image: Shape

    def draw(self, batch: int, numbers: MaskNumbers) -> Bool[Tensor, "B height width channels"]:
        """Draw which units are kept, as PyTorch's backend does, in the kernel's order."""
        keep = kept((batch, *self.shape), self.p, self.coarse, numbers)
        return keep.reshape(batch, *self.image).movedim(1, -1)


@dataclass(frozen=True)
class Network:
    """A sequential network as the kernel reads it."""

    layers: tuple[Layer, ...]
    places: tuple[Place, ...] = ()
    table: Int64[np.ndarray, "layers fields"] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rows = [[int(value) for value in astuple(layer)] for layer in self.layers]
        object.__setattr__(self, "table", np.array(rows, dtype=np.int64))

    @property
    def shape(self) -> Shape:
        """Shape of one sample: channels, height, width."""
        first = self.layers[0]
        return (first.channels, first.height, first.width)

    @property
    def classes(self) -> int:
        return self.layers[-1].outputs

    @property
    def units(self) -> int:
        """Units of one sample that may be dropped."""
        return sum(math.prod(place.image) for place in self.places)

    @property
    def scales(self) -> Float32[np.ndarray, "places"]:
        """What units that are kept are multiplied by, at each place."""
        return np.array([1.0 / (1.0 - place.p) for place in self.places], np.float32)

    @property
    def parameters(self) -> int:
        """D, the length of the flat parameter vector."""
        return sum(layer.parameters for layer in self.layers)


def describe(module: nn.Module, shape: Shape) -> Network:
    """The kernel's view of a network on samples of `shape` (channels, height, width).

    The network is a nested nn.Sequential of Conv2d (square, stride 1), ReLU, MaxPool2d(2), Flatten,
    Linear, Identity, airfeel's Dropout behind one of these, and other dropout with p = 0. It ends
    in logits; else this raises `Unsupported`.

    >>> cnn = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))
    >>> net = describe(cnn, (1, 8, 8))
    >>> [(layer.kind.name, layer.out, layer.relu) for layer in net.layers], net.parameters
    ([('CONV', (4, 6, 6), True), ('LINEAR', (10, 1, 1), False)], 1490)
    """
    if len(shape) != 3 or min(shape) < 1:
        raise Unsupported(f"shape: {shape} is not (channels, height, width), each at least 1")
    layers: list[Layer] = []
    places: list[Place] = []
    flat = False
    for name, leaf in _leaves(module, ""):
        kind = type(leaf).__name__ if next(leaf.children(), None) else str(leaf)
        where = f"{name or 'module'} ({kind})"
        before = shape if not layers else layers[-1].out
        if type(leaf) is Dropout and leaf.p > 0:
            places.append(_drop(layers, leaf, where, before, flat))
        else:
            flat = _append(layers, leaf, where, before, flat)
    if not layers or layers[-1].kind != Kind.LINEAR:
        raise Unsupported("module: the last layer must be Linear, giving one logit for each class")
    network = Network(tuple(layers), tuple(places))
    _check_parameters(network, module)
    return network


def _leaves(module: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    if type(module) is not nn.Sequential:
        yield name, module
        return
    for place, child in enumerate(module):
        yield from _leaves(child, f"{name}.{place}" if name else f"{place}")


def _append(layers: list[Layer], leaf: nn.Module, where: str, shape: Shape, flat: bool) -> bool:
    """Add a leaf to the layers, or to the last of them; returns whether its output is flat."""
    if type(leaf) is nn.Conv2d:
        layers.append(_conv(leaf, where, shape, flat))
    elif type(leaf) is nn.Linear:
        layers.append(_linear(leaf, where, shape, flat))
    elif type(leaf) is nn.ReLU:
        _append_relu(layers, shape)
    elif type(leaf) is nn.MaxPool2d:
        _append_pool(layers, leaf, where, shape, flat)
    elif type(leaf) is nn.Flatten:
        _require((leaf.start_dim, leaf.end_dim) == (1, -1), where, "must flatten all but the batch")
        return True
    elif not _does_nothing(leaf):
        raise Unsupported(
            f"{where}: not one of Conv2d, ReLU, MaxPool2d, Flatten, Linear, Identity, "
            "nn.Dropout(0), airfeel.training.models.Dropout"
        )
    return flat


def _conv(leaf: nn.Conv2d, where: str, shape: Shape, flat: bool) -> Layer:
    k = leaf.kernel_size[0]
    same = {"valid": 0, "same": (k - 1) // 2}
    padding = same[leaf.padding] if isinstance(leaf.padding, str) else leaf.padding[0]
    _require(not flat, where, "stands behind a Flatten")
    _require(leaf.kernel_size == (k, k), where, "the kernel must be square")
    _require(leaf.padding != "same" or k % 2 == 1, where, "padding 'same' needs an odd kernel")
    _require(isinstance(leaf.padding, str) or leaf.padding == (padding, padding), where,
             "padding must be the same on all sides")  # fmt: skip
    _require(leaf.padding_mode == "zeros", where, "padding must be with zeros")
    _require(leaf.stride == (1, 1), where, "stride must be 1")
    _require(leaf.dilation == (1, 1) and leaf.groups == 1, where, "dilation and groups must be 1")
    _require(leaf.in_channels == shape[0], where, f"its input has {shape[0]} channels")
    return _fits(
        Layer(Kind.CONV, *shape, leaf.out_channels, k, padding, bias=leaf.bias is not None), where
    )


def _linear(leaf: nn.Linear, where: str, shape: Shape, flat: bool) -> Layer:
    features = shape[0] * shape[1] * shape[2]
    _require(flat or shape[1:] == (1, 1), where, "its input must be flattened first")
    _require(leaf.in_features == features, where, f"its input has {features} features")
    return _fits(Layer(Kind.LINEAR, *shape, leaf.out_features, bias=leaf.bias is not None), where)


def _append_relu(layers: list[Layer], shape: Shape) -> None:
    """A ReLU commutes with a max-pool, in value and in gradient: the last layer takes it anyway."""
    if layers:
        layers[-1] = replace(layers[-1], relu=True)
    else:
        layers.append(Layer(Kind.PASS, *shape, shape[0], relu=True))


def _append_pool(
    layers: list[Layer], leaf: nn.MaxPool2d, where: str, shape: Shape, flat: bool
) -> None:
    _require(not flat, where, "stands behind a Flatten")
    two = (2, (2, 2))
    _require(leaf.kernel_size in two and leaf.stride in two, where, "kernel and stride must be 2")
    plain = leaf.padding in (0, (0, 0)) and leaf.dilation in (1, (1, 1))
    _require(plain and not leaf.ceil_mode and not leaf.return_indices, where,
             "must have no padding, dilation, ceil_mode or return_indices")  # fmt: skip
    if layers and not layers[-1].pool and not layers[-1].drop:
        layers[-1] = _fits(replace(layers[-1], pool=True), where)
    else:
        layers.append(_fits(Layer(Kind.PASS, *shape, shape[0], pool=True), where))


def _drop(layers: list[Layer], leaf: Dropout, where: str, image: Shape, flat: bool) -> Place:
    """Add dropout to the last layer. It commutes with a ReLU behind it."""
    _require(bool(layers), where, "stands before the first layer")
    _require(not layers[-1].drop, where, "stands behind another dropout")
    layers[-1] = replace(layers[-1], drop=True)
    one_axis = flat or layers[-1].kind == Kind.LINEAR
    return Place(leaf.p, leaf.coarse, (math.prod(image),) if one_axis else image, image)


def _does_nothing(leaf: nn.Module) -> bool:
    return type(leaf) is nn.Identity or (
        "Dropout" in type(leaf).__name__ and getattr(leaf, "p", None) == 0
    )


def _fits(layer: Layer, where: str) -> Layer:
    """The layer, unless its output vanishes or something in it is too large to be counted."""
    _require(
        min(layer.out) >= 1, where, f"nothing is left of its {layer.height}×{layer.width} input"
    )
    image = (layer.height + 2 * layer.padding) * (layer.width + 2 * layer.padding)
    widest = max(layer.channels, layer.outputs) + 16
    weights = layer.outputs * widest * layer.kernel**2
    few = layer.kind != Kind.CONV or layer.outputs < MOST_OUTPUTS
    fits = max(image * widest, weights, layer.parameters) < LARGEST
    _require(few and fits, where, "it is too large")
    return layer


def _check_parameters(network: Network, module: nn.Module) -> None:
    """The flat vector holds every layer's parameters once, and all of them are trained."""
    sizes = [p.numel() for p in module.parameters()]
    if sum(sizes) != network.parameters:
        raise Unsupported("module: layers share parameters, or hold some that are not theirs")
    if not all(p.requires_grad for p in module.parameters()):
        raise Unsupported("module: some parameters are frozen (requires_grad is False)")


def _require(legal: bool, where: str, reason: str) -> None:
    if not legal:
        raise Unsupported(f"{where}: {reason}")
