"""A bare FedAvg round of pfl-research; under torchrun the devices are shared among processes."""

import os

import numpy as np
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam.base import NNTrainHyperParams
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel
from torch import Tensor, nn
from torch.nn import functional as F
from turns import Turns, arguments
from work import Work, load


class Module(nn.Module):
    """The network with the loss that pfl asks for."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.net, self.seen = work.net, work.seen

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(self.net(self.seen(x)), y)

    def metrics(self, x: Tensor, y: Tensor) -> dict[str, Weighted]:
        return {"samples": Weighted(len(y), len(y))}  # asked for in the first round only


class Between(TrainingProcessCallback):
    """Waits for the next turn after each round; all processes wait for the first."""

    def __init__(self) -> None:
        self.turns = Turns() if int(os.environ.get("RANK", 0)) == 0 else None

    def after_central_iteration(self, metrics, model, *, central_iteration):
        if self.turns and not self.turns.next():
            os._exit(0)
        if torch.distributed.is_initialized():
            torch.distributed.barrier()
        return False, Metrics()


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    work, size = load(args), args.steps * args.batch
    index = [torch.randint(len(work.y), (size,)) for _ in range(args.devices)]
    users = {n: PyTorchTensorDataset((work.x[i], work.y[i])) for n, i in enumerate(index)}
    sampler = get_user_sampler("minimize_reuse", list(range(args.devices)))
    data = FederatedDataset(lambda n: users[n], sampler)
    module = Module(work)
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
    FederatedAveraging().run(
        algorithm_params=NNAlgorithmParams(10**6, 10**6 + 1, args.devices, None),
        backend=SimulatedBackend(data, data),
        model=model,
        model_train_params=NNTrainHyperParams(
            local_num_epochs=None,
            local_num_steps=args.steps,
            local_batch_size=args.batch,
            local_learning_rate=args.rate,
        ),
        callbacks=[Between()],
    )


if __name__ == "__main__":
    np.random.seed(0)  # noqa: NPY002 - pfl draws from the global generator
    main()
