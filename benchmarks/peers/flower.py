"""A bare FedAvg round of Flower's simulation: one Ray actor a core, each with one CPU."""

import argparse
import os

import ray
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from turns import Turns, arguments
from work import load, load_once


def client(args: argparse.Namespace) -> ClientApp:
    app = ClientApp()
    told = {"work": args.work, "model": args.model, "hidden": args.hidden}
    steps, batch, rate = args.steps, args.batch, args.rate

    @app.train()
    def train(message: Message, context: Context) -> Message:
        work = load_once(**told)
        work.net.load_state_dict(message.content["arrays"].to_torch_state_dict())
        work.train(work.net, steps, batch, rate)
        metrics = MetricRecord({"num-examples": steps * batch})
        said = RecordDict({"arrays": ArrayRecord(work.net.state_dict()), "metrics": metrics})
        return Message(content=said, reply_to=message)

    return app


def server(args: argparse.Namespace) -> ServerApp:
    app, turns = ServerApp(), Turns()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        start = ArrayRecord(load(args).net.state_dict())

        def between(round: int, arrays: ArrayRecord) -> None:
            assert round == 0 or arrays is not start, "no client has answered"
            if round != 1 and not turns.next():  # round 1 starts the actors
                ray.shutdown()
                os._exit(0)

        strategy = FedAvg(fraction_train=1.0, fraction_evaluate=0.0)
        strategy.start(grid, start, num_rounds=10**6, evaluate_fn=between)

    return app


def main() -> None:
    args = arguments()
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - else actors give way to all
    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    own = {"address": "local", "num_cpus": args.threads, "include_dashboard": False}
    run_simulation(
        server_app=server(args),
        client_app=client(args),
        num_supernodes=args.devices,
        backend_config={**resources, "init_args": own},
    )


if __name__ == "__main__":
    main()
