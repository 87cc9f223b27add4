"""The wrapped strategy: its last word on a round, and what it remembers, FedAdam's moments say."""

import dataclasses
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import Strategy
from torch import Tensor

from airfeel.flower.fleet import Broadcast
from airfeel.types import State


def last_word(
    inner: Strategy,
    server_round: int,
    model: Broadcast,
    after: State,
    reply: Message,
    mean: MetricRecord,
) -> tuple[State | None, MetricRecord | None]:
    """It sees one reply, the aggregated model, and makes the new one of it; None if it does not.

    reply: that of a node, whose content is replaced. mean: of the metrics of all that were heard.
    """
    offered = after.theta.numpy()
    reply.content = RecordDict({"arrays": model.layout.record(offered), "metrics": mean})
    arrays, metrics = inner.aggregate_train(server_round, [reply])
    if arrays is None:
        told = "the wrapped strategy made no model of this round: it is not counted"
        logging.getLogger("airfeel").warning(told)
        return None, None
    made = model.layout.vector(arrays).astype(offered.dtype)  # some compute in float64
    if np.array_equal(made, offered):
        return after, metrics
    update = made - model.theta  # what everyone can add to the model that they hold
    theta = torch.from_numpy(model.theta + update)
    return dataclasses.replace(after, theta=theta, update=torch.from_numpy(update)), metrics


def numbers(inner: Strategy) -> dict[str, int | float]:
    """Its attributes that are numbers, by name."""
    found = {path: getattr(owner, name) for path, owner, name in _attributes(inner)}
    return {path: value for path, value in found.items() if isinstance(value, int | float)}


def remembered(
    inner: Strategy, first: Mapping[str, int | float]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Arrays by the names that they are kept by; and how to put them back, and its numbers.

    first: its numbers before training; those that are still the same are settings.
    """
    arrays: dict[str, Tensor] = {}
    moved = {path: value for path, value in numbers(inner).items() if first.get(path) != value}
    facts: dict[str, Any] = {"kinds": {}, "numbers": moved}
    for path, owner, name in _attributes(inner):
        value = getattr(owner, name)
        if (parts := _parts(value)) is not None:
            facts["kinds"][path] = [type(value).__name__, list(parts)]
            arrays |= {f"{path}.{i}": torch.tensor(a) for i, a in enumerate(parts.values())}
    return arrays, facts


def remind(inner: Strategy, arrays: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Put back what it remembered."""
    for path, owner, name in _attributes(inner):
        if path in facts["numbers"]:
            setattr(owner, name, facts["numbers"][path])
        elif path in facts["kinds"]:
            kind, names = facts["kinds"][path]
            found = {n: arrays[f"{path}.{i}"].numpy().copy() for i, n in enumerate(names)}
            setattr(owner, name, _whole(kind, found))


def _attributes(inner: Strategy, prefix: str = "") -> Iterator[tuple[str, Strategy, str]]:
    """Every attribute, also of strategies within, with its name from the outermost."""
    for name, value in list(vars(inner).items()):
        yield f"{prefix}{name}", inner, name
        if isinstance(value, Strategy):
            yield from _attributes(value, f"{prefix}{name}/")


def _parts(value: object) -> dict[str, np.ndarray] | None:
    """Arrays of a record, a dictionary or a list of them; None for anything else."""
    if isinstance(value, np.ndarray):
        return {"": value}
    if isinstance(value, ArrayRecord):
        return {name: array.numpy() for name, array in value.items()}
    found = dict(enumerate(value)) if isinstance(value, list) else value
    if isinstance(found, dict) and found and all(isinstance(a, np.ndarray) for a in found.values()):
        return {str(name): array for name, array in found.items()}
    return None


def _whole(kind: str, parts: dict[str, np.ndarray]) -> object:
    """The same again."""
    if kind == "ArrayRecord":
        return ArrayRecord({name: Array(array) for name, array in parts.items()})
    if kind in ("dict", "list"):
        return parts if kind == "dict" else list(parts.values())
    return parts[""]
