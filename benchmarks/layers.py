"""What each convolution of the paper's CNN costs in a step: what tiles could still win.

    python benchmarks/layers.py

Forward passes of 3×3 filters go by Winograd's tiles of 2×2 outputs, 16 products where 36 are needed
otherwise. Backward passes go through lists of those outputs that carry a gradient, behind a ReLU
and a 2×2 max-pool. Tiles would need 0.44 of all products, whatever is active, and transforms.
"""

import torch
from speed import photographs, weights
from torch import nn

from airfeel.training.models import make

TILES = 16 / 36


def active(net: nn.Sequential, x: torch.Tensor) -> list[tuple[int, float]]:
    """Of each convolution: products per sample and pass, and its share of active outputs."""
    found = []
    layers = list(net)
    for i, layer in enumerate(layers):
        before, x = x, layer(x)
        if isinstance(layer, nn.Conv2d):
            outputs = nn.Sequential(*layers[i + 1 : i + 3])(x)
            pooled = isinstance(layers[i + 2], nn.MaxPool2d)
            kept = outputs if pooled else layers[i + 1](x)
            products = x[0].numel() * before.shape[1] * layer.kernel_size[0] ** 2
            found.append((products, float((kept > 0).sum()) / x.numel()))
    return found


def main() -> None:
    """A row for each convolution, at initialisation and after 1000 steps of SGD."""
    data = photographs()
    shift, scale = (each.float().reshape(-1, 1, 1) for each in (data.shift, data.scale))
    x = (data.train_x[:1000].float() - shift) * scale
    head = "millions of products", "active at first", "after 1000 steps", "tiles"
    print(f"Data: {data.name}.\n\n| convolution | {' | '.join(head)} |\n|---|---|---|---|---|")
    shares = []
    for steps in (0, 1000):
        net = make("paper-cnn", data.shape, 10, init="default", seed=0)
        nn.utils.vector_to_parameters(weights(data, steps), net.parameters())
        with torch.no_grad():
            shares.append(active(net, x))
    for i, ((products, first), (_, later)) in enumerate(zip(*shares, strict=True), 1):
        print(f"| {i} | {products / 1e6:.2f} | {first:.2f} | {later:.2f} | {TILES:.2f} |")


if __name__ == "__main__":
    main()
