"""What parts remember from round to round: their arrays in `state.carry`, each by its own name."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from airfeel.types import BadInput, Happened, Scheme, Turn

Arrays = Mapping[str, np.ndarray | Tensor]


def begin(scheme: Scheme, turn: Turn) -> Arrays:
    """What a scheme's parts remember before the first round: their arrays by name.

    Args:
        scheme: whose parts are asked.
        turn: of the first round; its state is that of round 0, without a carry.
    """
    return _join(scheme, [part.begin(turn) for part in scheme.remembering])


def advance(scheme: Scheme, turn: Turn, happened: Happened) -> Arrays:
    """What they remember after a round: their arrays by name.

    Args:
        scheme: whose parts are asked.
        turn: the round; its state holds the old arrays.
        happened: all values of the round.
    """
    return _join(scheme, [part.advance(turn, happened) for part in scheme.remembering])


def restore(fresh: Arrays, saved: Arrays) -> Arrays:
    """Saved arrays in the kinds that the parts began with; ones that no part knows are left out.

    Args:
        fresh: as the parts began.
        saved: as a checkpoint holds them.

    >>> restore({"heard": np.zeros(2)}, {"heard": torch.ones(2), "old": np.zeros(1)})
    {'heard': array([1., 1.], dtype=float32)}
    """
    for name in fresh:
        if name not in saved:
            raise BadInput(f"checkpoint: holds no {name!r}, which a part of the scheme remembers")
    return {name: _like(value, saved[name]) for name, value in fresh.items()}


def _like(fresh: np.ndarray | Tensor, saved: np.ndarray | Tensor) -> np.ndarray | Tensor:
    if isinstance(fresh, Tensor):
        return torch.as_tensor(saved).to(fresh.device)
    return np.asarray(saved)


def _join(scheme: Scheme, carried: list[Arrays]) -> Arrays:
    names = [name for arrays in carried for name in arrays]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"scheme {scheme.name}: two parts carry {name!r}; names must be unique")
    return {name: array for arrays in carried for name, array in arrays.items()}
