"""What components keep from round to round: begun, advanced and restored, each under its path."""

import numpy as np
import torch
from torch import Tensor

from airfeel.handed import call
from airfeel.types import Arrays, BadInput, Carries, ComponentStates, Happened, Scheme, Turn


def begin(scheme: Scheme, turn: Turn) -> ComponentStates:
    """Return what a scheme's components keep before the first round.

    Args:
        scheme: whose components begin.
        turn: of the first round; its state is that of round 0, without a carry.
    """
    parts = scheme.remembering
    return ComponentStates(
        parts, {path: call(turn, path, part.begin) for path, part in parts.items()}
    )


def advance(turn: Turn, happened: Happened) -> ComponentStates:
    """Return what they keep after a round.

    The components are those that began: a scheme that wraps some of them for one round, as a Flower
    server's does, leaves their states where they were.

    Args:
        turn: the round; its state holds the components and the old arrays.
        happened: all values of the round.
    """
    states = turn.state.carry
    if not isinstance(states, ComponentStates):
        raise TypeError("state.carry: must be what `begin` or `restore` made")
    after = {
        path: call(turn, path, part.advance, happened)
        for path, part in states.components.items()
        if isinstance(part, Carries)
    }
    return ComponentStates(states.components, after)


def restore(fresh: ComponentStates, saved: Arrays) -> ComponentStates:
    """Return saved arrays in the kinds that the components began with; others are left out.

    Args:
        fresh: as the components began.
        saved: as a checkpoint holds them, by path and name.

    >>> fresh = ComponentStates({"invite": 1}, {"invite": {"heard": np.zeros(2)}})
    >>> dict(restore(fresh, {"invite/heard": torch.ones(2), "invite/old": np.zeros(1)}))
    {'invite/heard': array([1., 1.], dtype=float32)}
    """
    flat = sorted(name for name in saved if "/" not in name)
    if flat:
        older = f"is of an older version, whose component states have no paths ({flat[0]!r})"
        raise BadInput(f"checkpoint: {older}; remove the checkpoints to start over")
    for name in fresh:
        if name not in saved:
            raise BadInput(f"checkpoint: holds no {name!r}, which a part of the scheme remembers")
    arrays = {path: dict(fresh.of(part)) for path, part in fresh.components.items()}
    for path, own in arrays.items():
        own |= {name: _like(value, saved[f"{path}/{name}"]) for name, value in own.items()}
    return ComponentStates(fresh.components, arrays)


def _like(fresh: np.ndarray | Tensor, saved: np.ndarray | Tensor) -> np.ndarray | Tensor:
    if isinstance(fresh, Tensor):
        return torch.as_tensor(saved).to(fresh.device)
    return np.asarray(saved)
