"""What server and clients have in common: the settings, and a model as Flower's arrays."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import torch
from flwr.app import ArrayRecord

from airfeel.build.setup import Setup, build
from airfeel.settings.load import experiment


def setup_of(run_config: Mapping[str, Any]) -> Setup:
    """The library's own setup, from settings such as `training.devices`."""
    table: dict[str, dict[str, Any]] = {}
    for key, value in run_config.items():
        section, dot, name = key.partition(".")
        if dot:
            table.setdefault(section, {})[name] = value
    return build(experiment(table))


def arrays_of(setup: Setup, theta: torch.Tensor) -> ArrayRecord:
    """A parameter vector as the model's named arrays."""
    return ArrayRecord(torch_state_dict=OrderedDict(setup.world.model.named(theta)))


def vector_of(setup: Setup, arrays: ArrayRecord) -> torch.Tensor:
    """Named arrays as one parameter vector, where the model computes."""
    parts = [part.flatten() for part in arrays.to_torch_state_dict().values()]
    return torch.cat(parts).to(setup.world.model.device)
