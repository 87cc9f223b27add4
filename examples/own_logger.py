"""Watch a run with a logger of one's own: three methods, so that W&B or MLflow join in a few lines.

python examples/own_logger.py
"""

from typing import Any

import airfeel


class Printer:
    """Replace the prints by wandb.init, wandb.log and wandb.finish, and the run is in W&B."""

    def begin(self, experiment: airfeel.Experiment, world: airfeel.World) -> None:
        print(f"{experiment.scheme.name} on {world.devices} devices, {world.dim} parameters")

    def row(self, row: dict[str, Any]) -> None:
        print(f"round {row['round']}: accuracy {row['test_accuracy']:.3f}")

    def end(self, summary: dict[str, Any]) -> None:
        print(f"ended by {summary['reason']} after {summary['resource_blocks']:,} resource blocks")


if __name__ == "__main__":
    airfeel.run(airfeel.load("digits-tcs-h", ["training.rounds=5"]), watchers=[Printer()])
