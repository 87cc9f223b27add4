"""What parts remember from round to round: their arrays in `state.carry`, each by its own name."""

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from airfeel.types import BadInput, Carries, Happened, Scheme, Turn

Arrays = Mapping[str, np.ndarray | Tensor]


def remembering(part: object) -> Iterator[Carries]:
    """All parts that remember: a scheme's own, and parts inside parts."""
    if isinstance(part, Carries):
        yield part
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        for field in dataclasses.fields(part):
            yield from remembering(getattr(part, field.name))
    elif isinstance(part, tuple):
        for inner in part:
            yield from remembering(inner)


def begin(scheme: Scheme, turn: Turn) -> Arrays:
    """What a scheme's parts remember before the first round."""
    return _joined(scheme, [part.begin(turn) for part in remembering(scheme)])


def advance(scheme: Scheme, turn: Turn, happened: Happened) -> Arrays:
    """What they remember after a round."""
    return _joined(scheme, [part.advance(turn, happened) for part in remembering(scheme)])


def restore(fresh: Arrays, saved: Arrays) -> Arrays:
    """Saved arrays in the kinds that the parts began with; ones that no part knows are left out."""
    for name in fresh:
        if name not in saved:
            raise BadInput(f"checkpoint: holds no {name!r}, which a part of the scheme remembers")
    return {name: _like(value, saved[name]) for name, value in fresh.items()}


def _like(fresh: np.ndarray | Tensor, saved: np.ndarray | Tensor) -> np.ndarray | Tensor:
    if isinstance(fresh, Tensor):
        return torch.as_tensor(saved).to(fresh.device)
    return np.asarray(saved)


def _joined(scheme: Scheme, found: list[Arrays]) -> Arrays:
    names = [name for arrays in found for name in arrays]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"scheme {scheme.name}: two parts carry {name!r}; names must be unique")
    return {name: array for arrays in found for name, array in arrays.items()}
