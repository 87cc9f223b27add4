"""Dense arithmetic at its best: as many FLOP as a round's local SGD, as square matrix products."""

import torch
from turns import Turns, arguments
from work import Work, load

SIDE = 1536


def step_flop(work: Work, size: int) -> float:
    """FLOP of one dense SGD step: forward, both gradients; the input needs none."""
    total, x = 0.0, work.seen(work.x[:1])
    for layer in work.net:
        out = layer(x)
        weight = getattr(layer, "weight", None)
        if weight is not None:
            places = out.numel() / weight.shape[0]
            total += 2 * weight.numel() * places * (3 if total else 2)
        x = out
    return total * size


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    with torch.no_grad():
        flop = step_flop(load(args), args.batch) * args.devices * args.steps
    a, b, c = (torch.randn(SIDE, SIDE) for _ in range(3))
    count = 20
    share = flop / (count * 2 * SIDE**3)
    turns = Turns()
    while turns.next(factor=share, gflop=flop / args.devices / args.steps / 1e9):
        for _ in range(count):
            torch.mm(a, b, out=c)


if __name__ == "__main__":
    main()
