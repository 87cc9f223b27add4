"""A bare FedAvg round as one writes it in PyTorch: a loop over devices, nn.Module and optim.SGD."""

import copy

import torch
from turns import Turns, arguments
from work import load


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    work = load(args)
    net = copy.deepcopy(work.net)

    def round() -> None:
        start = work.net.state_dict()
        total = {name: torch.zeros_like(value) for name, value in start.items()}
        for _ in range(args.devices):
            net.load_state_dict(start)
            work.train(net, args.steps, args.batch, args.rate)
            for name, value in net.state_dict().items():
                total[name] += value
        work.net.load_state_dict({name: value / args.devices for name, value in total.items()})

    Turns().play(round)


if __name__ == "__main__":
    main()
